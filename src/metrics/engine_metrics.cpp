#include "src/metrics/engine_metrics.hpp"

#include "src/metrics/families.hpp"

namespace celld::metrics {
namespace {

using cells::AbortCause;
using cells::AttemptEnd;
using Buckets = prometheus::Histogram::BucketBoundaries;

constexpr std::array<std::string_view, 11> outcomes = {
    "succeeded", "rejected",  "retryable",   "throttled",   "unknown", "timeout",
    "expired",   "cancelled", "interrupted", "handed_back", "pending"};

Buckets wait_buckets() {
  return {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200, 43'200};
}

Buckets run_buckets() {
  return {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800};
}

double seconds(std::chrono::duration<double> time) {
  return time.count();
}

}  // namespace

std::string_view outcome_of(AttemptEnd::Kind kind, AbortCause cause) {
  switch (kind) {
    case AttemptEnd::Kind::succeeded:
      return "succeeded";
    case AttemptEnd::Kind::rejected:
      return "rejected";
    case AttemptEnd::Kind::retryable:
      return "retryable";
    case AttemptEnd::Kind::throttled:
      return "throttled";
    case AttemptEnd::Kind::unknown:
      return cause == AbortCause::timeout ? "timeout" : "unknown";
    case AttemptEnd::Kind::expired:
      return "expired";
    case AttemptEnd::Kind::cancelled:
      return "cancelled";
    case AttemptEnd::Kind::interrupted:
      return "interrupted";
    case AttemptEnd::Kind::handed_back:
      return "handed_back";
    case AttemptEnd::Kind::pending:
      return "pending";
  }
  return "unknown";
}

EngineMetrics::EngineMetrics(prometheus::Registry& registry, CellTallies& tallies,
                             const std::vector<std::string>& services)
    : tallies_(tallies),
      attempts_(prometheus::BuildCounter()
                    .Name("celld_attempts_total")
                    .Help("Ended attempts, by service and outcome.")
                    .Register(registry)),
      run_times_(prometheus::BuildHistogram()
                     .Name("celld_run_seconds")
                     .Help("How long attempts ran, by service, without interrupted ones.")
                     .Register(registry)),
      undo_failures_(prometheus::BuildCounter()
                         .Name("celld_undo_failures_total")
                         .Help("Steps that their service could not undo.")
                         .Register(registry)),
      queue_wait_(prometheus::BuildHistogram()
                      .Name("celld_queue_wait_seconds")
                      .Help("Time from when a job was due to the start of its first attempt.")
                      .Register(registry)
                      .Add({}, wait_buckets())),
      stale_reports_(prometheus::BuildCounter()
                         .Name("celld_stale_reports_total")
                         .Help("Reports under a stale lease; they changed nothing.")
                         .Register(registry)
                         .Add({})),
      restarts_(prometheus::BuildCounter()
                    .Name("celld_dispatcher_restarts_total")
                    .Help("Dispatchers that died and were restarted from the store.")
                    .Register(registry)
                    .Add({})) {
  auto& due_times = prometheus::BuildCounter()
                        .Name("celld_schedule_times_total")
                        .Help("Due times of schedules, by what became of them.")
                        .Register(registry);
  for (std::size_t i = 0; i < due_times_.size(); ++i) {
    const auto outcome = to_string(static_cast<cells::DueOutcome>(i));
    due_times_[i] = &due_times.Add({{"outcome", std::string(outcome)}});
  }
  add_service(std::string(others_label));
  for (const auto& name : services) add_service(name);
}

void EngineMetrics::add_service(const std::string& name) {
  const std::lock_guard lock(services_mutex_);
  if (services_.contains(name) || services_.size() > labelled_services_max) return;
  Service& service = services_[name];
  for (const auto& outcome : outcomes) {
    service.attempts[outcome] =
        &attempts_.Add({{"service", name}, {"outcome", std::string(outcome)}});
  }
  service.undo_failures = &undo_failures_.Add({{"service", name}});
  service.run_time = &run_times_.Add({{"service", name}}, run_buckets());
}

void EngineMetrics::submitted(const cells::Job& job) {
  tallies_.submitted(job.cell);
}

void EngineMetrics::refused(const cells::Refusal& refusal, const std::string&) {
  tallies_.refused(refusal.cell, refusal.kind);
}

void EngineMetrics::first_attempt_began(const cells::Job&, cells::milliseconds waited) {
  queue_wait_.Observe(seconds(waited));
}

void EngineMetrics::attempt_ended(const cells::Job& job, AttemptEnd::Kind kind, AbortCause cause,
                                  cells::microseconds ran) {
  tallies_.attempt_ended(job.cell, cause == AbortCause::timeout);
  const Service& service = service_of(job);
  service.attempts.at(outcome_of(kind, cause))->Increment();
  if (kind != AttemptEnd::Kind::interrupted) service.run_time->Observe(seconds(ran));
}

void EngineMetrics::lease_ended(const cells::Job& before, const cells::Job& after,
                                cells::AbortCause) {
  if (!is_compensating(before)) return;
  const bool failed = after.steps[before.step].state == cells::StepState::undo_failed;
  if (failed) service_of(before).undo_failures->Increment();
}

void EngineMetrics::job_ended(const cells::Job& job) {
  tallies_.job_ended(job.cell, job.state);
}

void EngineMetrics::stale_report(const cells::CellKey&, cells::Lease) {
  stale_reports_.Increment();
}

void EngineMetrics::cell_restarted(const cells::CellKey&) {
  restarts_.Increment();
}

void EngineMetrics::due_times_passed(const std::string&, cells::DueOutcome outcome,
                                     std::uint64_t times) {
  due_times_[static_cast<std::size_t>(outcome)]->Increment(static_cast<double>(times));
}

/// A job may still have an attempt at a service that is no longer configured.
const EngineMetrics::Service& EngineMetrics::service_of(const cells::Job& job) const {
  const std::shared_lock lock(services_mutex_);
  const auto found = services_.find(job.spec->services[job.step]);
  return found == services_.end() ? services_.find(others_label)->second : found->second;
}

}  // namespace celld::metrics
