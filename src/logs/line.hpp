// One line of the log: a message and its fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace celld::logs {

enum class Level : std::uint8_t { debug, info, warning, error, critical };
/// "debug", "info", "warning", "error", "critical".
std::string_view to_string(Level level);
/// The inverse of to_string(); nothing for an unknown name.
std::optional<Level> parse_level(std::string_view name);

enum class Format : std::uint8_t {
  text,  ///< For people: the message, then `name=value`.
  json,  ///< For machines: one object.
};
/// Parses "text" or "json"; nothing for another name.
std::optional<Format> parse_format(std::string_view name);

/// A field holds a name, an identifier, a code or a number: never a payload, a header or a secret.
/// Field names are lower-case constants, which must outlive the line.
class Line {
 public:
  Line(Level level, std::string_view message) : level_(level), message_(message) {}

  Line& text(std::string_view name, std::string_view value);
  Line& number(std::string_view name, std::uint64_t value);
  /// Adds the field `name` with the value true.
  Line& flag(std::string_view name);

  Level level() const { return level_; }
  const std::string& message() const { return message_; }

 private:
  friend std::string render(const Line& line, Format format);
  using Value = std::variant<bool, std::uint64_t, std::string>;

  Level level_;
  std::string message_;
  std::vector<std::pair<std::string_view, Value>> fields_;
};

/// Everything but the time and the level; for JSON, the members from "message" on, without braces.
/// Always a single line, whatever the texts contain.
std::string render(const Line& line, Format format);

/// A whole line with its line end. `milliseconds` count from 1970 and become RFC 3339 in UTC;
/// `rendered` must be in the same format.
std::string finish(std::int64_t milliseconds, Level level, std::string_view rendered,
                   Format format);

}  // namespace celld::logs
