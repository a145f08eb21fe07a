#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include "src/cli/commands.hpp"
#include "src/cli/completion.hpp"
#include "src/cli/text.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::cli;

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

constexpr std::ptrdiff_t screen_lines = 60;
constexpr std::size_t screen_columns = 96;

void check_fits_a_screen(const std::string& page) {
  CAPTURE(page);
  CHECK(std::count(page.begin(), page.end(), '\n') <= screen_lines);
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) CHECK(width_of(line) <= screen_columns);
  CHECK(contains(page, "xample"));
}

std::string content_of(const std::string& name) {
  std::ifstream file(std::string(CELLD_COMPLETION_DIR) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("every help page fits on one screen and has an example") {
  const Commands commands;
  check_fits_a_screen(commands.app().help());
  for (const CLI::App* command : commands.app().get_subcommands({}))
    check_fits_a_screen(command->help());
  for (const CLI::App* verb : verbs_of(commands.app())) check_fits_a_screen(verb->help());
}

TEST_CASE("the help lists every verb, every flag and every exit code") {
  const Commands commands;
  const std::string all = commands.app().help();
  for (const CLI::App* verb : verbs_of(commands.app())) {
    CHECK(contains(all, "\n  " + name_of(*verb) + "  "));
    CHECK(!verb->get_description().empty());
    for (const CLI::Option* option : verb->get_options())
      CHECK(contains(verb->help(), option->get_name(option->get_positional(), true)));
  }
  for (const CLI::Option* flag : commands.app().get_options())
    CHECK(contains(all, flag->get_name(false, true)));
  for (const char* code : {"0 success", "1 a job", "2 usage", "3 refused", "4 not found", "5 celld",
                           "6 timed out", "7 output"})
    CHECK(contains(all, code));
}

TEST_CASE("no verb redefines a common flag") {
  const Commands commands;
  for (const CLI::App* verb : verbs_of(commands.app()))
    for (const CLI::Option* flag : commands.app().get_options())
      CHECK(verb->get_option_no_throw(flag->get_name()) == nullptr);
}

TEST_CASE("a token cannot be given on the command line") {
  const Commands commands;
  CHECK(commands.app().get_option_no_throw("--token") == nullptr);
  for (const CLI::App* verb : verbs_of(commands.app()))
    CHECK(verb->get_option_no_throw("--token") == nullptr);
}

TEST_CASE("the completion files match the output of cellctl") {
  const Commands commands;
  CHECK(content_of("cellctl.bash") == bash_completion(commands.app()));
  CHECK(content_of("_cellctl") == zsh_completion(commands.app()));
  CHECK(content_of("cellctl.fish") == fish_completion(commands.app()));
}
