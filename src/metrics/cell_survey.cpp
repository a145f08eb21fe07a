#include "src/metrics/cell_survey.hpp"

#include <string_view>

#include "src/metrics/families.hpp"

namespace celld::metrics {
namespace {

using cells::CellState;
using cells::JobState;
using cells::Refusal;
using prometheus::MetricFamily;

constexpr std::array<std::pair<Refusal::Kind, std::string_view>, Refusal::kind_count> reasons = {{
    {Refusal::Kind::no_cell, "no_cell"},
    {Refusal::Kind::timeout_too_long, "timeout_too_long"},
    {Refusal::Kind::queue_full, "queue_full"},
    {Refusal::Kind::too_many_cells, "too_many_cells"},
    {Refusal::Kind::shutting_down, "draining"},
    {Refusal::Kind::draining, "cell_draining"},
    {Refusal::Kind::service_removed, "service_gone"},
    {Refusal::Kind::key_reused, "key_reused"},
    {Refusal::Kind::cell_bytes_full, "cell_memory_full"},
    {Refusal::Kind::memory_full, "memory_full"},
    {Refusal::Kind::durability_differs, "durability_differs"},
    {Refusal::Kind::queue_rate, "queue_rate"},
    {Refusal::Kind::customer_jobs_full, "customer_jobs"},
    {Refusal::Kind::customer_bytes_full, "customer_bytes"},
    {Refusal::Kind::customer_rate, "customer_rate"},
    {Refusal::Kind::job_too_large, "job_too_large"},
}};

/// The metric families that describe each cell.
struct Gauges {
  MetricFamily jobs = gauges("celld_jobs", "Unfinished jobs, by state.");
  MetricFamily jobs_max = gauges("celld_jobs_max", "Maximum number of unfinished jobs in a cell.");
  MetricFamily oldest =
      gauges("celld_oldest_queued_age_seconds",
             "How long the oldest queued job has had its place; 0 if none is queued.");
  MetricFamily workers = gauges("celld_workers", "Workers, by state.");
  MetricFamily target = gauges("celld_workers_target", "Jobs that a cell can always run at once.");
  MetricFamily borrowed =
      gauges("celld_slots_borrowed", "Jobs that a cell may run now beyond its target.");
  MetricFamily lent =
      gauges("celld_slots_lent", "The part of a cell's target that other cells use now.");
  MetricFamily short_by =
      gauges("celld_slots_short",
             "The part of a cell's pool size that the capacity of the daemon does not allow.");

  void fill(std::string_view customer, std::string_view product, const CellGauges& cell) {
    for (std::size_t i = 0; i < cells::job_state_count; ++i) {
      const auto state = static_cast<JobState>(i);
      if (cells::is_ended(state)) continue;
      add(jobs, {{"customer", customer}, {"product", product}, {"state", to_string(state)}},
          static_cast<double>(cell.jobs[state]));
    }
    add(jobs_max, {{"customer", customer}, {"product", product}},
        static_cast<double>(cell.jobs_max));
    if (cell.oldest_queued_s)
      add(oldest, {{"customer", customer}, {"product", product}}, *cell.oldest_queued_s);
    const auto add_workers = [&](std::string_view state, double count) {
      add(workers, {{"customer", customer}, {"product", product}, {"state", state}}, count);
    };
    add_workers("ready", cell.pool.ready);
    add_workers("busy", cell.pool.busy);
    add_workers("retiring", cell.pool.retiring);
    add(target, {{"customer", customer}, {"product", product}}, cell.pool.target);
    add(borrowed, {{"customer", customer}, {"product", product}}, cell.pool.borrowed);
    add(lent, {{"customer", customer}, {"product", product}}, cell.pool.lent);
    add(short_by, {{"customer", customer}, {"product", product}}, cell.pool.short_by);
  }
};

struct Counters {
  MetricFamily submissions = counters("celld_submissions_total", "Accepted jobs.");
  MetricFamily refusals =
      counters("celld_refusals_total", "Refused requests to submit or reopen a job, by reason.");
  MetricFamily finished = counters("celld_jobs_finished_total", "Ended jobs, by final state.");
  MetricFamily expiries =
      counters("celld_lease_expiries_total", "Attempts aborted at their deadline.");

