#include "src/cli/help.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "src/cli/arguments.hpp"
#include "src/cli/completion.hpp"
#include "src/cli/text.hpp"
#include "src/cli/verbs.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::cli;

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

constexpr std::ptrdiff_t screen_lines = 48;
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
  check_fits_a_screen(help_of_all());
  for (const auto noun : nouns()) check_fits_a_screen(help_of_noun(noun));
  for (const Verb& verb : verbs()) check_fits_a_screen(help_of_verb(verb));
}

TEST_CASE("the help lists every verb, every flag and every exit code") {
  const std::string all = help_of_all();
  for (const Verb& verb : verbs()) {
    CHECK(contains(all, verb.name));
    for (const Flag& flag : verb.flags) CHECK(contains(help_of_verb(verb), flag.long_name()));
  }
  for (const Flag& flag : common_flags()) CHECK(contains(all, flag.long_name()));
  for (const char* code : {"0 success", "1 a job", "2 usage", "3 refused", "4 not found", "5 celld",
                           "6 timed out", "7 output"})
    CHECK(contains(all, code));
}

TEST_CASE("no verb repeats a flag or redefines a common one") {
  for (const Verb& verb : verbs()) {
    std::set<std::string_view> names;
    for (const Flags& flags : {verb.flags, common_flags()})
      for (const Flag& flag : flags) CHECK(names.insert(flag.long_name()).second);
  }
}

TEST_CASE("a token cannot be given on the command line") {
  for (const Verb& verb : verbs()) CHECK(find_flag(&verb, "--token") == nullptr);
}

TEST_CASE("the completion files match the output of cellctl") {
  CHECK(content_of("cellctl.bash") == bash_completion());
  CHECK(content_of("_cellctl") == zsh_completion());
  CHECK(content_of("cellctl.fish") == fish_completion());
}
