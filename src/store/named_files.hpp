// Notices that the files of an open database were removed or replaced.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace celld::store {

/// The files that these paths named at construction. A process can go on writing to an open file
/// after its path was removed or given to another file; what it writes is then not at that path.
class NamedFiles {
 public:
  explicit NamedFiles(const std::vector<std::string>& paths);

  /// A path whose file is gone, or is another one than at construction; empty: there is none. Costs
  /// a system call for each file.
  std::string first_lost() const;

 private:
  struct File {
    std::string path;
    dev_t device = 0;
    ino_t number = 0;
  };
  static std::optional<File> find(const std::string& path);

  std::vector<File> files_;
};

}  // namespace celld::store
