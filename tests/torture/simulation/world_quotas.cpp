// The quotas of cells and of the customers in them, judged by what clients asked for and by what is
// on disk.
#include <algorithm>
#include <cmath>

#include "tests/torture/simulation/world.hpp"

namespace simulation {
namespace {

/// Longer than the burst of any quota of this simulation takes to come back.
constexpr std::chrono::seconds rates_memory{30};

microseconds interval_of(const RateQuota& quota) {
  return microseconds{static_cast<std::int64_t>(std::ceil(1e6 / quota.per_s))};
}

/// The most events that the quota allows within a time.
std::size_t most_within(const RateQuota& quota, microseconds time) {
  const auto later = std::max(time, microseconds{0}) / interval_of(quota);
  return static_cast<std::size_t>(later) + quota.burst_in_force();
}

std::pair<RateQuota, RateQuota> rates_of(const CellSettings& settings) {
  return {settings.submissions, settings.customer.submissions};
}

/// The number of events from `since` on, of this customer or, if it is null, of all.
template <class Events>
std::size_t count_since(const Events& events, SteadyTime since, const std::string* customer) {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [&](const auto& each) {
        return each.asked >= since && (customer == nullptr || each.customer == *customer);
      }));
}

}  // namespace

CellSettings World::settings_of(const CellRule& rule, const CellKey& cell) const {
  return overridden(rule.settings, override_of(cell).quota);
}

bool World::is_changing(const CellKey& cell) const {
  const auto changes = changes_pending_.find(cell);
  return changes != changes_pending_.end() && changes->second > 0;
}

bool World::has_changed_lately(const CellKey& cell, microseconds within) const {
  const auto changed = changed_at_.find(cell);
  const bool cell_changed = changed != changed_at_.end() && now_steady <= changed->second + within;
  return cell_changed || is_changing(cell) || reload_ || now_steady <= rerouted_at_ + within;
}

std::uint32_t World::weight_of(const Job& job) const {
  const CellRule* rule = rule_of_cell(*routing_, job.cell);
  return rule ? rule->settings.weights.weight_of(job.spec->customer) : 1;
}

// --- Running jobs --------------------------------------------------------------------------------

std::size_t World::live_of_customer(const CellKey& cell, const std::string& customer) const {
  const auto found = live_.find(cell);
  if (found == live_.end()) return 0;
  return static_cast<std::size_t>(
      std::count_if(found->second.begin(), found->second.end(), [&](const Lease& lease) {
        const auto given = handed_out_.find(lease);
        return given != handed_out_.end() && given->second.customer == customer;
      }));
}

/// Whether the job waits for another of its customer.
bool World::is_at_running_quota(const Job& job) const {
  const CellRule* rule = rule_of_cell(*routing_, job.cell);
  if (!rule) return false;
  const auto max = settings_of(*rule, job.cell).customer.running_max;
  return max != 0 && live_of_customer(job.cell, job.spec->customer) >= max;
}

/// Called before the hand-out of the job counts.
void World::check_running_quota(const Job& job) {
  if (!is_at_running_quota(job)) return;
  violated(Check::running_quota, name(job) + " starts although " + job.spec->customer +
                                     " already runs as many jobs in " + to_string(job.cell) +
                                     " as its quota allows");
}

// --- Jobs that are in the queue ------------------------------------------------------------------

/// Jobs that have just moved here need no room.
void World::check_quota_bound(const Job& job) {
  if (has_changed_lately(job.cell, written_within)) return;
  const CellRule* rule = rule_of_cell(*routing_, job.cell);
  if (!rule) return;
  const auto limit = settings_of(*rule, job.cell).customer.jobs_max;
  const CustomerCounts::Key key{job.cell, job.spec->customer};
  const std::size_t jobs = customer_counts_.unfinished(key);
  const std::size_t moved = customer_counts_.moved_here(key, now_steady - written_within);
  if (limit == 0 || jobs <= limit + moved) return;
  violated(Check::quota_bound, name(job) + " is job " + std::to_string(jobs) + " of " +
                                   job.spec->customer + " in " + to_string(job.cell) +
                                   ", which allows " + std::to_string(limit));
}

std::size_t World::customer_jobs_at_most(const CellKey& cell, const std::string& customer,
                                         SteadyTime since) const {
  const auto under_way = std::count_if(pending_.begin(), pending_.end(), [&](const auto& item) {
    return item.second.spec && item.second.spec->customer == customer;
  });
  const CustomerCounts::Key key{cell, customer};
  return customer_counts_.unfinished(key) + customer_counts_.left(key, since - in_transit) +
         static_cast<std::size_t>(under_way);
}

/// The most bytes that this many jobs can take.
std::uint64_t World::bytes_at_most(std::size_t jobs) const {
  return jobs * job_bytes_most_;
}

