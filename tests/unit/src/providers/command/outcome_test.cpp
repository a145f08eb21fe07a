// The outcomes of commands.
#include <cerrno>
#include <csignal>
#include <string>

#include "src/providers/command/errors.hpp"
#include "src/providers/command/outcome.hpp"
#include "tests/unit/catch.hpp"

namespace celld::providers {
namespace {

using cells::Severity;
using End = CommandResult::End;
using Kind = cells::CallOutcome::Kind;

const cells::WallTime now{milliseconds{1'795'214'576'000}};

CommandResult ended(End end, int value, std::string output = "",
                    std::vector<ErrorLine> errors = {}) {
  return {end, value, std::move(output), std::move(errors)};
}

cells::CallOutcome of(const CommandResult& result, const std::vector<std::string>& secrets = {}) {
  return interpret("db", result, now, secrets);
}

}  // namespace

TEST_CASE("exit 0 with the documented answer is success") {
  const auto outcome = of(
      ended(End::exited, 0, R"({"properties": {"name": "db-1"}, "messages": [{"text": "made"}]})"));
  CHECK(outcome.kind == Kind::succeeded);
  CHECK(outcome.properties == cells::Properties{{"name", R"("db-1")"}});
  REQUIRE(outcome.messages.size() == 1);
  CHECK(outcome.messages[0] == cells::Message{now, Severity::info, "db", "made"});
  for (const auto* output : {"", "\n", "{}", R"({"other": 1})"}) {
    CHECK(of(ended(End::exited, 0, output)).kind == Kind::succeeded);
  }
}

TEST_CASE("exit 0 with any other output is an invalid response and may be retried") {
  for (const auto* output : {"done", "[]", R"({"properties": 1})", "{} {}", "{\"a\": \"\xff\"}"}) {
    const auto outcome = of(ended(End::exited, 0, output));
    CHECK(outcome.kind == Kind::retryable);
    CHECK(outcome.code == "invalid_response");
  }
  CHECK(of(ended(End::too_large, 0)).code == "invalid_response");
  CHECK(of(ended(End::too_large, 0)).kind == Kind::retryable);
}

TEST_CASE("exit 75 is retried, any other failure is a rejection, and both may have a message") {
  auto outcome = of(ended(End::exited, 75, R"({"code": "busy", "message": "in use"})"));
  CHECK(outcome.kind == Kind::retryable);
  CHECK(outcome.code == "provider_error");
  CHECK(outcome.message == "in use");
  outcome = of(ended(End::exited, 75));
  CHECK(outcome.message == "db ended with exit status 75.");
  outcome = of(ended(End::exited, 1, R"({"code": "exists", "message": "there is one"})"));
  CHECK(outcome.kind == Kind::rejected);
  CHECK(outcome.code == "exists");
  CHECK(outcome.message == "there is one");
  for (const auto* output : {"", "no", "{}", R"({"code": "not a code!"})"}) {
    outcome = of(ended(End::exited, 3, output));
    CHECK(outcome.kind == Kind::rejected);
    CHECK(outcome.code == "provider_rejected");
    CHECK(outcome.message == "db ended with exit status 3.");
  }
}

TEST_CASE("a command that is killed, lost or late has an unknown outcome") {
  CHECK(of(ended(End::killed, SIGSEGV)).kind == Kind::unknown);
  CHECK(of(ended(End::killed, SIGSEGV)).code == "provider_error");
  CHECK(of(ended(End::killed, SIGSEGV)).message == "db was killed by signal 11.");
  CHECK(of(ended(End::lost, 0)).kind == Kind::unknown);
  CHECK(of(ended(End::timed_out, 0)).kind == Kind::unknown);
  CHECK(of(ended(End::timed_out, 0)).code == "timeout");
  CHECK(of(ended(End::aborted, 0)).kind == Kind::aborted);
}

TEST_CASE("a command that could not be started may be retried, and its message says why") {
  const auto outcome = of(ended(End::not_started, ENOENT));
  CHECK(outcome.kind == Kind::retryable);
  CHECK(outcome.code == "communications_error");
  CHECK(outcome.message == "db could not be started: No such file or directory.");
}

TEST_CASE("a command that celld has no room for is no failure of the command") {
  const int shortage = GENERATE(EMFILE, ENFILE, ENOMEM, EAGAIN, ENOBUFS, ETOOMANYREFS);
  const auto outcome = of(ended(End::not_started, shortage));
  CHECK(outcome.kind == Kind::unable);
  CHECK(outcome.code == "communications_error");
}

TEST_CASE("lines of standard error become messages, cleaned and truncated") {
  const auto outcome = of(ended(End::exited, 0, R"({"messages": [{"text": "last"}]})",
                                {{"warning: \x1b[31mred\x1b[0m\r", false},
                                 {"bad \xff utf-8 é\ttab", false},
                                 {std::string(5000, 'x'), false}}));
  CHECK(outcome.kind == Kind::succeeded);
  REQUIRE(outcome.messages.size() == 4);
  CHECK(outcome.messages[0] == cells::Message{now, Severity::info, "db", "warning: [31mred[0m"});
  CHECK(outcome.messages[1].text == "bad \xef\xbf\xbd utf-8 é\ttab");
  CHECK(outcome.messages[2].text == std::string(4096, 'x'));
  CHECK(outcome.messages[3].text == "last");
  CHECK(of(ended(End::exited, 75, "", {{"a", false}})).messages[0].severity == Severity::warning);
  CHECK(of(ended(End::exited, 1, "", {{"a", false}})).messages[0].severity == Severity::error);
}

TEST_CASE("at most 100 messages are kept, and the oldest are dropped") {
  const std::vector<ErrorLine> lines(100, ErrorLine{"line", false});
  const auto outcome =
      of(ended(End::exited, 0, R"({"messages": [{"text": "a"}, {"text": "b"}]})", lines));
  REQUIRE(outcome.messages.size() == 100);
  CHECK(outcome.messages[97].text == "line");
  CHECK(outcome.messages[99].text == "b");
}

TEST_CASE("secrets are blanked in a command's message and standard error") {
  const std::vector<std::string> secrets{"s3cret-word", "abc"};
  const auto failed = of(ended(End::exited, 1, R"({"message": "no \u00733cret-word"})",
                               {{"password s3cret-word, abc", false}}),
                         secrets);
  CHECK(failed.message == "no ***");
  CHECK(failed.messages[0].text == "password ***, abc");
}

TEST_CASE("control characters in the midst of a secret do not reveal it") {
  const auto failed =
      of(ended(End::exited, 1, "", {{"s3cret\x01-word", false}, {"s3c\x01ret", true}}),
         {"s3cret-word"});
  CHECK(failed.messages[0].text == "***");
  CHECK(failed.messages[1].text == "***");
}

TEST_CASE("every beginning of a secret at the end of a cut line is blanked") {
  const std::string secret = "s3cret-word";
  for (std::size_t bytes = 1; bytes <= secret.size(); ++bytes) {
    INFO(bytes);
    const std::string text = "a " + secret.substr(0, bytes);
    const auto shown = [&](bool cut) {
      return of(ended(End::exited, 1, "", {{text, cut}}), {secret}).messages[0].text;
    };
    CHECK(shown(true) == "a ***");
    CHECK(shown(false) == (bytes == secret.size() ? "a ***" : text));
  }
}

TEST_CASE("a secret at the cut of a long line does not show in part") {
  const std::string secret(200, 's');
  CommandErrors errors(100, error_line_bytes_max({secret}));
  for (int i = 0; i < 300; ++i) errors.add("x" + secret);
  const auto line = of(ended(End::exited, 0, "", errors.take()), {secret}).messages[0].text;
  CHECK(line.find('s') == std::string::npos);
  CHECK(line.starts_with("x***x***"));
}

TEST_CASE("lines of standard error are assembled from pieces") {
  CommandErrors errors(3, 10);
  errors.add("one\ntw");
  errors.add("o\n\n \r\n");
  errors.add("a line that is long\nfour\n");
  errors.add("no end");
  const auto lines = errors.take();
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].text == "a line tha");
  CHECK(lines[0].cut);
  CHECK(lines[1].text == "four");
  CHECK_FALSE(lines[1].cut);
  CHECK(lines[2].text == "no end");
}

}  // namespace celld::providers
