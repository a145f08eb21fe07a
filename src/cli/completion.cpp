#include "src/cli/completion.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/cli/commands.hpp"
#include "src/cli/session.hpp"

namespace celld::cli {
namespace {

constexpr std::string_view states =
    "scheduled queued running retrying compensating succeeded failed cancelled";

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return CLI::detail::join(words, std::string(separator));
}

/// The flags of `command` itself.
std::vector<const CLI::Option*> flags_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

/// {"--state"}, or {"-f", "--file"}.
std::vector<std::string> names_of(const CLI::Option& flag) {
  std::vector<std::string> names;
  for (const std::string& letter : flag.get_snames()) names.push_back("-" + letter);
  for (const std::string& name : flag.get_lnames()) names.push_back("--" + name);
  return names;
}

bool is_noun(const CLI::App& command) {
  return !command.get_subcommands({}).empty();
}

std::vector<const CLI::App*> nouns_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return is_noun(*command); });
}

/// The verbs and then the nouns that may follow `command`.
std::vector<std::string> words_after(const CLI::App& command) {
  std::vector<std::string> words;
  for (const bool nouns : {false, true})
    for (const CLI::App* next : command.get_subcommands({}))
      if (is_noun(*next) == nouns) words.push_back(next->get_name());
  return words;
}

/// The words that may follow `command`: other commands, its flags and the common ones.
std::string candidates(const CLI::App& command) {
  auto words = words_after(command);
  const bool is_inner_noun = is_noun(command) && command.get_parent() != nullptr;
  for (const CLI::App* app = &command; app != nullptr && !is_inner_noun; app = app->get_parent()) {
    for (const CLI::Option* flag : flags_of(*app)) {
      const auto names = names_of(*flag);
      words.insert(words.end(), names.begin(), names.end());
    }
  }
  return joined(words, " ");
}

bool has_files(const CLI::App& verb) {
  return verb.get_option_no_throw("FILE") != nullptr;
}

/// The names of all flags that satisfy `wanted`, without duplicates, joined by `separator`.
template <class Wanted>
std::string flags_where(const CLI::App& app, std::string_view separator, Wanted wanted) {
  std::vector<std::string> names;
  const auto collect = [&](const CLI::App& command) {
    for (const CLI::Option* flag : flags_of(command))
      for (const std::string& name : names_of(*flag))
        if (wanted(*flag) && std::find(names.begin(), names.end(), name) == names.end())
          names.push_back(name);
  };
  collect(app);
  for (const CLI::App* verb : verbs_of(app)) collect(*verb);
  return joined(names, separator);
}

std::string flags_with(const CLI::App& app, std::string_view type, std::string_view separator) {
  return flags_where(app, separator,
                     [&](const CLI::Option& flag) { return flag.get_type_name() == type; });
}

std::string other_values(const CLI::App& app, std::string_view separator) {
  return flags_where(app, separator, [](const CLI::Option& flag) {
    const std::string type = flag.get_type_name();
    return takes_value(flag) && type != "FILE" && type != "STATE";
  });
}

/// `text` in single quotes for a shell.
std::string shell_quoted(const std::string& text) {
  return "'" + CLI::detail::find_and_replace(text, "'", "'\\''") + "'";
}

/// The arms of a `case` on "noun verb", each with an assignment of its candidates.
std::string arms(const CLI::App& app, const std::string& assignment, const std::string& end,
                 const std::string& files) {
  std::vector<const CLI::App*> commands = {&app};
  for (const auto& more : {nouns_of(app), verbs_of(app)})
    commands.insert(commands.end(), more.begin(), more.end());
  std::string text;
  for (const CLI::App* command : commands) {
    text.append("    '").append(name_of(*command)).append("') ");
    text.append(assignment).append(candidates(*command)).append(end);
    if (has_files(*command)) text += files;
    text += " ;;\n";
  }
  return text;
}

/// The bash function that fills COMPREPLY with the words and files that can come next.
std::string bash_function(const CLI::App& app) {
  const std::string state_flags = flags_with(app, "STATE", " | ");
  const std::string file_flags = flags_with(app, "FILE", " | ");
  const std::string other_flags = other_values(app, " | ");
  return R"(_cellctl() {
  local word previous command='' words='' files='' skip='' line=() i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    # bash has split words such as URLs at these characters.
    if [[ $i -gt 1 && (${COMP_WORDS[i]} == [:=]* || ${line[-1]} == *[:=]) ]]; then
      line[-1]+=${COMP_WORDS[i]}
    else
      line+=("${COMP_WORDS[i]}")
    fi
  done
  word=${line[-1]}
  previous=${line[-2]}
  if [[ $word == --*=* ]]; then
    previous=${word%%=*}
    word=${word#*=}
  fi
  case $previous in
    )" + state_flags +
         ") words='" + std::string(states) + "' ;;\n    " + file_flags + ") files=1 ;;\n    " +
         other_flags + R"()
      COMPREPLY=()
      return ;;
    *)
      for ((i = 1; i < ${#line[@]} - 1; i++)); do
        if [ -n "$skip" ]; then
          skip=''
          continue
        fi
        case ${line[i]} in
          )" +
         state_flags + " | " + file_flags + " | " + other_flags +
         R"() skip=1 ;;
          -*) ;;
          *)
            case $command in
              '') command=${line[i]} ;;
              submit | *' '*) ;;
              *) command="$command ${line[i]}" ;;
            esac ;;
        esac
      done
      case $command in
)" + arms(app, "words='", "'", " files=1") +
         R"(      esac ;;
  esac
  mapfile -t COMPREPLY < <(
    compgen -W "$words" -- "$word"
    if [ -n "$files" ]; then compgen -f -- "$word"; fi
  )
  # bash replaces only what follows the last of these characters.
  COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*[:=]}"}"}")
}
)";
}

