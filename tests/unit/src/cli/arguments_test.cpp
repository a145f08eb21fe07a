#include <string>
#include <vector>

#include "src/cli/commands.hpp"
#include "src/cli/failure.hpp"
#include "tests/unit/catch.hpp"

using namespace celld::cli;

namespace {

using Words = std::vector<std::string>;

/// A parsed command line.
class Line {
 public:
  explicit Line(const Words& words) : parsed_(commands_.parse(words)) {}

  const Arguments* operator->() const { return &parsed_.arguments; }

 private:
  Commands commands_;
  CommandLine parsed_;
};

std::string fault_of(const Words& words) {
  try {
    Line{words};
  } catch (const Failure& failure) {
    CHECK(failure.code() == ExitCode::usage);
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("flags may appear anywhere, with their value after a blank or an equals sign") {
  const Line line(
      {"--url", "http://x", "job", "--json", "get", "--watch", "one", "--watch=5s", "two"});
  CHECK(line->words() == Words{"one", "two"});
  CHECK(line->text("--url") == "http://x");
  CHECK(line->has("--json"));
  CHECK(line->duration("--watch") == milliseconds(5000));
}

TEST_CASE("an optional value is taken only when it is a duration") {
  const Line with({"job", "get", "--watch", "2", "one"});
  CHECK(with->duration("--watch") == milliseconds(2000));
  CHECK(with->words() == Words{"one"});
  const Line without({"job", "get", "--watch", "one"});
  CHECK(without->has("--watch"));
  CHECK(!without->duration("--watch"));
}

TEST_CASE("an entity is one word or two") {
  const auto entity = [](Words words) {
    words.insert(words.begin(), {"job", "list"});
    return Line(words)->text("--entity").value();
  };
  CHECK(entity({"--entity", "zone/a/b"}) == "zone/a/b");
  CHECK(entity({"--entity", "zone", "example.com"}) == "zone/example.com");
  CHECK(entity({"--entity", "zone", "--all"}) == "zone");
}

TEST_CASE("lists are split at commas, and repeated flags add to them") {
  const Line line({"submit", "--service", "a,b", "--service", "c"});
  CHECK(line->list("--service") == Words{"a", "b", "c"});
}

TEST_CASE("the last occurrence of a flag counts, and its value may be empty or begin with a dash") {
  const Line line({"job", "list", "--customer", "a", "--json", "--customer", "-b",
                   "--product=", "--state", "[x,y]", "--json"});
  CHECK(line->text("--customer") == "-b");
  CHECK(line->text("--product") == "");
  CHECK(line->text("--state") == "[x,y]");
  CHECK(line->has("--json"));
}

TEST_CASE("a letter is short for its flag, and two dashes end the flags") {
  const Line line({"submit", "-f", "-"});
  CHECK(line->text("--file") == "-");
  const Line ended({"job", "get", "[a,b]", "--", "-x", "--"});
  CHECK(ended->words() == Words{"[a,b]", "-x", "--"});
}

TEST_CASE("a word after the verb is never another command") {
  CHECK(Line({"job", "get", "list", "job", "reload"})->words() == Words{"list", "job", "reload"});
}

TEST_CASE("the error names what is wrong with a command line") {
  CHECK(fault_of({}) == "no command given; see cellctl --help");
  CHECK(fault_of({"job"}) == "'job' needs a verb; see cellctl job --help");
  CHECK(fault_of({"jobs"}) == "unknown command 'jobs'; see cellctl --help");
  CHECK(fault_of({"job", "kill"}) == "'job' has no verb 'kill'; see cellctl job --help");
  CHECK(fault_of({"job", "get"}) == "ID is required; see cellctl job get --help");
  CHECK(fault_of({"job", "list", "x"}) == "unexpected argument 'x'; see cellctl job list --help");
  CHECK(fault_of({"job", "list", "--stat", "x"}) ==
        "unknown flag '--stat'; see cellctl job list --help");
  CHECK(fault_of({"job", "get", "-x"}) == "unknown flag '-x'; see cellctl job get --help");
  CHECK(fault_of({"cell", "resize", "a/b", "--", "1", "--"}) ==
        "unknown flag '--'; see cellctl cell resize --help");
  CHECK(fault_of({"job", "list", "--state"}) ==
        "--state: 1 required STATE missing; see cellctl job list --help");
  CHECK(fault_of({"job", "list", "--json=yes"}) ==
        "--json: takes no value; see cellctl job list --help");
  CHECK(fault_of({"cell", "resize", "a/b", "1", "2"}) ==
        "unexpected argument '2'; see cellctl cell resize --help");
  CHECK(fault_of({"x\x1b[2J"}) == "unknown command 'x\uFFFD[2J'; see cellctl --help");
}

TEST_CASE("a time before now is none before 1970") {
  const Line line({"job", "list", "--since", "36500d"});
  CHECK(line->moment("--since", -1) == "1970-01-01T00:00:00.000Z");
}

TEST_CASE("a malformed value is an error that names the flag") {
  CHECK(fault_of({"job", "list", "--since", "soon"}).starts_with("--since: 'soon' is neither"));
  CHECK(fault_of({"job", "get", "x", "--watch=soon"}).starts_with("--watch: 'soon' is not a dur"));
  CHECK(fault_of({"submit", "--priority", "1x"}).starts_with("--priority: '1x' is not an integer"));
  CHECK(fault_of({"submit", "--label", "=x"}).starts_with("--label: '=x' is not of the form"));
  CHECK(fault_of({"submit", "--label", "x"}).starts_with("--label: 'x' is not of the form"));
  CHECK(name_and_value("a=b=c") == std::pair<std::string, std::string>("a", "b=c"));
}
