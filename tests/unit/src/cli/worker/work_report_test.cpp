#include "src/cli/worker/work_report.hpp"

#include "tests/unit/catch.hpp"

using namespace celld;
using Kind = cells::CallOutcome::Kind;

namespace {

cells::CallOutcome a_failure(Kind kind) {
  cells::CallOutcome outcome;
  outcome.kind = kind;
  outcome.code = "no_space";
  outcome.message = "the \"disk\" is full";
  return outcome;
}

}  // namespace

TEST_CASE("a success is completed with its properties and messages") {
  cells::CallOutcome outcome;
  outcome.kind = Kind::succeeded;
  outcome.properties = {{"a", "[1]"}, {"b", R"("x")"}};
  outcome.messages = {{{}, cells::Severity::warning, "vm", "slow"},
                      {{}, cells::Severity::info, "vm", ""},
                      {{}, cells::Severity::info, "vm", "a \"quote\""}};
  CHECK(cli::report_text("L1", outcome) ==
        R"({"lease":"L1","outcome":"complete","properties":{"a":[1],"b":"x"},)"
        R"("messages":[{"severity":"warning","text":"slow"},)"
        R"({"severity":"info","text":"a \"quote\""}]})");
}

TEST_CASE("only a rejection is final") {
  CHECK(cli::report_text("L1", a_failure(Kind::rejected)) ==
        R"({"lease":"L1","outcome":"fail","code":"no_space",)"
        R"("message":"the \"disk\" is full","retryable":false,"messages":[]})");
  for (const Kind kind : {Kind::retryable, Kind::throttled, Kind::unknown, Kind::aborted})
    CHECK(cli::report_text("L1", a_failure(kind)).find(R"("retryable":true)") != std::string::npos);
}
