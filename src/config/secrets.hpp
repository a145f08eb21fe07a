// Values that the configuration takes from the environment or from files, because they may be
// secret.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/config/file_text.hpp"
#include "src/json/json.hpp"

namespace celld::config {

/// A value that may be secret. Only `source` is ever shown, and only if it is not a literal.
struct Secret {
  std::string source;  ///< As configured: "env:NAME", "file:PATH", or a literal.
  std::string value;

  bool operator==(const Secret&) const = default;
};

using NamedSecrets = std::vector<std::pair<std::string, Secret>>;

/// Resolves "env:" and "file:" values; replaced in tests.
struct Environment {
  /// Nothing: the variable is not set.
  std::function<std::optional<std::string>(const std::string& name)> variable;
  std::function<FileText(const std::string& path)> file;
};
Environment process_environment();

/// Returns a text that continues the value's name, or an empty text when the value is valid.
using ValueFault = std::string (*)(std::string_view value);

/// Reads and resolves the member `name`. Nothing, and a fault, if that fails.
std::optional<Secret> read_secret(json::ObjectReader& reader, std::string_view name,
                                  const Environment& environment, ValueFault value_fault);

/// Stands for a value that celld does not show.
inline constexpr const char* masked = "***";

/// The sources by name; a literal is masked.
json::Value show_secrets(const NamedSecrets& secrets);

}  // namespace celld::config
