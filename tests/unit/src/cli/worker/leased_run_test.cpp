#include "src/cli/worker/leased_run.hpp"

#include <csignal>
#include <string>

#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::cli;
using namespace std::chrono_literals;
using providers::CommandResult;
using Kind = cells::CallOutcome::Kind;
using State = LeasedRun::State;
using Cause = LeasedRun::Cause;

namespace {

constexpr SteadyTime start{1'000'000s};
constexpr milliseconds grace = 5s;

LeasedRun a_waiting_run(milliseconds term = 30s) {
  GrantedLease lease;
  lease.name = "L1";
  lease.job = "1m84w5wj00000";
  lease.service = "vm";
  lease.expires_in = term;
  return {lease, grace, start};
}

LeasedRun a_run(milliseconds term = 30s) {
  LeasedRun run = a_waiting_run(term);
  REQUIRE(run.try_start(start));
  return run;
}

CommandResult exited(int status, std::string output = "") {
  CommandResult result;
  result.end = CommandResult::End::exited;
  result.value = status;
  result.output = std::move(output);
  return result;
}

CommandResult killed(int signal) {
  CommandResult result;
  result.end = CommandResult::End::killed;
  result.value = signal;
  return result;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a heartbeat is due after a third of the term, and at least every ten seconds") {
  CHECK(a_run(3s).next_delivery_at() == start + 1s);
  CHECK(a_run(10min).next_delivery_at() == start + 10s);
  LeasedRun run = a_run(3s);
  CHECK(!run.heartbeat_is_due(start + 999ms));
  REQUIRE(run.heartbeat_is_due(start + 1s));
  CHECK(run.take_heartbeat() == "{}");
  run.on_term({.expires_in = 3s}, start + 1s, start + 1200ms);
  CHECK(run.next_delivery_at() == start + 2s);
  CHECK(run.expires_at() == start + 4s);  // Counted from the request, not from the answer.
}

TEST_CASE("however short the term, heartbeats are 50 ms apart") {
  CHECK(a_run(60ms).next_delivery_at() == start + 50ms);
}

TEST_CASE("progress and messages are sent soon, one message at a time, and again if they fail") {
  LeasedRun run = a_run();
  CHECK(run.on_line("progress 10%", start));
  CHECK(run.on_line("message one", start));
  CHECK(run.on_line("progress 20%", start));
  CHECK(run.on_line("message two", start));
  CHECK(!run.on_line("anything else", start));
  REQUIRE(run.heartbeat_is_due(start + 250ms));
  const std::string first = R"({"progress":0.2,"message":"one"})";
  CHECK(run.take_heartbeat() == first);
  run.on_no_answer(1.0, start + 300ms);
  CHECK(!run.heartbeat_is_due(start + 399ms));
  REQUIRE(run.heartbeat_is_due(start + 400ms));
  CHECK(run.take_heartbeat() == first);
  run.on_line("progress 30%", start + 450ms);  // While the heartbeat is on its way.
  run.on_term({.expires_in = 30s}, start + 400ms, start + 500ms);
  CHECK(run.next_delivery_at() == start + 650ms);
  CHECK(run.take_heartbeat() == R"({"progress":0.3,"message":"two"})");
  run.on_term({.expires_in = 30s}, start + 650ms, start + 700ms);
  CHECK(run.next_delivery_at() == start + 650ms + 10s);
  CHECK(run.take_heartbeat() == "{}");
}

TEST_CASE("a busy command does not flood celld with heartbeats") {
  LeasedRun run = a_run();
  static_cast<void>(run.take_heartbeat());
  run.on_term({.expires_in = 30s}, start + 1s, start + 1s);
  run.on_line("progress 0.5", start + 1001ms);
  CHECK(run.next_delivery_at() == start + 1250ms);
}

TEST_CASE("the oldest of more than a hundred unsent messages are dropped") {
  LeasedRun run = a_run();
  for (int i = 0; i < 150; ++i) run.on_line("message m" + std::to_string(i), start);
  run.on_end(exited(0), {}, start);
  CHECK(!contains(run.report(), R"("text":"m49")"));
  CHECK(contains(run.report(), R"("text":"m50")"));
  CHECK(contains(run.report(), R"("text":"m149")"));
}

TEST_CASE("a message on its way is not among those that are dropped") {
  LeasedRun run = a_run();
  run.on_line("message first", start);
  REQUIRE(contains(run.take_heartbeat(), "first"));
  for (int i = 0; i < 150; ++i) run.on_line("message m" + std::to_string(i), start);
  run.on_no_answer(1.0, start + 1s);
  CHECK(contains(run.take_heartbeat(), "first"));
}

TEST_CASE("a report has the last hundred of the messages and the other lines") {
  LeasedRun run = a_run();
  for (int i = 0; i < 100; ++i) run.on_line("message m" + std::to_string(i), start);
  CommandResult result = exited(0);
  result.errors = {{"a line", false}, {"the last", false}};
  run.on_end(result, {}, start);
  CHECK(!contains(run.report(), R"("text":"m1")"));
  CHECK(contains(run.report(), R"("text":"m2")"));
  CHECK(contains(run.report(), R"("text":"the last")"));
}

TEST_CASE("a success is reported until celld has it") {
  LeasedRun run = a_run();
  run.on_line("message halfway", start);
  CommandResult result = exited(0, R"({"properties":{"ip":"192.0.2.1"}})");
  result.errors = {{"a line", false}};
  CHECK(run.on_end(result, {}, start + 1s).kind == Kind::succeeded);
  CHECK(run.state() == State::reporting);
  REQUIRE(run.report_is_due(start + 1s));
  CHECK(run.report() ==
        R"({"lease":"L1","outcome":"complete","properties":{"ip":"192.0.2.1"},"messages":)"
        R"([{"severity":"info","text":"halfway"},{"severity":"info","text":"a line"}]})");
  run.on_no_answer(1.0, start + 2s);
  CHECK(!run.report_is_due(start + 2s));
  CHECK(run.report_is_due(start + 2100ms));
  CHECK(run.next_delivery_at() == start + 2100ms);
  run.on_reported();
  CHECK(run.state() == State::done);
  CHECK(run.next_delivery_at() == SteadyTime::max());
}

TEST_CASE("a message that a heartbeat has delivered is not reported again") {
  LeasedRun run = a_run();
  run.on_line("message one", start);
  static_cast<void>(run.take_heartbeat());
  run.on_end(exited(0), {}, start + 1s);
  run.on_term({.expires_in = 30s}, start, start + 2s);  // The answer arrives after the end.
  CHECK(contains(run.report(), R"("messages":[])"));
}

TEST_CASE("exit statuses decide whether the job is retried") {
  const auto outcome_of = [](const CommandResult& result) {
    LeasedRun run = a_run();
    return run.on_end(result, {}, start);
  };
  CHECK(outcome_of(exited(75)).kind == Kind::retryable);
  CHECK(outcome_of(exited(1)).kind == Kind::rejected);
  CHECK(outcome_of(exited(1, R"({"code":"no_image"})")).code == "no_image");
  CHECK(outcome_of(exited(0, "not JSON")).code == "invalid_response");
  for (const int status : {126, 127}) {
    const auto outcome = outcome_of(exited(status));
    CHECK(outcome.kind == Kind::retryable);
    CHECK(outcome.code == "communications_error");
  }
  const auto died = outcome_of(exited(128 + SIGKILL));  // As the shell says it.
  CHECK(died.kind == Kind::unknown);
  CHECK(died.message == "The command was killed by signal 9.");
  CHECK(outcome_of(exited(128)).kind == Kind::rejected);
  CHECK(outcome_of(exited(255)).kind == Kind::rejected);
}

TEST_CASE("a cancelled command gets SIGTERM, after the grace SIGKILL, and no more heartbeats") {
  LeasedRun run = a_run();
  CHECK(!run.take_signal(start + 1s));
  run.on_term({.expires_in = 30s, .cancel = true}, start + 1s, start + 2s);
  CHECK(run.cause() == Cause::cancelled);
  CHECK(run.next_signal_at() <= start + 2s);
  CHECK(run.take_signal(start + 2s) == SIGTERM);
  CHECK(!run.take_signal(start + 2s));
  CHECK(run.next_signal_at() == start + 7s);
  CHECK(!run.take_signal(start + 6999ms));
  CHECK(run.take_signal(start + 7s) == SIGKILL);
  CHECK(run.next_signal_at() == SteadyTime::max());
  CHECK(!run.heartbeat_is_due(start + 20s));
  const auto& outcome = run.on_end(killed(SIGKILL), {}, start + 8s);
  CHECK(outcome.kind == Kind::rejected);
  CHECK(outcome.code == "cancelled");
}

TEST_CASE("a command that succeeds after its cancellation has succeeded") {
  LeasedRun run = a_run();
  run.on_term({.expires_in = 30s, .cancel = true}, start, start);
  CHECK(run.on_end(exited(0, "{}"), {}, start + 1s).kind == Kind::succeeded);
}

TEST_CASE("a command whose lease is lost is ended, and not reported") {
  LeasedRun run = a_run();
  run.on_lost(start + 1s);
  CHECK(run.take_signal(start + 1s) == SIGTERM);
  CHECK(!run.heartbeat_is_due(start + 20s));
  run.on_end(exited(0, "{}"), {}, start + 2s);
  CHECK(run.state() == State::done);
}

TEST_CASE("a command that is being ended is not reported either once its lease is lost") {
  LeasedRun run = a_run();
  run.give_up(start);
  REQUIRE(run.take_signal(start) == SIGTERM);
  run.on_lost(start + 1s);
  CHECK(run.cause() == Cause::lost);
  CHECK(!run.heartbeat_is_due(start + 20s));
  run.on_end(killed(SIGTERM), {}, start + 2s);
  CHECK(run.state() == State::done);
}

TEST_CASE("a lease that is lost while its report waits is over") {
  LeasedRun run = a_run();
  run.on_end(exited(0, "{}"), {}, start + 2s);
  run.on_lost(start + 3s);
  CHECK(run.state() == State::done);
}

TEST_CASE("without answers to its heartbeats a command is gone when its lease ends") {
  LeasedRun run = a_run(30s);
  run.on_no_answer(1.0, start + 10s);
  CHECK(run.next_signal_at() == start + 25s);  // The grace before the end.
  CHECK(!run.take_signal(start + 24s));
  CHECK(run.take_signal(start + 25s) == SIGTERM);
  CHECK(run.cause() == Cause::deadline);
  CHECK(run.heartbeat_is_due(start + 25s));  // celld may return, and want the report.
  CHECK(run.take_signal(start + 30s) == SIGKILL);
  const auto& outcome = run.on_end(killed(SIGKILL), {}, start + 30s);
  CHECK(outcome.kind == Kind::retryable);
  CHECK(outcome.code == "timeout");
  CHECK(run.state() == State::reporting);
}

TEST_CASE("the grace takes at most a quarter of a short term") {
  LeasedRun run = a_run(2s);
  CHECK(run.next_signal_at() == start + 1500ms);
}

TEST_CASE("an answered heartbeat moves the deadline") {
  LeasedRun run = a_run(30s);
  run.on_term({.expires_in = 30s}, start + 20s, start + 21s);
  CHECK(run.next_signal_at() == start + 45s);
  CHECK(!run.take_signal(start + 30s));
}

TEST_CASE("while celld is away, heartbeats are repeated after pauses that double up to 2 s") {
  LeasedRun run = a_run(30s);
  auto now = start + 10s;
  for (const auto pause : {100ms, 200ms, 400ms, 800ms, 1600ms, 2000ms, 2000ms}) {
    run.on_no_answer(1.0, now);
    CHECK(run.next_delivery_at() == now + pause);
    now = run.next_delivery_at();
  }
}

TEST_CASE("on a short term, the pauses while celld is away are at most a sixth of it") {
  LeasedRun run = a_run(3s);
  auto now = start + 1s;
  for (const auto pause : {100ms, 200ms, 400ms, 500ms, 500ms}) {
    run.on_no_answer(1.0, now);
    CHECK(run.next_delivery_at() == now + pause);
    now = run.next_delivery_at();
  }
}

TEST_CASE("an answered heartbeat ends a row of longer and longer pauses") {
  LeasedRun run = a_run(30s);
  for (int i = 0; i < 4; ++i) run.on_no_answer(1.0, start + 10s);
  run.on_term({.expires_in = 30s}, start + 11s, start + 11s);
  run.on_no_answer(1.0, start + 21s);
  CHECK(run.next_delivery_at() == start + 21s + 100ms);
}

TEST_CASE("a heartbeat is due after a third of the latest term, however long the first one was") {
  LeasedRun run = a_run(30s);
  run.on_term({.expires_in = 3s}, start + 10s, start + 10s);
  CHECK(run.next_delivery_at() == start + 11s);
}

TEST_CASE("news of a command do not shorten the pause while celld is away") {
  LeasedRun run = a_run(30s);
  run.on_no_answer(1.0, start + 10s);
  run.on_line("progress 0.5", start + 10s);
  CHECK(run.next_delivery_at() == start + 10s + 100ms);
}

TEST_CASE("a cancelled command is gone when its lease ends") {
  LeasedRun run = a_run(30s);
  run.on_term({.expires_in = 2s, .cancel = true}, start, start);
  CHECK(run.take_signal(start) == SIGTERM);
  CHECK(run.next_signal_at() == start + 2s);
}

TEST_CASE("a command of a worker that gives up is gone when its lease ends") {
  LeasedRun run = a_run(2s);
  run.give_up(start);
  CHECK(run.take_signal(start) == SIGTERM);
  CHECK(run.next_signal_at() == start + 2s);
}

TEST_CASE("a worker that gives up ends its commands, and their jobs may be retried") {
  LeasedRun run = a_run();
  run.give_up(start);
  CHECK(run.take_signal(start) == SIGTERM);
  const auto& outcome = run.on_end(killed(SIGTERM), {}, start + 1s);
  CHECK(outcome.kind == Kind::retryable);
  CHECK(outcome.code == "interrupted");
  LeasedRun ended = a_run();
  ended.on_end(exited(0), {}, start);
  ended.give_up(start);
  CHECK(!ended.take_signal(start));
}

TEST_CASE(
    "a success that celld refuses is reported without messages, and then as a failure, once") {
  LeasedRun run = a_run();
  run.on_line("message one", start);
  run.on_end(exited(0, R"({"properties":{"n":1}})"), {}, start);
  CHECK(run.on_report_refused("it has faults", start + 1s));
  REQUIRE(run.report_is_due(start + 1s));
  CHECK(contains(run.report(), R"("outcome":"complete","properties":{"n":1},"messages":[])"));
  CHECK(run.on_report_refused("it has faults", start + 2s));
  REQUIRE(run.report_is_due(start + 2s));
  CHECK(contains(run.report(), R"("code":"invalid_response")"));
  CHECK(contains(run.report(), "refused the worker's report: it has faults\""));
  CHECK(!run.on_report_refused("it has faults", start + 3s));
  CHECK(run.state() == State::done);
}

TEST_CASE("of a long reason why celld refused a report, only the beginning is reported") {
  LeasedRun run = a_run();
  run.on_end(exited(0), {}, start);
  REQUIRE(run.on_report_refused(std::string(5000, 'x'), start + 1s));
  CHECK(contains(run.report(), std::string(999, 'x')));
  CHECK(!contains(run.report(), std::string(1000, 'x')));
}

TEST_CASE("what celld refuses of a heartbeat is not sent again") {
  LeasedRun run = a_run();
  run.on_line("message one", start);
  run.on_line("message two", start);
  run.on_line("progress 0.5", start);
  CHECK(contains(run.take_heartbeat(), "one"));
  run.on_news_refused(start + 1s);
  REQUIRE(run.heartbeat_is_due(start + 1s));
  CHECK(run.take_heartbeat() == R"({"message":"two"})");
  run.on_news_refused(start + 2s);
  CHECK(run.take_heartbeat() == "{}");
}

TEST_CASE("a lease that waits for room has heartbeats, and no signals") {
  LeasedRun run = a_waiting_run(3s);
  CHECK(run.state() == State::waiting);
  CHECK(run.next_delivery_at() == start + 1s);
  CHECK(run.next_signal_at() == SteadyTime::max());
  CHECK(!run.take_signal(start + 10s));
  REQUIRE(run.heartbeat_is_due(start + 1s));
  run.take_heartbeat();
  run.on_term({.expires_in = 3s}, start + 1s, start + 1s);
  REQUIRE(run.try_start(start + 2s));
  CHECK(run.state() == State::running);
  CHECK(run.started_at() == start + 2s);
}

TEST_CASE("a lease that waits for room and is about to end is not started") {
  LeasedRun run = a_waiting_run(2s);
  CHECK(!run.try_start(start + 1500ms));
  REQUIRE(run.report_is_due(start + 1500ms));
  CHECK(contains(run.report(), R"("code":"timeout")"));
  CHECK(contains(run.report(), "no command was started"));
}

TEST_CASE("a lease that waits for room is over without a command") {
  LeasedRun run = a_waiting_run();
  SECTION("lost") {
    run.on_lost(start + 1s);
    CHECK(run.state() == State::done);
  }
  SECTION("cancelled") {
    run.take_heartbeat();
    run.on_term({.expires_in = 30s, .cancel = true}, start + 1s, start + 1s);
    REQUIRE(run.report_is_due(start + 1s));
    CHECK(contains(run.report(), R"("code":"cancelled")"));
  }
  SECTION("given up") {
    run.give_up(start + 1s);
    REQUIRE(run.report_is_due(start + 1s));
    CHECK(contains(run.report(), R"("code":"interrupted")"));
    CHECK(contains(run.report(), R"("retryable":true)"));
  }
}

TEST_CASE("a result does not wait for the pause after a heartbeat without an answer") {
  LeasedRun run = a_run(30s);
  run.on_no_answer(1.0, start + 10s);
  run.on_end(exited(0), {}, start + 10s);
  CHECK(run.report_is_due(start + 10s));
  CHECK(run.next_delivery_at() == start + 10s);
}
