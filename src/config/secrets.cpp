#include "src/config/secrets.hpp"

namespace celld::config {
namespace {

constexpr std::size_t source_bytes_max = 16'384;

/// The value that `source` refers to, and a fault that is empty on success.
std::pair<std::string, std::string> resolve(const std::string& source,
                                            const Environment& environment) {
  std::string value;
  if (source.starts_with("env:")) {
    const std::string name = source.substr(4);
    auto variable = environment.variable(name);
    if (!variable) return {"", "the environment variable " + json::quote(name) + " is not set"};
    value = std::move(*variable);
  } else if (source.starts_with("file:")) {
    const std::string path = source.substr(5);
    auto file = environment.file(path);
    if (!file.fault.empty()) return {"", "the file " + json::quote(path) + " " + file.fault};
    value = std::move(file.content);
  } else {
    return {source, ""};
  }
  // Editors and `echo` append a newline that is not part of the secret.
  if (value.ends_with('\n')) value.pop_back();
  if (value.ends_with('\r')) value.pop_back();
  return {std::move(value), ""};
}

}  // namespace

std::optional<Secret> read_secret(json::ObjectReader& reader, std::string_view name,
                                  const Environment& environment, ValueFault value_fault) {
  auto source = reader.string(name, 0, source_bytes_max);
  if (!source) return std::nullopt;
  auto [value, fault] = resolve(*source, environment);
  if (fault.empty()) fault = value_fault(value);
  if (!fault.empty()) {
    reader.fault(name, std::move(fault));
    return std::nullopt;
  }
  return Secret{std::move(*source), std::move(value)};
}

json::Value show_secrets(const NamedSecrets& secrets) {
  json::Value shown = json::Value::object();
  for (const auto& [name, secret] : secrets) {
    const bool elsewhere = secret.source.starts_with("env:") || secret.source.starts_with("file:");
    shown[name] = elsewhere ? secret.source : masked;
  }
  return shown;
}

}  // namespace celld::config
