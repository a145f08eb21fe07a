// The command line, taken apart by the tables of `verbs.hpp`.
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

/// What was given to a verb. Flags are asked for by their long names, "--customer".
class Arguments {
 public:
  bool has(std::string_view flag) const { return flags_.find(flag) != flags_.end(); }
  /// What the last of them said; nothing when it was not given.
  std::optional<std::string> text(std::string_view flag) const;
  /// What each of them said.
  std::vector<std::string> texts(std::string_view flag) const;
  /// As `texts`, each taken apart at its commas.
  std::vector<std::string> list(std::string_view flag) const;

  /// These throw a Failure when the text is not one. A flag with an optional value that was given
  /// without reads as nothing.
  std::optional<milliseconds> duration(std::string_view flag) const;
  std::optional<std::int64_t> integer(std::string_view flag) const;
  /// A time, or a duration that leads away from now: `direction` is 1 or -1.
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
  const Verb* verb = nullptr;  ///< None: help was asked for, of `noun` or of all.
  std::string noun;
  bool help = false;
  bool version = false;
  Arguments arguments;
};

/// Flags may stand anywhere behind the verb, and those of every verb also before it; "--" ends
/// them. Throws a Failure that says what is wrong.
CommandLine parse_command_line(const std::vector<std::string>& words);

/// "NAME=VALUE" taken apart; throws a Failure that names the flag when it is not of that form.
std::pair<std::string, std::string> name_and_value(std::string_view flag, const std::string& text);

}  // namespace celld::cli
