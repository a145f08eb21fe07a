#include "src/cli/help_page.hpp"

#include <sstream>
#include <utility>

#include "src/cli/commands.hpp"

namespace celld::cli {
namespace {

constexpr std::size_t flag_width = 29;
constexpr std::size_t verb_width = 20;

constexpr const char* footer_of_all =
    "Exit codes: 0 success; 1 a job failed or was cancelled, or a worker ended its commands;\n"
    "2 usage error, unusable file, faulty configuration, or name of a running worker; 3 refused\n"
    "by celld; 4 not found; 5 celld unreachable or unavailable, a backup is damaged, or a worker\n"
    "could not deliver its results; 6 timed out before a job ended; 7 output cannot be written.\n"
    "\nExample: cellctl job list --customer acme --state failed --since 2h\n";

constexpr const char* below_flags_of_all =
    "All commands take these flags. COMMAND --help lists those of one command.\n";

}  // namespace

HelpPage::HelpPage() {
  column_width(flag_width);
  label("OPTIONS", "FLAGS");
}

std::string HelpPage::make_usage(const CLI::App* app, std::string name) const {
  if (app->get_subcommands({}).empty()) return Formatter::make_usage(app, std::move(name));
  return "Usage: " + name + " COMMAND\n";
}

std::string HelpPage::make_subcommands(const CLI::App* app, CLI::AppFormatMode /*mode*/) const {
  std::stringstream out;
  for (const CLI::App* verb : verbs_of(*app))
    CLI::detail::format_help(out, name_of(*verb), verb->get_description(), verb_width);
  if (out.str().empty()) return "";
  return (app->get_parent() == nullptr ? below_flags_of_all : "") + ("\nCommands:\n" + out.str());
}

std::string HelpPage::make_option_opts(const CLI::Option* option) const {
  const std::string type = option->get_type_name();
  return type.empty() ? "" : " " + type;
}

std::string HelpPage::make_footer(const CLI::App* app) const {
  if (app->get_parent() == nullptr) return footer_of_all;
  const auto verbs = verbs_of(*app);
  if (verbs.empty())
    return "For --json, --url, --token-file and others, see cellctl --help\n\n" +
           app->get_footer() + "\n";
  const std::string footer = verbs.front()->get_footer();
  return footer.substr(footer.find(example_title)) + "\n";
}

}  // namespace celld::cli
