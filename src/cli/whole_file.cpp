#include "src/cli/whole_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/cli/failure.hpp"
#include "src/cli/signals.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

Failure exists(const std::string& path) {
  return usage_failure(cleaned(path) + " already exists; use --force to replace it");
}

Failure unwritable(const std::string& path) {
  return {ExitCode::output_failed,
          cleaned(path) + " cannot be written: " + std::generic_category().message(errno)};
}

/// Whether the path still names the open file.
bool is_at(int fd, const std::string& path) {
  struct stat opened{};
  struct stat named{};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// Whether the file may be overwritten: a regular one of this user, without other names.
bool is_own(int fd) {
  struct stat opened{};
  return ::fstat(fd, &opened) == 0 && S_ISREG(opened.st_mode) && opened.st_nlink == 1 &&
         opened.st_uid == ::geteuid();
}

/// Makes the file's name as durable as its content.
void synchronise_directory(const std::string& path) {
  auto directory = std::filesystem::path(path).parent_path();
  if (directory.empty()) directory = ".";
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

// --- Signals -------------------------------------------------------------------------------------

/// The file that the signal handler removes. At most one exists at a time.
std::atomic<const char*> partial_file{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free);

/// `opening` while a file may exist that `partial_file` does not name yet; then the number of the
/// first signal that has come meanwhile, on any thread.
std::atomic<int> opening_state{0};
constexpr int opening = -1;
static_assert(std::atomic<int>::is_always_lock_free);

/// Async-signal-safe.
void remove_partial_file(int signal) {
  int expected = opening;
  if (opening_state.compare_exchange_strong(expected, signal) || expected > 0) return;
  if (const char* path = partial_file.load()) ::unlink(path);
  die_of(signal);
}

/// While it exists, signals wait.
class Opening {
 public:
  Opening() { opening_state = opening; }
  ~Opening() {
    const int signal = opening_state.exchange(0);
    if (signal != opening) remove_partial_file(signal);
  }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
};

}  // namespace

WholeFile::WholeFile(std::string path, bool replace)
    : path_(std::move(path)), partial_path_(path_ + ".partial"), replace_(replace) {
  struct stat status{};
  if (!replace_ && ::lstat(path_.c_str(), &status) == 0) throw exists(path_);
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw usage_failure(cleaned(path_) + " is not a regular file; --force does not replace it");
}

WholeFile::~WholeFile() {
  if (fd_ < 0) return;
  ::unlink(partial_path_.c_str());
  partial_file = nullptr;
  ::close(fd_);
}

void WholeFile::write(std::string_view data) {
  if (fd_ < 0) open();
  while (!data.empty()) {
    const auto written = ::write(fd_, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw unwritable(partial_path_);
    data.remove_prefix(static_cast<std::size_t>(written));
  }
}

void WholeFile::complete() {
  if (fd_ < 0) open();
  if (::fsync(fd_) != 0) throw unwritable(partial_path_);
  rename();
  partial_file = nullptr;
  ::close(std::exchange(fd_, -1));
  synchronise_directory(path_);
}

/// Takes over the file that an earlier run left behind, and replaces anything else of that name. A
/// run that has not ended keeps its file: it holds the lock.
void WholeFile::open() {
  constexpr int attempts_max = 8;
  const Opening is_opening;
  before_death(remove_partial_file);
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    const int fd = ::open(partial_path_.c_str(),
                          O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0) {
      const int reason = errno;
      if (::unlink(partial_path_.c_str()) == 0) continue;
      errno = reason;
      throw unwritable(partial_path_);
    }
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(fd);
      throw Failure{ExitCode::output_failed,
                    cleaned(partial_path_) + " is being written by another cellctl"};
    }
    const bool is_there = is_at(fd, partial_path_);
    if (is_there && is_own(fd) && ::fchmod(fd, 0600) == 0 && ::ftruncate(fd, 0) == 0) {
      fd_ = fd;
      partial_file = partial_path_.c_str();
      return;
    }
    if (is_there) ::unlink(partial_path_.c_str());
    ::close(fd);
  }
  throw unwritable(partial_path_);
}

void WholeFile::rename() {
  const unsigned flags = replace_ ? 0 : RENAME_NOREPLACE;
  const char* from = partial_path_.c_str();
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, path_.c_str(), flags) == 0) return;
  if (errno == EEXIST) throw exists(path_);
  // The file system does not support RENAME_NOREPLACE.
  if (errno != EINVAL || std::rename(from, path_.c_str()) != 0) throw unwritable(path_);
}

}  // namespace celld::cli
