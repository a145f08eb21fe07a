#include "src/cli/completion.hpp"

#include <algorithm>
#include <string_view>

#include "src/cli/verbs.hpp"
#include "src/cli/verbs_run.hpp"

namespace celld::cli {
namespace {

constexpr std::string_view states =
    "scheduled queued running retrying compensating succeeded failed cancelled";

void append_word(std::string& words, std::string_view word) {
  if (!words.empty()) words += ' ';
  words += word;
}

/// "--state", or "-f --file".
std::string names_of(const Flag& flag) {
  std::string names(flag.letter());
  append_word(names, flag.long_name());
  return names;
}

std::string names_of(const Flags& flags) {
  std::string names;
  for (const Flag& flag : flags) append_word(names, names_of(flag));
  return names;
}

/// The verbs of a noun; for an empty noun, all possible first words.
std::string words_after(std::string_view noun) {
  std::string words;
  for (const Verb& verb : verbs())
    if (verb.noun == noun) append_word(words, verb.name);
  if (noun.empty())
    for (const std::string_view each : nouns()) append_word(words, each);
  return words;
}

/// The names of all flags that satisfy `wanted`, without duplicates, joined by `separator`.
template <class Wanted>
std::string flags_where(Wanted wanted, std::string_view separator) {
  std::vector<std::string_view> names;
  const auto collect = [&](const Flags& flags) {
    for (const Flag& flag : flags) {
      for (const std::string_view name : {flag.letter(), flag.long_name()}) {
        const bool known = std::find(names.begin(), names.end(), name) != names.end();
        if (!name.empty() && !known && wanted(flag)) names.push_back(name);
      }
    }
  };
  collect(common_flags());
  for (const Verb& verb : verbs()) collect(verb.flags);
  std::string text;
  for (const std::string_view name : names) {
    if (!text.empty()) text += separator;
    text += name;
  }
  return text;
}

std::string values_of(std::string_view value, std::string_view separator) {
  return flags_where([&](const Flag& flag) { return flag.value == value; }, separator);
}

std::string other_values(std::string_view separator) {
  return flags_where(
      [](const Flag& flag) {
        return flag.takes_value() && !flag.value_is_optional() && flag.value != "FILE" &&
               flag.value != "STATE";
      },
      separator);
}

/// `text` in single quotes for a shell.
std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

/// The arms of a `case` on "noun verb" that set `words`.
std::string bash_cases() {
  std::string arms;
  const auto add = [&](const std::string& command, const std::string& words, bool files) {
    arms += "    '" + command + "') words='" + words + "'" + (files ? " files=1" : "") + " ;;\n";
  };
  add("", words_after("") + " " + names_of(common_flags()), false);
  for (const std::string_view noun : nouns()) add(std::string(noun), words_after(noun), false);
  for (const Verb& verb : verbs()) {
    std::string command(verb.noun);
    append_word(command, verb.name);
    std::string words = names_of(verb.flags);
    append_word(words, names_of(common_flags()));
    add(command, words, verb.words.starts_with("FILE"));
  }
  return arms;
}

/// The bash function that fills COMPREPLY with the words and files that can come next.
std::string bash_function() {
  return R"(_cellctl() {
  local word previous command='' words='' files='' skip='' i
  word=${COMP_WORDS[COMP_CWORD]}
  previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  case $previous in
    )" + values_of("STATE", " | ") +
         R"()
      mapfile -t COMPREPLY < <(compgen -W ')" +
         std::string(states) + R"(' -- "$word")
      return ;;
    )" + values_of("FILE", " | ") +
         R"()
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      return ;;
    )" + other_values(" | ") +
         R"()
      return ;;
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [ -n "$skip" ]; then
      skip=''
      continue
    fi
    case ${COMP_WORDS[i]} in
      )" +
         values_of("STATE", " | ") + " | " + values_of("FILE", " | ") + " | " +
         other_values(" | ") +
         R"() skip=1 ;;
      -*) ;;
      *)
        case $command in
          '') command=${COMP_WORDS[i]} ;;
          submit | *' '*) ;;
          *) command="$command ${COMP_WORDS[i]}" ;;
        esac ;;
    esac
  done
  case $command in
)" + bash_cases() +
         R"(  esac
  mapfile -t COMPREPLY < <(
    compgen -W "$words" -- "$word"
    if [ -n "$files" ]; then compgen -f -- "$word"; fi
  )
}
)";
}

std::string fish_line(const std::string& condition, const std::string& rest) {
  return "complete -c cellctl -n " + shell_quoted(condition) + " " + rest + "\n";
}

