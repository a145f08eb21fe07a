// Resolves secrets from the process's environment and from files.
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "src/config/secrets.hpp"

namespace celld::config {
namespace {

constexpr std::size_t secret_file_bytes_max = 64 << 10;

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

/// Reads regular files only: a pipe or a device could block the start without end.
FileText small_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) return {.fault = "cannot be read: " + error.message()};
  if (!std::filesystem::is_regular_file(status)) return {.fault = "is not a regular file"};
  auto text = read_file(path, secret_file_bytes_max + 1);
  if (text.content.size() > secret_file_bytes_max) {
    return {.fault = "is longer than " + std::to_string(secret_file_bytes_max >> 10) + " KiB"};
  }
  return text;
}

}  // namespace

Environment process_environment() {
  return {variable, small_file};
}

}  // namespace celld::config
