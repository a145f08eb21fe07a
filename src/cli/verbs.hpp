// The table of everything that cellctl can do. The parser, the help and the shell completions all
// use it.
#pragma once

#include <string_view>
#include <vector>

#include "src/cli/arguments.hpp"
#include "src/cli/failure.hpp"

namespace celld::cli {

class Session;

struct Flag {
  std::string_view name;   ///< "--state", or with a letter "-f, --file".
  std::string_view value;  ///< "STATE", or "[STATE]" if optional; empty: the flag takes none.
  std::string_view help;

  std::string_view long_name() const { return name.substr(name.find("--")); }
  std::string_view letter() const { return name[1] == '-' ? "" : name.substr(0, 2); }
  bool takes_value() const { return !value.empty(); }
  bool value_is_optional() const { return value.starts_with('['); }
};

using Flags = std::vector<Flag>;

struct Verb {
  std::string_view noun;  ///< Empty for a verb that stands alone.
  std::string_view name;
  std::string_view words;  ///< Its arguments, such as "ID..."; "..." means one or more.
  std::string_view summary;
  std::string_view help;  ///< More help, in lines of at most 96 columns.
  Flags flags;
  std::string_view example;
  ExitCode (*run)(Session& session, const Arguments& arguments);
};

const std::vector<Verb>& verbs();

/// The flags of every verb.
const Flags& common_flags();

/// All nouns, without duplicates, in the order of the table.
std::vector<std::string_view> nouns();

/// Null when there is none.
const Verb* find_verb(std::string_view noun, std::string_view name);
const Flag* find_flag(const Verb* verb, std::string_view name);

}  // namespace celld::cli
