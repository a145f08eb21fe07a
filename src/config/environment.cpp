// Resolves secrets from the process's environment and from files.
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "src/config/secrets.hpp"

namespace celld::config {
namespace {

constexpr std::uintmax_t secret_file_bytes_max = 64 << 10;

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

struct SmallFile {
  std::string content{};
  std::string fault{};  ///< Why it cannot be read; empty: it can.
};

/// Reads regular files only: a pipe or a device could block the start without end.
SmallFile read_small_file(const std::string& path) {
  const auto unreadable = [](const std::error_code& error) {
    return SmallFile{.fault = "cannot be read: " + error.message()};
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) return unreadable(error);
  if (!std::filesystem::is_regular_file(status)) return {.fault = "is not a regular file"};
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) return unreadable(error);
  if (bytes > secret_file_bytes_max) return {.fault = "is longer than 64 KiB"};
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable({errno, std::generic_category()});
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return unreadable({errno, std::generic_category()});
  return {.content = std::move(content)};
}

std::optional<std::string> small_file(const std::string& path) {
  auto read = read_small_file(path);
  if (!read.fault.empty()) return std::nullopt;
  return std::move(read.content);
}

std::string fault_of_file(const std::string& path) {
  auto fault = read_small_file(path).fault;
  return fault.empty() ? "could not be read at first" : fault;
}

}  // namespace

Environment process_environment() {
  return {variable, small_file, fault_of_file};
}

}  // namespace celld::config
