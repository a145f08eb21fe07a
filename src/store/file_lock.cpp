#include "src/store/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

namespace celld::store {
namespace {

using Clock = std::chrono::steady_clock;

/// A celld that is killed while it starts its command supervisor leaves behind a child process,
/// which shares celld's locks until it executes the supervisor.
constexpr std::chrono::milliseconds patience{1000};
constexpr std::chrono::milliseconds pause{5};

/// False, with `errno` set: another process still holds the lock, or locking failed.
bool lock_patiently(int descriptor) {
  const auto give_up_at = Clock::now() + patience;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || Clock::now() >= give_up_at) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace

std::optional<FileLock> FileLock::acquire(const std::string& path, std::string& error) {
  const auto reason = [] { return std::system_category().message(errno); };
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) {
    error = "cannot open " + path + ": " + reason();
    return std::nullopt;
  }
  FileLock lock{descriptor, path};
  if (lock_patiently(descriptor)) return lock;
  error = errno == EWOULDBLOCK ? "another celld holds " + path
                               : "cannot lock " + path + ": " + reason();
  return std::nullopt;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace celld::store
