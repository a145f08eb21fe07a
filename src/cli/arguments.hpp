// Parses a command line according to the tables in `verbs.hpp`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/time_words.hpp"

namespace celld::cli {

struct Verb;

/// The words and flags of a verb. Flags are looked up by their long names, such as "--customer".
class Arguments {
 public:
  bool has(std::string_view flag) const { return flags_.find(flag) != flags_.end(); }
  /// The value of the flag's last occurrence; nothing when the flag was not given.
  std::optional<std::string> text(std::string_view flag) const;
  /// The values of all occurrences, in order.
  std::vector<std::string> texts(std::string_view flag) const;
  /// As `texts`, with each value split at its commas.
  std::vector<std::string> list(std::string_view flag) const;

  /// The typed getters throw a Failure when the value is malformed. A flag given without its
  /// optional value reads as nothing.
  std::optional<milliseconds> duration(std::string_view flag) const;
  std::optional<std::int64_t> integer(std::string_view flag) const;
  /// A time in the API's format, from a time or from a duration after (`direction` 1) or before
  /// (-1) now.
  std::optional<std::string> moment(std::string_view flag, int direction) const;

  const std::vector<std::string>& words() const { return words_; }

  void add_flag(std::string_view flag, std::string value) {
    flags_[std::string(flag)].push_back(std::move(value));
  }
  void add_word(std::string word) { words_.push_back(std::move(word)); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> flags_;
  std::vector<std::string> words_;
};

struct CommandLine {
  const Verb* verb = nullptr;  ///< Null only with `help` or `version`.
  std::string noun;
  bool help = false;
  bool version = false;
  Arguments arguments;
};

/// Flags may appear anywhere after the verb; the common flags may also precede it. "--" ends the
/// flags. Throws a Failure that describes the error.
CommandLine parse_command_line(const std::vector<std::string>& words);

/// Splits "NAME=VALUE" at the first "=". Throws a Failure that names the flag for any other form.
std::pair<std::string, std::string> name_and_value(std::string_view flag, const std::string& text);

}  // namespace celld::cli
