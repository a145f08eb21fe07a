// All that cellctl can do, as one table: the command line, the help and the completion of shells
// are made from it.
#pragma once

#include <string_view>
#include <vector>

#include "src/cli/arguments.hpp"
#include "src/cli/failure.hpp"

namespace celld::cli {

class Session;

struct Flag {
  std::string_view name;   ///< "--state", or with a letter "-f, --file".
  std::string_view value;  ///< "STATE"; in brackets: may be left out. Empty: it takes none.
  std::string_view help;

  std::string_view long_name() const { return name.substr(name.find("--")); }
  std::string_view letter() const { return name[1] == '-' ? "" : name.substr(0, 2); }
  bool takes_value() const { return !value.empty(); }
  bool value_is_optional() const { return value.starts_with('['); }
};

using Flags = std::vector<Flag>;

struct Verb {
  std::string_view noun;  ///< Empty: the verb stands alone.
  std::string_view name;
  std::string_view words;  ///< What follows it, "ID..."; "..." takes any number from one up.
  std::string_view summary;
  std::string_view help;  ///< What else there is to say, lines of at most 80 characters.
  Flags flags;
  std::string_view example;
  ExitCode (*run)(Session& session, const Arguments& arguments);
};

const std::vector<Verb>& verbs();

/// Those that every verb takes.
const Flags& common_flags();

/// In the order of the table, each once.
std::vector<std::string_view> nouns();

/// Nothing: there is none.
const Verb* find_verb(std::string_view noun, std::string_view name);
const Flag* find_flag(const Verb* verb, std::string_view name);

}  // namespace celld::cli
