// An exclusive file lock, which keeps a second celld away from a database and from a data directory
// (promise P3).
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace celld::store {

/// Held until destruction or the end of the process, whichever comes first.
class FileLock {
 public:
  /// Creates the file if needed, and waits up to a second for the lock. On failure, sets `error` to
  /// an explanation in plain words.
  static std::optional<FileLock> acquire(const std::string& path, std::string& error);

  FileLock(FileLock&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~FileLock();

  const std::string& path() const { return path_; }

 private:
  FileLock(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_;
  std::string path_;
};

}  // namespace celld::store
