// A file that appears under its name once it is complete and on disk, or not at all.
#pragma once

#include <string>
#include <string_view>

namespace celld::cli {

/// Until then it is PATH.partial, for its owner's eyes alone. SIGINT, SIGTERM and SIGHUP remove
/// that before they end the program. Every member throws a Failure. One at a time.
class WholeFile {
 public:
  /// Without `replace`, refuses a path where something is.
  WholeFile(std::string path, bool replace);
  /// Removes what is not complete.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// The first call makes the file.
  void write(std::string_view data);
  /// Gives it its name.
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
