#include "src/engine_log.hpp"

#include <algorithm>
#include <string_view>

#include "src/metrics/engine_metrics.hpp"

namespace celld {
namespace {

using cells::AbortCause;
using logs::Level;
using logs::Line;

/// The subject under which lines about jobs without a cell are limited.
constexpr const char* without_cell = "no cell";

/// The trace-id of a `traceparent`: "00-TRACE-PARENT-FLAGS".
std::string_view trace_of(const cells::JobSpec& spec) {
  constexpr std::size_t begin = 3;
  constexpr std::size_t length = 32;
  const std::string_view text = spec.traceparent;
  return text.size() < begin + length ? std::string_view{} : text.substr(begin, length);
}

Line line_about(Level level, std::string_view message, const cells::Job& job) {
  Line line{level, message};
  line.text("job", cells::format_job_id(job.id)).text("cell", to_string(job.cell));
  if (job.lease) line.text("lease", to_string(job.lease));
  if (const auto trace = trace_of(*job.spec); !trace.empty()) line.text("trace", trace);
  return line;
}

/// The current step; a job that has succeeded has none.
void add_step(Line& line, const cells::Job& job) {
  if (job.step >= job.steps.size()) return;
  line.text("service", job.spec->services[job.step]).number("attempt", current_attempt(job));
  if (is_compensating(job)) line.text("call", "undo");
  if (const auto& worker = job.steps[job.step].worker; !worker.empty()) {
    line.text("worker", worker);
  }
}

std::uint64_t count_ms(cells::microseconds time) {
  const auto whole = std::chrono::duration_cast<cells::milliseconds>(time).count();
  return static_cast<std::uint64_t>(std::max<cells::milliseconds::rep>(whole, 0));
}

std::string_view reason_of(cells::Refusal::Kind kind) {
  using Kind = cells::Refusal::Kind;
  switch (kind) {
    case Kind::no_cell:
      return "no-cell";
    case Kind::timeout_too_long:
      return "timeout-too-long";
    case Kind::queue_full:
      return "queue-full";
    case Kind::too_many_cells:
      return "too-many-cells";
    case Kind::shutting_down:
      return "draining";
    case Kind::draining:
      return "cell-draining";
    case Kind::service_removed:
      return "service-gone";
    case Kind::key_reused:
      return "key-reused";
    case Kind::cell_bytes_full:
      return "cell-memory-full";
    case Kind::memory_full:
      return "memory-full";
    case Kind::durability_differs:
      return "durability-differs";
    case Kind::queue_rate:
      return "queue-rate";
    case Kind::customer_jobs_full:
      return "customer-jobs";
    case Kind::customer_bytes_full:
      return "customer-bytes";
    case Kind::customer_rate:
      return "customer-rate";
    case Kind::job_too_large:
      return "job-too-large";
  }
  return "unknown";
}

/// The message for an abort that an operator should notice; empty for routine ends.
std::string_view warning_of(AbortCause cause) {
  switch (cause) {
    case AbortCause::timeout:
      return "an attempt timed out";
    case AbortCause::expiry:
      return "an attempt was aborted because its job expired";
    case AbortCause::worker_lost:
      return "an attempt was interrupted: it lost its worker";
    case AbortCause::none:
    case AbortCause::cancel:
    case AbortCause::hand_back:
      return "";
  }
  return "";
}

}  // namespace

void EngineLog::submitted(const cells::Job& job) {
  if (log_.wants(Level::debug)) log_.write(line_about(Level::debug, "a job was accepted", job));
}

void EngineLog::refused(const cells::Refusal& refusal, const std::string& customer) {
  const std::string cell = to_string(refusal.cell);
  Line line{Level::warning, "a job was refused"};
  line.text("cell", cell).text("customer", customer).text("reason", reason_of(refusal.kind));
  if (refusal.limit > 0) line.number("limit", refusal.limit);
  // Without a cell, the names are those that a client has made up.
  const bool has_cell = refusal.kind != cells::Refusal::Kind::no_cell;
  log_.write_limited(line, has_cell ? cell : without_cell);
}

void EngineLog::handed_out(const cells::Job& job, std::size_t running, std::size_t max) {
  if (!log_.wants(Level::debug)) return;
  Line line = line_about(Level::debug, "an attempt began", job);
  add_step(line, job);
  log_.write(line.number("running", running).number("running_max", max));
}

void EngineLog::attempt_ended(const cells::Job& job, cells::AttemptEnd::Kind kind, AbortCause cause,
                              cells::microseconds ran) {
  const auto warning = warning_of(cause);
  const Level level = warning.empty() ? Level::debug : Level::warning;
  if (!log_.wants(level)) return;
  Line line = line_about(level, warning.empty() ? "an attempt ended" : warning, job);
  add_step(line, job);
  line.text("outcome", metrics::outcome_of(kind, cause));
  // After a crash, the run time of the call is unknown.
  if (kind != cells::AttemptEnd::Kind::interrupted) line.number("ran_ms", count_ms(ran));
  if (warning.empty()) {
    log_.write(line);
  } else {
    log_.write_limited(line, to_string(job.cell));
  }
}

void EngineLog::lease_ended(const cells::Job& before, const cells::Job& after, AbortCause) {
  if (!after.next_attempt_at || !log_.wants(Level::debug)) return;
  Line line = line_about(Level::debug, "the job waits for its next attempt or poll", before);
  add_step(line, after);
  log_.write(line);
}

void EngineLog::job_ended(const cells::Job& job) {
  const bool failed = job.state == cells::JobState::failed;
  const Level level = failed ? Level::info : Level::debug;
  if (!log_.wants(level)) return;
  Line line = line_about(level, failed ? "a job failed" : "a job ended", job);
  line.text("state", to_string(job.state));
  add_step(line, job);
  if (!failed) return log_.write(line);
  if (job.error) line.text("code", job.error->code);
  log_.write_limited(line, to_string(job.cell));
}

void EngineLog::stale_report(const cells::CellKey& cell, cells::Lease lease) {
  const std::string name = to_string(cell);
  Line line{Level::warning, "a report under a stale lease was ignored"};
  line.text("cell", name).text("lease", to_string(lease));
  log_.write_limited(line, name);
}

void EngineLog::cell_restarted(const cells::CellKey& cell) {
  const std::string name = to_string(cell);
  Line line{Level::warning, "a dispatcher died and was restarted"};
  log_.write_limited(line.text("cell", name), name);
}

void EngineLog::provider_restarted(const std::string& service) {
  Line line{Level::warning, "a provider actor died and was replaced"};
  log_.write_limited(line.text("service", service), service);
}

/// Not why: the text may be the provider's.
void EngineLog::circuit_opened(const std::string& service) {
  Line line{Level::warning, "the circuit of a service opened"};
  log_.write_limited(line.text("service", service), service);
}

void EngineLog::circuit_closed(const std::string& service) {
  Line line{Level::info, "the circuit of a service closed"};
  log_.write_limited(line.text("service", service), service);
}

void EngineLog::job_held(const cells::Job& job) {
  Line line = line_about(Level::warning, "a job waits: its service or undo is not configured", job);
  add_step(line, job);
  log_.write_limited(line, job.spec->services.at(job.step));
}

void EngineLog::jobs_without_cell(std::uint64_t jobs, const std::string& customer,
                                  const std::string& product) {
  Line line{Level::warning, "jobs wait: no cell of the configuration matches them"};
  line.number("jobs", jobs).text("example", customer + "/" + product);
  log_.write_limited(line, without_cell);
}

void EngineLog::due_times_passed(const std::string& schedule, cells::DueOutcome outcome,
                                 std::uint64_t times) {
  const bool missed = outcome == cells::DueOutcome::missed;
  const Level level = missed ? Level::warning : Level::debug;
  if (!log_.wants(level)) return;
  Line line{level, missed ? "a schedule missed due times" : "a schedule passed a due time"};
  line.text("schedule", schedule).text("outcome", to_string(outcome)).number("times", times);
  missed ? log_.write_limited(line, schedule) : log_.write(line);
}

void EngineLog::firing_refused(const std::string& schedule, const cells::Refusal& refusal) {
  Line line{Level::warning,
            "the job of a schedule was refused; celld submits it again until the next due time"};
  line.text("schedule", schedule).text("reason", reason_of(refusal.kind));
  log_.write_limited(line, schedule);
}

void EngineLog::schedule_without_zone(const std::string& schedule, const std::string& zone) {
  Line line{Level::error, "a schedule does not fire: this machine does not know its time zone"};
  log_.write_limited(line.text("schedule", schedule).text("time_zone", zone), schedule);
}

}  // namespace celld
