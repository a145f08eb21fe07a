// The events of the engine's probe become log lines with the right fields, and nothing else.
#include "src/engine_log.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/json/json.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/logged_lines.hpp"

namespace celld {
namespace {

using json::Value;
using logs::Level;
const cells::CellKey cell{"acme", "dns"};

cells::Job a_job() {
  auto spec = std::make_shared<cells::JobSpec>();
  spec->services = {"dns"};
  spec->traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  spec->parameters = R"({"password":"planted"})";
  spec->entity.id = "planted";
  spec->labels["planted"] = "planted";
  cells::Job job;
  job.id = *cells::parse_job_id("0000000000001");
  job.spec = spec;
  job.cell = cell;
  job.state = cells::JobState::running;
  job.steps.resize(1);
  job.steps[0].attempts = 2;
  job.lease = {7, 9};
  job.messages.push_back({{}, cells::Severity::error, "dns", "planted"});
  job.properties["planted"] = "\"planted\"";
  return job;
}

/// The lines that `see` logs at `level`, without their times.
template <class See>
std::vector<Value> seen(Level level, See see) {
  return test::logged_lines(level, [&](logs::Log& log) {
    EngineLog probe{log};
    see(probe);
  });
}

void see_everything(EngineLog& probe) {
  cells::Job job = a_job();
  probe.submitted(job);
  probe.handed_out(job, 1, 4);
  probe.attempt_ended(job, cells::AttemptEnd::Kind::unknown, cells::AbortCause::timeout,
                      cells::microseconds{1'500'900});
  auto after = job;
  after.next_attempt_at = cells::WallTime{};
  probe.lease_ended(job, after, cells::AbortCause::timeout);
  job.state = cells::JobState::failed;
  job.error = cells::JobError{"timeout", "planted", "dns"};
  probe.job_ended(job);
  job.error.reset();
  job.state = cells::JobState::succeeded;
  probe.job_ended(job);
}

TEST_CASE("each line about a job names it, its cell, its lease and its trace, and no payload") {
  const auto lines = seen(Level::debug, see_everything);
  REQUIRE(lines.size() == 6);
  for (const Value& line : lines) {
    CHECK(line["job"] == "0000000000001");
    CHECK(line["cell"] == "acme/dns");
    CHECK(line["lease"] == "7-9");
    CHECK(line["trace"] == "4bf92f3577b34da6a3ce929d0e0e4736");
    CHECK(json::dump(line).find("planted") == std::string::npos);
  }
}

TEST_CASE("each line about an attempt, a wait or an end names the service and the attempt") {
  for (const Value& line : seen(Level::debug, see_everything)) {
    if (line["message"] == "a job was accepted") continue;
    INFO(json::dump(line));
    CHECK(line.value("service", "") == "dns");
    CHECK(line.value("attempt", 0) == 2);
  }
}

TEST_CASE("the line about the start of an attempt tells how many run and how many may") {
  const auto lines = seen(Level::debug, [](EngineLog& probe) { probe.handed_out(a_job(), 1, 4); });
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["message"] == "an attempt began");
  CHECK(lines[0]["running"] == 1);
  CHECK(lines[0]["running_max"] == 4);
}

TEST_CASE("only a line about an attempt to undo a step says so") {
  const auto lines = seen(Level::debug, [](EngineLog& probe) {
    cells::Job job = a_job();
    probe.handed_out(job, 1, 4);
    job.error = cells::JobError{"timeout", "planted", "dns"};
    job.steps[0].undo_attempts = 3;
    probe.handed_out(job, 1, 4);
  });
  REQUIRE(lines.size() == 2);
  CHECK_FALSE(lines[0].contains("call"));
  CHECK(lines[1].value("call", "") == "undo");
  CHECK(lines[1]["attempt"] == 3);
}

TEST_CASE("how long an attempt ran is logged unless a crash has cut it short") {
  using Kind = cells::AttemptEnd::Kind;
  for (const auto kind : {Kind::succeeded, Kind::interrupted}) {
    const auto lines = seen(Level::debug, [&](EngineLog& probe) {
      probe.attempt_ended(a_job(), kind, cells::AbortCause::none, cells::microseconds{6000});
    });
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].contains("ran_ms") == (kind == Kind::succeeded));
  }
}

TEST_CASE("by default, only failures and warnings are logged") {
  const auto lines = seen(Level::info, see_everything);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == Value{{"level", "warning"},
                          {"message", "an attempt timed out"},
                          {"job", "0000000000001"},
                          {"cell", "acme/dns"},
                          {"lease", "7-9"},
                          {"trace", "4bf92f3577b34da6a3ce929d0e0e4736"},
                          {"service", "dns"},
                          {"attempt", 2},
                          {"outcome", "timeout"},
                          {"ran_ms", 1500}});
  CHECK(lines[1]["message"] == "a job failed");
  CHECK(lines[1]["code"] == "timeout");
  CHECK(lines[1]["attempt"] == 2);
}

