// The flags and words of a verb, as CLI11 parsed them, and the checks of their values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "src/cli/time_words.hpp"

namespace celld::cli {

/// Flags are looked up by their long names, such as "--customer", first among those of the verb and
/// then among the common ones. The typed getters expect values that have passed their checks.
class Arguments {
 public:
  explicit Arguments(const CLI::App& verb) : verb_(&verb) {}

  bool has(const std::string& flag) const { return option(flag).count() > 0; }
  /// The value of the flag's last occurrence; nothing when the flag was not given.
  std::optional<std::string> text(const std::string& flag) const;
  /// The values of all occurrences, in order.
  std::vector<std::string> texts(const std::string& flag) const { return option(flag).results(); }
  /// As `texts`, with each value split at its commas.
  std::vector<std::string> list(const std::string& flag) const;

  /// A flag given without its optional value reads as nothing.
  std::optional<milliseconds> duration(const std::string& flag) const;
  std::optional<std::int64_t> integer(const std::string& flag) const;
  /// A time in the API's format, from a time or from a duration after (`direction` 1) or before
  /// (-1) now.
  std::optional<std::string> moment(const std::string& flag, int direction) const;

  std::vector<std::string> words() const;

 private:
  const CLI::Option& option(const std::string& flag) const;

  const CLI::App* verb_;
};

/// What is wrong with a value; empty when it is valid.
std::string duration_fault(const std::string& text);
/// A shell passes the value of a variable that is not set as an empty text.
std::string empty_fault(const std::string& text);
std::string integer_fault(const std::string& text);
std::string moment_fault(const std::string& text);
std::string pair_fault(const std::string& text);

/// Splits "NAME=VALUE" at the first "=".
std::pair<std::string, std::string> name_and_value(const std::string& text);

/// `text`, safe for a terminal, in single quotes.
std::string in_quotes(std::string_view text);

}  // namespace celld::cli
