#include "src/config/file_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace celld::config {

FileText read_file(const std::string& path, std::size_t bytes_max) {
  const auto unreadable = [] {
    return FileText{.fault = "cannot be read: " + std::generic_category().message(errno)};
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file) return unreadable();
  FileText text;
  std::array<char, 64 << 10> buffer;
  while (std::feof(file.get()) == 0 && text.content.size() < bytes_max) {
    const auto wanted = std::min(buffer.size(), bytes_max - text.content.size());
    text.content.append(buffer.data(), std::fread(buffer.data(), 1, wanted, file.get()));
    if (std::ferror(file.get()) != 0) return unreadable();
  }
  return text;
}

}  // namespace celld::config
