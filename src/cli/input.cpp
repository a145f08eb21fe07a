#include "src/cli/input.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "src/cli/failure.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {

std::string read_input(const std::string& path, std::size_t bytes_max) {
  const auto failure = [&](const std::string& reason) {
    return usage_failure((path == "-" ? "standard input" : cleaned(path)) + " " + reason);
  };
  const auto unreadable = [&] {
    return failure("cannot be read: " + std::generic_category().message(errno));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      path == "-" ? stdin : std::fopen(path.c_str(), "rb"),
      path == "-" ? [](std::FILE*) { return 0; } : std::fclose);
  if (!file) throw unreadable();
  std::string content;
  std::array<char, 64 << 10> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    content.append(buffer.data(), count);
    if (content.size() > bytes_max)
      throw failure("is longer than " + std::to_string(bytes_max) + " bytes");
  }
  if (std::ferror(file.get()) != 0) throw unreadable();
  return content;
}

}  // namespace celld::cli