std::string fish_line(const std::string& condition, const std::string& rest) {
  return "complete -c cellctl -n " + shell_quoted(condition) + " " + rest + "\n";
}

/// A fish condition: the line contains the verb.
std::string fish_seen(const CLI::App& verb) {
  return "__fish_seen_subcommand_from " +
         CLI::detail::find_and_replace(name_of(verb), " ", "; and __fish_seen_subcommand_from ");
}

/// A fish condition: the verb can come next.
std::string fish_before(const CLI::App& verb) {
  const CLI::App& noun = *verb.get_parent();
  if (noun.get_parent() == nullptr) return "__fish_use_subcommand";
  return "__fish_seen_subcommand_from " + noun.get_name() +
         "; and not __fish_seen_subcommand_from " + joined(words_after(noun), " ");
}

std::string fish_flag(const std::string& condition, const CLI::Option& flag) {
  std::string rest;
  for (const std::string& letter : flag.get_snames()) rest += "-s " + letter + " ";
  rest += "-l " + flag.get_lnames().front();
  const std::string type = flag.get_type_name();
  if (type == "FILE") {
    rest += " -r -F";
  } else if (type == "STATE") {
    rest += " -x -a " + shell_quoted(std::string(states));
  } else if (takes_value(flag)) {
    rest += " -x";
  }
  return fish_line(condition, rest + " -d " + shell_quoted(flag.get_description()));
}

void add_shell(Commands& commands, const std::string& shell, const std::string& file,
               std::string (*script)(const CLI::App& app)) {
  commands.add("completion", shell,
               {"print the completion script for " + shell, "",
                "cellctl completion " + shell + " > " + file},
               [&commands, script](Session& session, const Arguments&) {
                 session.out().print(script(commands.app()));
                 return ExitCode::ok;
               });
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  return "# shellcheck shell=bash\n"
         "# Completion of cellctl for bash, generated by `cellctl completion bash`.\n" +
         bash_function(app) + "complete -o filenames -F _cellctl cellctl\n";
}

std::string zsh_completion(const CLI::App& app) {
  const std::string state_flags = flags_with(app, "STATE", "|");
  const std::string file_flags = flags_with(app, "FILE", "|");
  const std::string other_flags = other_values(app, "|");
  return R"(#compdef cellctl
# Completion of cellctl for zsh, generated by `cellctl completion zsh`.
_cellctl() {
  local command='' skip='' i
  local -a candidates
  case $words[CURRENT-1] in
    )" + state_flags +
         ") compadd -- " + std::string(states) + "; return ;;\n    " + file_flags +
         ") _files; return ;;\n    " + other_flags + R"() return ;;
  esac
  for ((i = 2; i < CURRENT; i++)); do
    if [[ -n $skip ]]; then
      skip=''
      continue
    fi
    case $words[i] in
      )" +
         state_flags + "|" + file_flags + "|" + other_flags +
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
)" + arms(app, "candidates=(", ")", "; _files") +
         R"(  esac
  compadd -- $candidates
}
_cellctl "$@"
)";
}

std::string fish_completion(const CLI::App& app) {
  std::string text =
      "# Completion of cellctl for fish, generated by `cellctl completion fish`.\n"
      "complete -c cellctl -f\n";
  for (const CLI::Option* flag : flags_of(app)) text += fish_flag("true", *flag);
  for (const CLI::App* verb : verbs_of(app)) {
    const std::string seen = fish_seen(*verb);
    text += fish_line(fish_before(*verb),
                      "-a " + verb->get_name() + " -d " + shell_quoted(verb->get_description()));
    for (const CLI::Option* flag : flags_of(*verb)) text += fish_flag(seen, *flag);
    if (has_files(*verb)) text += fish_line(seen, "-F");
  }
  for (const CLI::App* noun : nouns_of(app))
    text += fish_line("__fish_use_subcommand", "-a " + noun->get_name());
  return text;
}

void add_completion_verbs(Commands& commands) {
  add_shell(commands, "bash", "/etc/bash_completion.d/cellctl", bash_completion);
  add_shell(commands, "zsh", "/usr/local/share/zsh/site-functions/_cellctl", zsh_completion);
  add_shell(commands, "fish", "~/.config/fish/completions/cellctl.fish", fish_completion);
}

}  // namespace celld::cli
