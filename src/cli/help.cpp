#include "src/cli/help.hpp"

#include <algorithm>

namespace celld::cli {
namespace {

constexpr std::string_view exit_codes =
    "Exit codes: 0 success; 1 a job failed or was cancelled (submit --wait, job wait);\n"
    "2 usage error; 3 refused by celld; 4 not found; 5 celld unreachable or unavailable;\n"
    "6 timed out before a job ended; 7 output cannot be written.\n";

std::string line(const std::string& left, std::string_view right, std::size_t width) {
  const std::size_t blanks = std::max(width, left.size() + 1) - left.size();
  return "  " + left + std::string(blanks, ' ') + std::string(right) + "\n";
}

std::string name_of(const Verb& verb) {
  return verb.noun.empty() ? std::string(verb.name)
                           : std::string(verb.noun) + " " + std::string(verb.name);
}

std::string flags_text(const Flags& flags) {
  constexpr std::size_t width = 27;
  std::string text;
  for (const Flag& flag : flags) {
    std::string left(flag.name);
    if (flag.takes_value()) left += " " + std::string(flag.value);
    text += line(left, flag.help, width);
  }
  return text;
}

/// The verbs of the noun; all verbs for an empty one.
std::string verbs_text(std::string_view noun) {
  constexpr std::size_t width = 20;
  std::string text;
  for (const Verb& verb : verbs())
    if (noun.empty() || verb.noun == noun) text += line(name_of(verb), verb.summary, width);
  return text;
}

std::string joined(const std::string& left, std::string_view right) {
  return right.empty() ? left : left + " " + std::string(right);
}

}  // namespace

std::string help_of_all() {
  return "cellctl: controls celld, the daemon that runs provisioning jobs.\n\n" + verbs_text("") +
         "\nFlags of all commands; for those of one command, see cellctl COMMAND --help\n" +
         flags_text(common_flags()) + "\n" + std::string(exit_codes) +
         "\nExample: cellctl job list --customer acme --state failed --since 2h\n";
}

std::string help_of_noun(std::string_view noun) {
  std::string text = "usage: cellctl " + std::string(noun) + " VERB\n\n" + verbs_text(noun);
  const auto first = std::find_if(verbs().begin(), verbs().end(),
                                  [&](const Verb& verb) { return verb.noun == noun; });
  return text + "\nExample:\n  " + std::string(first->example) + "\n";
}

std::string help_of_verb(const Verb& verb) {
  std::string text = "usage: cellctl " + joined(name_of(verb), verb.words) +
                     " [FLAGS]: " + std::string(verb.summary) + "\n";
  if (!verb.help.empty()) text += std::string(verb.help) + "\n";
  if (!verb.flags.empty()) text += "\n" + flags_text(verb.flags);
  return text + "\nFor --json, --url, --token-file and others, see cellctl --help\nExample:\n  " +
         std::string(verb.example) + "\n";
}

}  // namespace celld::cli