TEST_CASE("a line about an attempt outside names the worker") {
  const auto lines = seen(Level::info, [](EngineLog& probe) {
    cells::Job job = a_job();
    job.steps[job.step].worker = "host-1";
    probe.attempt_ended(job, cells::AttemptEnd::Kind::unknown, cells::AbortCause::timeout,
                        cells::milliseconds{1500});
  });
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["worker"] == "host-1");
}

TEST_CASE("a job without a trace or a lease has neither in its lines") {
  const auto lines = seen(Level::debug, [](EngineLog& probe) {
    cells::Job job = a_job();
    auto spec = *job.spec;
    spec.traceparent.clear();
    job.spec = std::make_shared<const cells::JobSpec>(spec);
    job.lease = {};
    probe.submitted(job);
  });
  REQUIRE(lines.size() == 1);
  CHECK_FALSE(lines[0].contains("trace"));
  CHECK_FALSE(lines[0].contains("lease"));
}

TEST_CASE("routine ends are logged at level debug only") {
  using cells::AbortCause;
  for (const auto cause : {AbortCause::none, AbortCause::cancel, AbortCause::hand_back}) {
    CHECK(seen(Level::info, [&](EngineLog& probe) {
            probe.attempt_ended(a_job(), cells::AttemptEnd::Kind::cancelled, cause, {});
          }).empty());
  }
  for (const auto cause : {AbortCause::expiry, AbortCause::worker_lost}) {
    CHECK(seen(Level::warning, [&](EngineLog& probe) {
            probe.attempt_ended(a_job(), cells::AttemptEnd::Kind::expired, cause, {});
          }).size() == 1);
  }
}

TEST_CASE("the end of a lease is logged only if its job waits for its next attempt") {
  CHECK(seen(Level::debug, [](EngineLog& probe) {
          probe.lease_ended(a_job(), a_job(), cells::AbortCause::none);
        }).empty());
}

TEST_CASE("the warning about an aborted attempt tells why it was aborted") {
  using cells::AbortCause;
  const auto lines = seen(Level::warning, [](EngineLog& probe) {
    for (const auto cause : {AbortCause::expiry, AbortCause::worker_lost}) {
      probe.attempt_ended(a_job(), cells::AttemptEnd::Kind::expired, cause, {});
    }
  });
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["message"] == "an attempt was aborted because its job expired");
  CHECK(lines[1]["message"] == "an attempt was interrupted: it lost its worker");
}

TEST_CASE("refusals, stale reports and restarts are logged as warnings with cell or service") {
  const auto lines = seen(Level::warning, [](EngineLog& probe) {
    cells::Refusal refusal;
    refusal.kind = cells::Refusal::Kind::queue_full;
    refusal.cell = cell;
    refusal.limit = 10;
    probe.refused(refusal, "bolt");
    probe.stale_report(cell, {3, 4});
    probe.cell_restarted(cell);
    probe.provider_restarted("dns");
  });
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == Value{{"level", "warning"},
                          {"message", "a job was refused"},
                          {"cell", "acme/dns"},
                          {"customer", "bolt"},
                          {"reason", "queue-full"},
                          {"limit", 10}});
  CHECK(lines[1]["lease"] == "3-4");
  CHECK(lines[1]["cell"] == "acme/dns");
  CHECK(lines[2]["cell"] == "acme/dns");
  CHECK(lines[3]["service"] == "dns");
}

TEST_CASE("what keeps jobs waiting is logged") {
  const auto lines = seen(Level::info, [](EngineLog& probe) {
    probe.circuit_opened("dns");
    probe.circuit_closed("dns");
    probe.job_held(a_job());
    probe.jobs_without_cell(3, "bolt", "web");
  });
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == Value{{"level", "warning"},
                          {"message", "the circuit of a service opened"},
                          {"service", "dns"}});
  CHECK(lines[1] == Value{{"level", "info"},
                          {"message", "the circuit of a service closed"},
                          {"service", "dns"}});
  CHECK(lines[2]["level"] == "warning");
  CHECK(lines[2]["message"] == "a job waits: its service or undo is not configured");
  CHECK(lines[2]["job"] == "0000000000001");
  CHECK(lines[2]["service"] == "dns");
  CHECK(lines[3] == Value{{"level", "warning"},
                          {"message", "jobs wait: no cell of the configuration matches them"},
                          {"jobs", 3},
                          {"example", "bolt/web"}});
}

