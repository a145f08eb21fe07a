// One copy of a database that is in use, in a file that has no name once it is complete.
//
// The copy is of one moment: a read transaction holds it while pages are copied. Meanwhile the
// write-ahead log can't begin anew, and grows by what is written; so the pages are copied as fast
// as the disk takes them, and what can wait (the digest, the client) comes after the transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "src/repr_digest.hpp"
#include "src/store/sqlite.hpp"

namespace celld::store {

/// The file of a copy that is not complete yet, in the data directory. One that a crash has left is
/// removed at the next start.
inline constexpr const char* backup_file = "celld-backup.partial";

/// Every member throws SqliteFailure when it fails; after that nothing but the destructor may be
/// called.
class BackupCopy {
 public:
  /// Of the database at `source`, as it is committed now, by way of a file at `path`. `pages_max`
  /// makes the disk full early, in tests.
  BackupCopy(const std::string& source, std::string path, std::optional<std::int64_t> pages_max);
  ~BackupCopy();
  BackupCopy(const BackupCopy&) = delete;
  BackupCopy& operator=(const BackupCopy&) = delete;

  /// Does some milliseconds' work. True: the copy is complete.
  bool step();

  // Of a complete copy.

  std::uint64_t bytes() const { return bytes_; }
  const std::string& digest() const { return digest_; }
  /// The next bytes, from the beginning; fewer than `bytes_max` only at the end.
  std::string read(std::size_t bytes_max);

 private:
  struct Pages;

  void take_file();
  std::string read_at(std::uint64_t offset, std::size_t bytes_max);

  const std::string path_;
  std::unique_ptr<Pages> pages_;  ///< While pages are being copied.
  int fd_ = -1;                   ///< After that.
  std::uint64_t bytes_ = 0;
  std::uint64_t hashed_ = 0;
  ReprDigest hash_;
  std::string digest_;
  std::uint64_t read_ = 0;
};

}  // namespace celld::store
