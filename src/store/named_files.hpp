// Notices that the files of an open database were removed or replaced.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace celld::store {

/// Files as they are found under their names. A process can write to an open file after its name
/// was removed or given to another file, but nobody finds its writes under that name.
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