  void fill(std::string_view customer, std::string_view product, const Tally& tally, bool is_cell) {
    add(submissions, {{"customer", customer}, {"product", product}},
        static_cast<double>(tally.submissions));
    for (const auto& [kind, reason] : reasons) {
      if (is_cell && !is_of_a_cell(kind)) continue;
      add(refusals, {{"customer", customer}, {"product", product}, {"reason", reason}},
          static_cast<double>(tally.refusals[static_cast<std::size_t>(kind)]));
    }
    for (std::size_t i = 0; i < cells::job_state_count; ++i) {
      const auto state = static_cast<JobState>(i);
      if (!cells::is_ended(state)) continue;
      add(finished, {{"customer", customer}, {"product", product}, {"state", to_string(state)}},
          static_cast<double>(tally.finished[i]));
    }
    add(expiries, {{"customer", customer}, {"product", product}},
        static_cast<double>(tally.lease_expiries));
  }
};

MetricFamily cells_by_state(const CellSurvey& survey) {
  MetricFamily family = gauges("celld_cells", "Cells, by state, without templates.");
  for (const auto state : {CellState::active, CellState::paused, CellState::draining}) {
    add(family, {{"state", to_string(state)}},
        static_cast<double>(survey.cells_by_state[static_cast<std::size_t>(state)]));
  }
  return family;
}

/// The metric families that describe each pull service.
struct LeaseMetrics {
  MetricFamily out =
      gauges("celld_leases_out", "Leases that workers outside hold, by pull service.");
  MetricFamily waiting = gauges("celld_lease_requests_waiting",
                                "Requests for leases that have no answer yet, by pull service.");
  MetricFamily granted =
      counters("celld_leases_granted_total", "Leases granted to workers outside.");

  void fill(std::string_view service, const cells::ServiceStatus& status) {
    add(out, {{"service", service}}, static_cast<double>(status.in_flight));
    add(waiting, {{"service", service}}, static_cast<double>(status.leases->requests_waiting));
    add(granted, {{"service", service}}, static_cast<double>(status.leases->granted));
  }
};

/// The metric families that describe each protected service.
struct ProtectionMetrics {
  MetricFamily calls = gauges("celld_service_calls",
                              "Calls in flight, by service with limits or a circuit breaker.");
  MetricFamily waiting =
      gauges("celld_service_jobs_waiting",
             "Jobs in the cells' windows that wait for a permit to call the service or, at a pull "
             "service, for a worker.");
  MetricFamily blocked =
      gauges("celld_service_blocked",
             "1 while a circuit that is not closed, a pause that the provider asked for, or a lack "
             "of celld's own holds back the calls of the service.");

  void fill(std::string_view service, const cells::ServiceStatus& status) {
    const bool holds = status.circuit != cells::CircuitState::closed || status.paused_until;
    add(calls, {{"service", service}}, static_cast<double>(status.in_flight));
    add(waiting, {{"service", service}}, static_cast<double>(status.waiting));
    add(blocked, {{"service", service}}, holds ? 1 : 0);
  }
};

}  // namespace

CellGauges& CellGauges::operator+=(const cells::CellStatus& status) {
  for (std::size_t i = 0; i < jobs.by_state.size(); ++i)
    jobs.by_state[i] += status.queue.counts.by_state[i];
  jobs_max += overridden(status.settings, status.changed.quota).jobs_max;
  pool.target += status.pool.target;
  pool.ready += status.pool.ready;
  pool.busy += status.pool.busy;
  pool.retiring += status.pool.retiring;
  pool.borrowed += status.pool.borrowed;
  pool.lent += status.pool.lent;
  pool.short_by += status.pool.short_by;
  return *this;
}

void CellSurvey::add(const cells::CellStatus& status, CellTallies& tallies) {
  if (status.is_template) return;
  cells_by_state[static_cast<std::size_t>(status.changed.state)] += 1;
  const bool has_label = tallies.saw(status.key, status.queue.counts.unfinished());
  (has_label ? labelled[status.key] : others) += status;
}

void CellSurvey::add(const std::map<std::string, cells::ServiceStatus>& services) {
  for (const auto& [name, status] : services) {
    if (status.leases) {
      pull_services.emplace(name, status);
    } else if (status.protection.is_any()) {
      protected_services.emplace(name, status);
    }
  }
}

std::vector<MetricFamily> cell_families(const CellSurvey& survey,
                                        const CellTallies::Snapshot& tallies) {
  Gauges state;
  for (const auto& [key, cell] : survey.labelled) state.fill(key.customer, key.product, cell);
  state.fill(others_label, others_label, survey.others);
  Counters events;
  for (const auto& [key, tally] : tallies.labelled) {
    events.fill(key.customer, key.product, tally, true);
  }
  events.fill(others_label, others_label, tallies.others, false);
  LeaseMetrics leases;
  ProtectionMetrics protection;
  for (const auto& [service, status] : survey.pull_services) {
    leases.fill(service, status);
    add(protection.waiting, {{"service", service}}, static_cast<double>(status.waiting));
  }
  for (const auto& [service, status] : survey.protected_services) protection.fill(service, status);
  return {std::move(state.jobs),         std::move(state.jobs_max),   std::move(state.oldest),
          std::move(state.workers),      std::move(state.target),     std::move(state.borrowed),
          std::move(state.lent),         std::move(state.short_by),   cells_by_state(survey),
          std::move(events.submissions), std::move(events.refusals),  std::move(events.finished),
          std::move(events.expiries),    std::move(leases.out),       std::move(leases.waiting),
          std::move(leases.granted),     std::move(protection.calls), std::move(protection.waiting),
          std::move(protection.blocked)};
}

}  // namespace celld::metrics
