// A file that appears under its name only once it is complete and on disk.
#pragma once

#include <string>
#include <string_view>

namespace celld::cli {

/// Until then the data is in PATH.partial (mode 0600). SIGINT, SIGTERM and SIGHUP remove that file
/// before they end the process. Every member throws a Failure on error. At most one may exist at a
/// time.
class WholeFile {
 public:
  /// Without `replace`, throws when `path` exists.
  WholeFile(std::string path, bool replace);
  /// Removes an incomplete file.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// The first call creates the file.
  void write(std::string_view data);
  /// Makes the data durable and gives the file its name.
  void complete();

 private:
  void open();
  void rename();

  const std::string path_;
  const std::string partial_path_;
  const bool replace_;
  int fd_ = -1;
};

}  // namespace celld::cli
