#include "src/store/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace celld::store {

std::optional<FileLock> FileLock::acquire(const std::string& path, std::string& error) {
  const auto reason = [] { return std::system_category().message(errno); };
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) {
    error = "cannot open " + path + ": " + reason();
    return std::nullopt;
  }
  FileLock lock{descriptor};
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return lock;
  error = errno == EWOULDBLOCK ? "another celld holds " + path
                               : "cannot lock " + path + ": " + reason();
  return std::nullopt;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace celld::store
