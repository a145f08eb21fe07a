#include "src/store/named_files.hpp"

#include <sys/stat.h>

namespace celld::store {

NamedFiles::NamedFiles(const std::vector<std::string>& paths) {
  for (const auto& path : paths) files_.push_back(find(path));
}

/// A file that does not exist has the number 0, as no other has.
NamedFiles::File NamedFiles::find(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return {path};
  return {path, found.st_dev, found.st_ino};
}

std::string NamedFiles::first_lost() const {
  for (const auto& file : files_) {
    const auto now = find(file.path);
    if (now.number == 0 || now.number != file.number || now.device != file.device) return file.path;
  }
  return "";
}

}  // namespace celld::store
