#include "src/providers/command_lock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include <cerrno>
#include <system_error>

#include "src/providers/steady_now.hpp"

namespace celld::providers {
namespace {

constexpr int look_again_ms = 10;  // flock() itself knows no end of waiting.

}  // namespace

Descriptor lock_commands(const std::string& path, cells::milliseconds patience,
                         const std::function<void()>& waits, std::string& error) {
  const auto reason = [] { return std::generic_category().message(errno); };
  Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file) {
    error = "cannot open " + path + ": " + reason();
    return file;
  }
  const auto give_up_at = steady_now() + patience;
  for (bool told = false; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      error = "cannot lock " + path + ": " + reason();
      return Descriptor{};
    }
    if (steady_now() >= give_up_at) {
      error =
          "commands that an earlier celld started have not ended: their supervisor holds " + path;
      return Descriptor{};
    }
    if (!told) waits();
    told = true;
    ::poll(nullptr, 0, look_again_ms);
  }
  return file;
}

}  // namespace celld::providers