/// The quotas that may leave no room for the request.
Reasons World::quota_reasons(const CellRule& rule, const CellKey& cell,
                             const PendingRequest& request) const {
  constexpr Reasons rates =
      reason(Refusal::Kind::queue_rate) | reason(Refusal::Kind::customer_rate);
  constexpr Reasons any = rates | reason(Refusal::Kind::cell_bytes_full) |
                          reason(Refusal::Kind::customer_jobs_full) |
                          reason(Refusal::Kind::customer_bytes_full);
  if (without.contains(Fault::quotas)) return 0;
  if (is_changing(cell)) return any;
  const CellSettings settings = settings_of(rule, cell);
  const auto& customer = request.spec->customer;
  const std::size_t of_cell = jobs_at_most(cell, request.asked);
  const std::size_t of_customer = customer_jobs_at_most(cell, customer, request.asked);
  Reasons reasons = 0;
  if (settings.bytes_max != 0 && bytes_at_most(of_cell) > settings.bytes_max) {
    reasons |= reason(Refusal::Kind::cell_bytes_full);
  }
  const auto& quota = settings.customer;
  if (quota.jobs_max != 0 && of_customer >= quota.jobs_max) {
    reasons |= reason(Refusal::Kind::customer_jobs_full);
  }
  if (quota.bytes_max != 0 && bytes_at_most(of_customer + 1) > quota.bytes_max) {
    reasons |= reason(Refusal::Kind::customer_bytes_full);
  }
  if (request.job) return reasons;
  if (has_changed_lately(cell, rates_memory)) return reasons | rates;
  if (may_be_too_fast(settings.submissions, cell, nullptr, request.asked)) {
    reasons |= reason(Refusal::Kind::queue_rate);
  }
  if (may_be_too_fast(quota.submissions, cell, &customer, request.asked)) {
    reasons |= reason(Refusal::Kind::customer_rate);
  }
  return reasons;
}

// --- Rates ---------------------------------------------------------------------------------------

void World::note_submission(const PendingRequest& request) {
  for (const auto& cell : request.cells) {
    auto& asked = submissions_asked_[cell];
    while (!asked.empty() && asked.front().asked < now_steady - rates_memory) asked.pop_front();
    asked.push_back({request.asked, request.spec->customer});
  }
}

/// Whether, from some moment on, as many other submissions came as the quota allows until this one.
bool World::may_be_too_fast(const RateQuota& quota, const CellKey& cell,
                            const std::string* customer, SteadyTime asked) const {
  const auto found = submissions_asked_.find(cell);
  if (quota.per_s <= 0 || found == submissions_asked_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const auto& first) {
    const std::size_t came = count_since(found->second, first.asked, customer);
    return came > most_within(quota, asked - first.asked - in_transit);
  });
}

/// A dispatcher that starts or gets other limits counts only what clients ask for from now on.
void World::watch_rates_afresh(const CellKey& cell) {
  accepted_[cell] = {now_steady, {}};
}

/// Of the cells whose rates a reload has changed.
void World::watch_changed_rates(const Routing& before) {
  for (const auto& cell : cells_at_most(*routing_)) {
    const CellRule* was = rule_of_cell(before, cell);
    const CellRule* is = rule_of_cell(*routing_, cell);
    const bool same =
        was && is && rates_of(settings_of(*was, cell)) == rates_of(settings_of(*is, cell));
    if (!same) watch_rates_afresh(cell);
  }
}

/// What was accepted between two moments is at most what the quotas allow.
void World::note_accepted(const PendingRequest& request, const Job& job) {
  if (has_changed_lately(job.cell, microseconds{0})) return watch_rates_afresh(job.cell);
  Accepted& known = accepted_[job.cell];
  std::deque<Submission>& accepted = known.submissions;
  if (request.asked <= known.since) return;
  accepted.push_back({request.asked, job.spec->customer});
  const CellRule* rule = rule_of_cell(*routing_, job.cell);
  if (!rule) return;
  const CellSettings settings = settings_of(*rule, job.cell);
  const auto check = [&](const RateQuota& quota, const std::string* customer) {
    if (quota.per_s <= 0) return;
    for (const auto& first : accepted) {
      const std::size_t came = count_since(accepted, first.asked, customer);
      if (came <= most_within(quota, now_steady - first.asked)) continue;
      return violated(Check::quota_rate, name(job) + " is accepted in " + to_string(job.cell) +
                                             " sooner than its quota allows");
    }
  };
  check(settings.submissions, nullptr);
  check(settings.customer.submissions, &job.spec->customer);
}

void World::quota_answered(const CellKey& cell, std::uint64_t number, const QuotaOverride& quota) {
  watch_rates_afresh(cell);
  if (change_stands(cell, number) && override_of(cell).quota != quota) {
    violated(Check::override_stored, to_string(cell) + " has a quota that is not on disk");
  }
}

}  // namespace simulation
