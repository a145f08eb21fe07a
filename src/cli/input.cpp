#include "src/cli/input.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "src/cli/failure.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {

std::string read_input(const std::string& path, std::size_t bytes_max, std::string_view advice) {
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
  while (std::feof(file.get()) == 0) {
    content.append(buffer.data(), std::fread(buffer.data(), 1, buffer.size(), file.get()));
    if (std::ferror(file.get()) != 0) throw unreadable();
    if (content.size() > bytes_max)
      throw failure("is longer than " + std::to_string(bytes_max) + " bytes" + std::string(advice));
  }
  return content;
}

}  // namespace celld::cli
