#include <string>
#include <vector>

#include "src/cli/arguments.hpp"
#include "src/cli/failure.hpp"
#include "src/cli/verbs.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::cli;

namespace {

std::string fault_of(const std::vector<std::string>& words) {
  try {
    parse_command_line(words);
  } catch (const Failure& failure) {
    CHECK(failure.code() == ExitCode::usage);
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("flags may appear anywhere, with their value after a blank or an equals sign") {
  const auto line = parse_command_line(
      {"--url", "http://x", "job", "--json", "get", "--watch", "one", "--watch=5s", "two"});
  REQUIRE(line.verb != nullptr);
  CHECK(line.verb->name == "get");
  CHECK(line.arguments.words() == std::vector<std::string>{"one", "two"});
  CHECK(line.arguments.text("--url") == "http://x");
  CHECK(line.arguments.has("--json"));
  CHECK(line.arguments.duration("--watch") == milliseconds(5000));
}

TEST_CASE("an optional value is taken only when it is a duration") {
  const auto with = parse_command_line({"job", "get", "--watch", "2", "one"});
  CHECK(with.arguments.duration("--watch") == milliseconds(2000));
  CHECK(with.arguments.words() == std::vector<std::string>{"one"});
  const auto without = parse_command_line({"job", "get", "--watch", "one"});
  CHECK(without.arguments.has("--watch"));
  CHECK(!without.arguments.duration("--watch"));
}

TEST_CASE("an entity is one word or two") {
  const auto entity = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"job", "list"});
    return parse_command_line(words).arguments.text("--entity").value();
  };
  CHECK(entity({"--entity", "zone/a/b"}) == "zone/a/b");
  CHECK(entity({"--entity", "zone", "example.com"}) == "zone/example.com");
  CHECK(entity({"--entity", "zone", "--all"}) == "zone");
}

TEST_CASE("lists are split at commas, and repeated flags add to them") {
  const auto line = parse_command_line({"submit", "--service", "a,b", "--service", "c"});
  CHECK(line.arguments.list("--service") == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("a letter is short for its flag, and two dashes end the flags") {
  const auto line = parse_command_line({"submit", "-f", "-"});
  CHECK(line.arguments.text("--file") == "-");
  const auto ended = parse_command_line({"job", "get", "--", "-x"});
  CHECK(ended.arguments.words() == std::vector<std::string>{"-x"});
}

TEST_CASE("the error names what is wrong with a command line") {
  CHECK(fault_of({}) == "no command given; see cellctl --help");
  CHECK(fault_of({"job"}) == "'job' needs a verb; see cellctl job --help");
  CHECK(fault_of({"jobs"}) == "unknown command 'jobs'; see cellctl --help");
  CHECK(fault_of({"job", "kill"}) == "'job' has no verb 'kill'; see cellctl job --help");
  CHECK(fault_of({"job", "get"}) == "cellctl job get needs ID...");
  CHECK(fault_of({"job", "list", "x"}) == "cellctl job list: unexpected argument 'x'");
  CHECK(fault_of({"job", "list", "--stat", "x"}) ==
        "unknown flag '--stat'; see cellctl job list --help");
  CHECK(fault_of({"job", "list", "--state"}) == "--state needs a value: STATE");
  CHECK(fault_of({"job", "list", "--json=yes"}) == "--json takes no value");
  CHECK(fault_of({"cell", "resize", "a/b", "1", "2"}) ==
        "cellctl cell resize: unexpected argument '2'");
  CHECK(fault_of({"x\x1b[2J"}) == "unknown command 'x\uFFFD[2J'; see cellctl --help");
}

TEST_CASE("a value is checked when it is read") {
  const auto line = parse_command_line({"job", "list", "--since", "soon", "--limit", "1x"});
  CHECK_THROWS_AS(line.arguments.moment("--since", -1), Failure);
  CHECK_THROWS_AS(line.arguments.integer("--limit"), Failure);
  CHECK_THROWS_AS(name_and_value("--label", "=x"), Failure);
  CHECK_THROWS_AS(name_and_value("--label", "x"), Failure);
  CHECK(name_and_value("--label", "a=b=c") == std::pair<std::string, std::string>("a", "b=c"));
}