TEST_CASE("each reason for a refusal has a name of its own") {
  using Kind = cells::Refusal::Kind;
  const std::vector<std::pair<Kind, std::string>> names = {
      {Kind::no_cell, "no-cell"},
      {Kind::timeout_too_long, "timeout-too-long"},
      {Kind::queue_full, "queue-full"},
      {Kind::too_many_cells, "too-many-cells"},
      {Kind::shutting_down, "draining"},
      {Kind::draining, "cell-draining"},
      {Kind::service_removed, "service-gone"},
      {Kind::key_reused, "key-reused"},
      {Kind::cell_bytes_full, "cell-memory-full"},
      {Kind::memory_full, "memory-full"},
      {Kind::durability_differs, "durability-differs"},
      {Kind::queue_rate, "queue-rate"},
      {Kind::customer_jobs_full, "customer-jobs"},
      {Kind::customer_bytes_full, "customer-bytes"},
      {Kind::customer_rate, "customer-rate"},
      {Kind::job_too_large, "job-too-large"},
  };
  REQUIRE(names.size() == cells::Refusal::kind_count);
  const auto lines = seen(Level::warning, [&](EngineLog& probe) {
    for (const auto& [kind, name] : names) {
      cells::Refusal refusal;
      refusal.kind = kind;
      refusal.cell = {name, "dns"};  // Lines about one cell would be limited.
      probe.refused(refusal, "acme");
    }
  });
  REQUIRE(lines.size() == names.size());
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(lines[i]["reason"] == names[i].second);
}

TEST_CASE("a refusal without a limit names none") {
  const auto lines = seen(Level::warning, [](EngineLog& probe) { probe.refused({}, "acme"); });
  REQUIRE(lines.size() == 1);
  CHECK_FALSE(lines[0].contains("limit"));
}

TEST_CASE("what schedules miss is logged as a warning, what they fire only in detail") {
  const auto lines = seen(Level::warning, [](EngineLog& probe) {
    probe.due_times_passed("nightly", cells::DueOutcome::fired, 1);
    probe.due_times_passed("nightly", cells::DueOutcome::missed, 5);
    cells::Refusal refusal;
    refusal.kind = cells::Refusal::Kind::queue_full;
    probe.firing_refused("nightly", refusal);
    probe.schedule_without_zone("nightly", "Mars/Base");
  });
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == Value{{"level", "warning"},
                          {"message", "a schedule missed due times"},
                          {"schedule", "nightly"},
                          {"outcome", "missed"},
                          {"times", 5}});
  CHECK(lines[1]["schedule"] == "nightly");
  CHECK(lines[1]["reason"] == "queue-full");
  CHECK(lines[2]["level"] == "error");
  CHECK(lines[2]["schedule"] == "nightly");
  CHECK(lines[2]["time_zone"] == "Mars/Base");
}

TEST_CASE("a flood about one cell suppresses no line about another") {
  const auto lines = seen(Level::info, [](EngineLog& probe) {
    cells::Job job = a_job();
    job.state = cells::JobState::failed;
    for (int i = 0; i < 200; ++i) probe.job_ended(job);
    job.cell = {"bolt", "dns"};
    probe.job_ended(job);
  });
  std::size_t others = 0;
  for (const Value& line : lines) others += line.value("cell", "") == "bolt/dns" ? 1 : 0;
  CHECK(others == 1);
  CHECK(lines.size() < 100);
  CHECK(lines.back()["about"] == "acme/dns");
}

TEST_CASE("a flood of refusals or of warnings about attempts is limited by cell") {
  const bool is_refused = GENERATE(false, true);
  const auto lines = seen(Level::warning, [&](EngineLog& probe) {
    cells::Refusal refusal;
    refusal.kind = cells::Refusal::Kind::queue_full;
    refusal.cell = cell;
    for (int i = 0; i < 200; ++i) {
      if (is_refused) {
        probe.refused(refusal, "acme");
      } else {
        probe.attempt_ended(a_job(), cells::AttemptEnd::Kind::unknown, cells::AbortCause::timeout,
                            cells::milliseconds{1500});
      }
    }
  });
  CHECK(lines.size() < 100);
  CHECK(lines.back().value("about", "") == "acme/dns");
}

TEST_CASE("a flood of jobs without a cell is limited whatever names they have") {
  const auto lines = seen(Level::warning, [](EngineLog& probe) {
    cells::Refusal refusal;
    refusal.kind = cells::Refusal::Kind::no_cell;
    for (int i = 0; i < 200; ++i) {
      refusal.cell = {"made-up-" + std::to_string(i), "dns"};
      probe.refused(refusal, refusal.cell.customer);
    }
  });
  CHECK(lines.size() < 100);
  CHECK(lines.back().value("about", "") == "no cell");
}

}  // namespace
}  // namespace celld