/// A fish condition: the line contains the verb.
std::string fish_seen(const Verb& verb) {
  std::string seen = "__fish_seen_subcommand_from ";
  if (!verb.noun.empty()) seen.append(verb.noun).append("; and __fish_seen_subcommand_from ");
  return seen.append(verb.name);
}

/// A fish condition: the verb can come next.
std::string fish_before(const Verb& verb) {
  if (verb.noun.empty()) return "__fish_use_subcommand";
  std::string before = "__fish_seen_subcommand_from ";
  before.append(verb.noun).append("; and not __fish_seen_subcommand_from ");
  return before + words_after(verb.noun);
}

std::string fish_flag(const std::string& condition, const Flag& flag) {
  std::string rest;
  if (!flag.letter().empty()) rest += "-s " + std::string(flag.letter().substr(1)) + " ";
  rest += "-l " + std::string(flag.long_name().substr(2));
  if (flag.value == "FILE") {
    rest += " -r -F";
  } else if (flag.value == "STATE") {
    rest += " -x -a " + shell_quoted(states);
  } else if (flag.takes_value() && !flag.value_is_optional()) {
    rest += " -x";
  }
  return fish_line(condition, rest + " -d " + shell_quoted(flag.help));
}

}  // namespace

std::string bash_completion() {
  return "# shellcheck shell=bash\n"
         "# Completion of cellctl for bash, generated by `cellctl completion bash`.\n" +
         bash_function() + "complete -o filenames -F _cellctl cellctl\n";
}

std::string zsh_completion() {
  std::string arms;
  for (const Verb& verb : verbs()) {
    std::string command(verb.noun);
    append_word(command, verb.name);
    std::string words = names_of(verb.flags);
    append_word(words, names_of(common_flags()));
    arms += "    " + shell_quoted(command) + ") candidates=(" + words + ")" +
            (verb.words.starts_with("FILE") ? "; _files" : "") + " ;;\n";
  }
  for (const std::string_view noun : nouns())
    arms += "    " + shell_quoted(noun) + ") candidates=(" + words_after(noun) + ") ;;\n";
  return R"(#compdef cellctl
# Completion of cellctl for zsh, generated by `cellctl completion zsh`.
_cellctl() {
  local command='' skip='' i
  local -a candidates
  case $words[CURRENT-1] in
    )" + values_of("STATE", "|") +
         ") compadd -- " + std::string(states) + "; return ;;\n    " + values_of("FILE", "|") +
         ") _files; return ;;\n    " + other_values("|") + R"() return ;;
  esac
  for ((i = 2; i < CURRENT; i++)); do
    if [[ -n $skip ]]; then
      skip=''
      continue
    fi
    case $words[i] in
      )" +
         values_of("STATE", "|") + "|" + values_of("FILE", "|") + "|" + other_values("|") +
         R"() skip=1 ;;
      -*) ;;
      *)
        case $command in
          '') command=$words[i] ;;
          submit|*' '*) ;;
          *) command="$command $words[i]" ;;
        esac ;;
    esac
  done
  case $command in
    '') candidates=()" +
         words_after("") + " " + names_of(common_flags()) + ") ;;\n" + arms + R"(  esac
  compadd -- $candidates
}
_cellctl "$@"
)";
}

std::string fish_completion() {
  std::string text =
      "# Completion of cellctl for fish, generated by `cellctl completion fish`.\n"
      "complete -c cellctl -f\n";
  for (const Flag& flag : common_flags()) text += fish_flag("true", flag);
  for (const Verb& verb : verbs()) {
    const std::string before = fish_before(verb);
    const std::string seen = fish_seen(verb);
    text += fish_line(before, "-a " + std::string(verb.name) + " -d " + shell_quoted(verb.summary));
    for (const Flag& flag : verb.flags) text += fish_flag(seen, flag);
    if (verb.words.starts_with("FILE")) text += fish_line(seen, "-F");
  }
  for (const std::string_view noun : nouns())
    text += fish_line("__fish_use_subcommand", "-a " + std::string(noun));
  return text;
}

ExitCode print_completion_bash(Session& session, const Arguments&) {
  session.out().print(bash_completion());
  return ExitCode::ok;
}

ExitCode print_completion_zsh(Session& session, const Arguments&) {
  session.out().print(zsh_completion());
  return ExitCode::ok;
}

ExitCode print_completion_fish(Session& session, const Arguments&) {
  session.out().print(fish_completion());
  return ExitCode::ok;
}

}  // namespace celld::cli
