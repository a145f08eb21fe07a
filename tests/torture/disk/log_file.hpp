// A log of the shim, loaded into memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/torture/disk/disk_log.hpp"

namespace celld::disk {

struct Record {
  RecordHead head;
  std::string_view payload;  ///< Valid as long as the LogFile.
};

class LogFile {
 public:
  /// Throws std::runtime_error if the file is unreadable or ends within a record.
  explicit LogFile(const std::string& path);
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  const std::vector<Record>& records() const { return records_; }

 private:
  std::string bytes_;
  std::vector<Record> records_;
};

/// Throws std::runtime_error if the file is unreadable.
std::string read_file(const std::string& path);

}  // namespace celld::disk
