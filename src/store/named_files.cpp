#include "src/store/named_files.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace celld::store {

NamedFiles::NamedFiles(const std::vector<std::string>& paths) {
  for (const auto& path : paths)
    if (auto file = find(path)) files_.push_back(std::move(*file));
}

/// A file that does not exist has the number 0, as no other has. None: that cannot be told.
std::optional<NamedFiles::File> NamedFiles::find(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0) return File{path, found.st_dev, found.st_ino};
  if (errno == ENOENT || errno == ENOTDIR) return File{path};
  return std::nullopt;
}

std::string NamedFiles::first_lost() const {
  for (const auto& file : files_) {
    const auto now = find(file.path);
    if (now && (now->number == 0 || now->number != file.number || now->device != file.device))
      return file.path;
  }
  return "";
}

}  // namespace celld::store
