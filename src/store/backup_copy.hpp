// One copy of a database that is in use. Once complete, its file no longer has a name.
//
// The copy shows the database at one moment, which a read transaction pins while pages are copied.
// Until that transaction ends, SQLite cannot restart the write-ahead log, which grows with every
// write. The pages are therefore copied as fast as the disk allows; the digest and the transfer to
// the client come after the transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/repr_digest.hpp"
#include "src/store/backup.hpp"
#include "src/store/sqlite.hpp"

namespace celld::store {

/// The file of an incomplete copy, in the data directory. The next start removes one that a crash
/// left behind.
inline constexpr const char* backup_file = "celld-backup.partial";

/// Every member throws SqliteFailure on failure; after that, only the destructor may be called.
class BackupCopy {
 public:
  /// Begins a copy of what the database at `source` has committed, using a file at `path`.
  BackupCopy(const std::string& source, std::string path, const BackupOptions& options);
  ~BackupCopy();
  BackupCopy(const BackupCopy&) = delete;
  BackupCopy& operator=(const BackupCopy&) = delete;

  /// Works for a few milliseconds. True: the copy is complete.
  bool step();

  // Only for a complete copy.

  std::uint64_t bytes() const { return bytes_; }
  const std::string& digest() const { return digest_; }
  /// The next bytes, from the beginning; fewer than `bytes_max` only at the end.
  std::string read(std::size_t bytes_max);

 private:
  struct Pages;

  void check_space() const;
  void take_file();
  std::string read_at(std::uint64_t offset, std::size_t bytes_max);

  const std::string path_;
  const BackupOptions options_;
  std::unique_ptr<Pages> pages_;  ///< Set while pages are being copied.
  int fd_ = -1;                   ///< Open after that.
  std::uint64_t bytes_ = 0;
  std::uint64_t hashed_ = 0;
  ReprDigest hash_;
  std::string digest_;
  std::uint64_t read_ = 0;
};

}  // namespace celld::store
