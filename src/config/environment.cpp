// Resolves secrets from the process's environment and from files.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "src/config/secrets.hpp"

namespace celld::config {
namespace {

constexpr std::uintmax_t secret_file_bytes_max = 64 << 10;

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

/// Reads regular files only: a pipe or a device could block the start without end.
std::optional<std::string> small_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || error) return std::nullopt;
  if (std::filesystem::file_size(path, error) > secret_file_bytes_max || error) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::nullopt;
  return content;
}

}  // namespace

Environment process_environment() {
  return {variable, small_file};
}

}  // namespace celld::config
