#include "src/providers/command/lock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include <cerrno>
#include <system_error>

#include "src/providers/steady_now.hpp"

namespace celld::providers {
namespace {

constexpr int poll_ms = 10;  // flock() has no timeout, so it is polled.

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
  for (bool notified = false; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      error = "cannot lock " + path + ": " + reason();
      return Descriptor{};
    }
    if (steady_now() >= give_up_at) {
      error = "commands of an earlier celld have not ended: their supervisor holds " + path;
      return Descriptor{};
    }
    if (!notified) waits();
    notified = true;
    ::poll(nullptr, 0, poll_ms);
  }
  return file;
}

}  // namespace celld::providers
