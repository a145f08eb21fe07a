#include "tests/torture/simulation/plan.hpp"

#include <algorithm>

namespace simulation {
namespace {

const std::vector<std::string> customers = {"acme", "bolt", "corp", "dyne", "east"};
const std::vector<std::string> products = {"dns", "mail"};
const std::vector<std::string> services = {"alpha", "beta", "gamma"};
constexpr std::uint64_t entities_max = 4;
constexpr std::uint64_t entities_many = 40;  ///< Enough for more runnable jobs than a window holds.
constexpr std::uint64_t crowd_rarity = 25;
constexpr std::uint64_t outside_rarity = 3;
constexpr std::uint64_t workers_max = 4;  ///< Outside the daemon.
constexpr std::uint64_t batches_rarity = 4;
constexpr std::uint64_t protection_rarity = 3;
constexpr std::uint64_t rates_rarity = 2;  ///< Of runs with protection.
constexpr std::uint64_t compensation_rarity = 3;
constexpr std::uint64_t schedules_rarity = 4;
constexpr std::uint64_t sharing_rarity = 3;
constexpr std::uint64_t quotas_rarity = 3;
constexpr std::uint64_t lulls_rarity = 8;
constexpr double submissions_per_s_max = 20;
constexpr std::uint64_t producers_max = 3;
constexpr std::uint64_t planned_schedules_max = 3;
constexpr std::uint64_t lines_max = 25;

/// Longer than any run, so that an actor that relies on the go-ahead tick stalls.
constexpr milliseconds go_ahead_never = std::chrono::hours{1};

CellSettings draw_settings(Dice& dice) {
  CellSettings settings;
  settings.pool_size = static_cast<std::uint32_t>(1 + dice.below(4));
  settings.timeout = milliseconds{200 + dice.below(2000)};
  settings.timeout_max = dice.one_in(3) ? milliseconds{2500} : settings.timeout_max;
  settings.jobs_max = dice.one_in(3) ? 3 + dice.below(10) : 1000;
  settings.retry = {static_cast<std::uint32_t>(1 + dice.below(4)), milliseconds{100},
                    milliseconds{2000}};
  return settings;
}

/// One seed in three has all faults before Fault::outside; the later ones are drawn one by one.
std::set<Fault> draw_without(Dice& dice) {
  std::set<Fault> without;
  if (dice.one_in(3)) return without;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Fault::outside); ++i) {
    if (dice.one_in(3)) without.insert(static_cast<Fault>(i));
  }
  return without;
}

/// One seed in three has workers outside, and at least one service for them.
void draw_workers(Plan& plan, Dice& dice) {
  if (!dice.one_in(outside_rarity)) plan.without.insert(Fault::outside);
  for (const Fault fault : {Fault::silent_worker, Fault::stale_report}) {
    if (dice.one_in(3)) plan.without.insert(fault);
  }
  for (const auto& name : services) {
    if (dice.one_in(2)) plan.pulled.insert(name);
  }
  plan.pulled.insert(dice.one_of(services));
  const std::uint64_t count = 1 + dice.below(workers_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    WorkerPlan worker{"host-" + std::to_string(i)};
    if (i > 0 && dice.one_in(4)) worker.customer = customers[dice.below(plan.customers)];
    worker.leases_max = dice.one_in(2) ? 1 : 1 + dice.below(4);
    plan.workers.push_back(std::move(worker));
  }
}

/// No two lines of all batches are alike.
ProducerPlan draw_producer(const Plan& plan, std::size_t number, Dice& dice) {
  ProducerPlan producer;
  producer.has_keys = !dice.one_in(4);
  const std::uint64_t count = 1 + dice.below(lines_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    JobRequest line = draw_request(plan, dice, WallTime{});
    const std::string name = std::to_string(number) + "." + std::to_string(i);
    line.expires_at.reset();
    line.spec.parameters = "{\"line\":\"" + name + "\"}";
    line.idempotency.reset();
    if (producer.has_keys) line.idempotency = Idempotency{"line " + name, name};
    producer.lines.push_back(std::move(line));
    if (dice.one_in(15)) producer.broken.insert(i);
  }
  return producer;
}

/// One seed in four has batches.
void draw_producers(Plan& plan, Dice& dice) {
  if (!dice.one_in(batches_rarity)) plan.without.insert(Fault::batches);
  if (dice.one_in(3)) plan.without.insert(Fault::broken_batch);
  const std::uint64_t count = 1 + dice.below(producers_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    plan.producers.push_back(draw_producer(plan, i, dice));
  }
}

milliseconds draw_keep(Dice& dice) {
  return milliseconds{dice.one_in(3) ? 3'600'000 : 500 + dice.below(5000)};
}

/// One seed in three has services with limits and circuits.
void draw_protection(Plan& plan, Dice& dice) {
  if (!dice.one_in(protection_rarity)) plan.without.insert(Fault::protection);
  for (const auto& name : services) {
    Protection protection;
    if (!dice.one_in(3)) {
      protection.limits.concurrency = static_cast<std::uint32_t>(1 + dice.below(3));
    }
    if (dice.one_in(3)) {
      const auto failures = static_cast<std::uint32_t>(1 + dice.below(3));
      const milliseconds open{50 + dice.below(500)};
      const milliseconds window{open.count() % 2 == 0 ? 300 : 30'000};
      protection.circuit = CircuitPolicy{failures, window, open, milliseconds{1000}};
    }
    if (protection.is_any()) plan.protection.emplace(name, protection);
  }
}

/// Half of the runs with protection have services with a rate. Jobs wait for it, and all jobs of a
/// run can still end in time.
void draw_rates(Plan& plan, Dice& dice) {
  if (!dice.one_in(rates_rarity)) return;
  for (const auto& name : services) {
    const auto rate_per_s = 2 + static_cast<double>(dice.below(10));
    const auto burst = static_cast<std::uint32_t>(1 + dice.below(4));
    if (dice.one_in(3)) continue;
    ServiceLimits& limits = plan.protection[name].limits;
    limits.rate_per_s = rate_per_s;
    limits.burst = burst;
  }
}

/// One seed in three has jobs that compensate, and cells that cancel followers.
void draw_compensation(Plan& plan, Dice& dice) {
  if (!dice.one_in(compensation_rarity)) plan.without.insert(Fault::compensation);
  plan.compensates = true;
  for (auto& rule : plan.rules) {
    const bool cancels = dice.one_in(2);
    if (cancels) rule.settings.on_predecessor_failed = OnPredecessorFailed::cancel;
  }
}

void drop_compensation(Plan& plan) {
  plan.compensates = false;
  for (auto& rule : plan.rules) rule.settings.on_predecessor_failed = OnPredecessorFailed::go_on;
}

/// One seed in four has schedules.
void draw_schedules(Plan& plan, Dice& dice) {
  if (!dice.one_in(schedules_rarity)) plan.without.insert(Fault::schedules);
  const std::uint64_t count = 1 + dice.below(planned_schedules_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    SchedulePlan schedule;
    schedule.name = "s" + std::to_string(i);
    schedule.spec.timing.every = milliseconds{1000 + dice.below(5000)};
    schedule.spec.overlap = dice.one_in(2) ? Overlap::skip : Overlap::allow;
    schedule.spec.catch_up = static_cast<CatchUp>(dice.below(3));
    schedule.spec.job = draw_request(plan, dice, WallTime{}).spec;
    schedule.spec.job.parameters = "{\"schedule\":\"" + schedule.name + "\"}";
    schedule.configured = dice.one_in(3);
    plan.schedules.push_back(std::move(schedule));
  }
}

/// One seed in three has cells that borrow; half of these, a capacity.
void draw_sharing(Plan& plan, Dice& dice) {
  if (!dice.one_in(sharing_rarity) || !plan.call_times.empty()) {
    plan.without.insert(Fault::sharing);
  }
  if (plan.without.contains(Fault::sharing)) return;
  for (auto& rule : plan.rules) {
    if (dice.one_in(4)) continue;
    rule.settings.pool_burst = rule.settings.pool_size + static_cast<std::uint32_t>(dice.below(6));
    rule.settings.pool_weight = static_cast<std::uint32_t>(1 + dice.below(3));
  }
  if (dice.one_in(2)) plan.spare_slots = dice.below(4);
}

RateQuota draw_rate(Dice& dice) {
  return {(1 + static_cast<double>(dice.below(100))) * submissions_per_s_max / 100,
          static_cast<std::uint32_t>(1 + dice.below(5))};
}

std::uint64_t draw_bytes(Dice& dice) {
  return 1000 + dice.below(10'000);
}

/// One seed in three has quotas, weights and priorities that count as age. A run that judges turns
/// has weights alone.
void draw_quotas(Plan& plan, Dice& dice, bool excluded) {
  if (!dice.one_in(quotas_rarity)) plan.without.insert(Fault::quotas);
  const bool judges_turns = !plan.call_times.empty();
  if (excluded || (!judges_turns && plan.without.contains(Fault::quotas))) return;
  for (auto& rule : plan.rules) {
    CellSettings& settings = rule.settings;
    CustomerWeights::Named weights;
    for (const auto& name : customers) {
      if (dice.one_in(2)) weights[name] = static_cast<std::uint32_t>(1 + dice.below(4));
    }
    settings.weights = CustomerWeights{std::move(weights)};
    if (judges_turns) continue;
    if (dice.one_in(2)) settings.priority_step = milliseconds{1 + dice.below(2000)};
    if (dice.one_in(4)) settings.bytes_max = draw_bytes(dice);
    if (dice.one_in(4)) settings.submissions = draw_rate(dice);
    if (dice.one_in(3)) settings.customer.jobs_max = 1 + dice.below(8);
    if (dice.one_in(4)) settings.customer.bytes_max = draw_bytes(dice);
    if (dice.one_in(2)) {
      settings.customer.running_max = static_cast<std::uint32_t>(1 + dice.below(3));
    }
    if (dice.one_in(4)) settings.customer.submissions = draw_rate(dice);
  }
}

/// No capacity unless the plan has one.
std::optional<std::uint64_t> capacity_for(const Plan& plan, const std::vector<CellRule>& rules) {
  if (!plan.spare_slots) return std::nullopt;
  std::uint64_t sizes = *plan.spare_slots;
  for (const auto& rule : rules) sizes += rule.is_template() ? 0 : rule.settings.pool_size;
  return std::max<std::uint64_t>(sizes, 1);
}

/// Half of the runs have small batches, each size in half of those.
OperationSizes draw_sizes(Dice& dice) {
  OperationSizes sizes;
  if (dice.one_in(2)) return sizes;
  const auto make_small = [&](std::size_t& size) {
    if (dice.one_in(2)) size = 1 + dice.below(5);
  };
  make_small(sizes.store.backlogs_max);
  make_small(sizes.store.moved_jobs_max);
  make_small(sizes.store.due_jobs_max);
  sizes.store.held_jobs_max = sizes.store.due_jobs_max;
  make_small(sizes.commits.operations_max);
  make_small(sizes.pruned_jobs_max);
  make_small(sizes.listed_cells_max);
  if (dice.one_in(2)) sizes.commits.claim_delay = microseconds{1 + dice.below(20'000)};
  return sizes;
}

/// Customers whose calls take different times queue many jobs at once; nothing fails.
void make_crowd(Plan& plan, Dice& dice) {
  for (std::size_t i = 0; i < fault_count; ++i) plan.without.insert(static_cast<Fault>(i));
  plan.without.erase(Fault::store_delay);
  plan.without.erase(Fault::starvation);
  plan.jobs = 60 + dice.below(60);
  plan.submit_rarity = 1;
  plan.customers = 2 + dice.below(2);
  plan.entities = 1000;
  CellSettings settings;
  settings.pool_size = static_cast<std::uint32_t>(1 + dice.below(2));
  plan.rules = {{"*", "*", false, false, settings}};
  plan.window = {};
  plan.window_bytes_max = EngineOptions{}.window_bytes_max;
  plan.settle = milliseconds{0};
  const std::uint64_t slow = dice.below(plan.customers);
  for (std::uint64_t i = 0; i < plan.customers; ++i) {
    plan.call_times[customers[i]] = milliseconds{(50 + dice.below(100)) * (i == slow ? 6 : 1)};
  }
}

/// One run in eight has lulls, and queues that the rush after a lull can fill.
void draw_pace(Plan& plan, Dice& dice, const Caps& caps) {
  if (!dice.one_in(lulls_rarity) || !plan.call_times.empty()) return;
  plan.rush = std::min(10 + dice.below(20), caps.jobs_max);
  for (auto& rule : plan.rules) {
    if (dice.one_in(2)) rule.settings.jobs_max = 3 + dice.below(6);
  }
}

/// One run in four has desks that do little at a time, each size in half of those.
void make_desks_small(OperationSizes& sizes, Dice& dice) {
  if (!dice.one_in(4)) return;
  const auto make_small = [&](std::size_t& size) {
    if (dice.one_in(2)) size = 1 + dice.below(3);
  };
  make_small(sizes.desks.offered_slots_max);
  make_small(sizes.desks.leased_bytes_max);
  make_small(sizes.desks.listed_bytes_max);
  make_small(sizes.desks.permits_max);
  make_small(sizes.batches.unanswered_max);
  make_small(sizes.batches.lines_per_turn);
  make_small(sizes.batches.paced_lines);
  make_small(sizes.batches.tally_lines);
  make_small(sizes.firings_max);
  make_small(sizes.schedules_loaded_max);
}

void cut(std::vector<CellRule>& rules, std::uint64_t cells_max) {
  if (rules.size() > cells_max)
    rules.erase(rules.begin() + static_cast<long>(cells_max), rules.end());
}

}  // namespace

Plan draw_plan(Dice& dice, Dice& outside, Dice& batches, Dice& protection, Dice& compensation,
               Dice& schedules, Dice& sharing, Dice& quotas, Dice& desks, Dice& rates, Dice& pace,
               const Caps& caps) {
  Plan plan;
  plan.without = draw_without(dice);
  plan.jobs = 10 + dice.below(50);
  plan.submit_rarity = dice.one_in(3) ? 1 : 1 + dice.below(40);
  plan.customers = 1 + dice.below(customers.size());
  plan.entities = dice.one_in(4) ? entities_many : 1 + dice.below(entities_max);
  plan.fault_events = 1000 + dice.below(4000);
  plan.fault_rarity = 20 + dice.below(200);
  plan.commit_delay_us = dice.one_in(4) ? 0 : 1 + dice.below(30'000);
  plan.rules = {{"*", "*", false, false, draw_settings(dice)},
                {"acme", "dns", false, false, draw_settings(dice)},
                {"*", "mail", true, false, draw_settings(dice)}};
  plan.window = {1 + dice.below(4), 1 + dice.below(8), dice.one_in(2) ? 4U << 20 : 2000U};
  if (plan.window.bytes_max == 2000) plan.window_bytes_max = 4000;  // A few jobs of all cells.
  plan.go_ahead = dice.one_in(2) ? go_ahead_never : milliseconds{5000};
  plan.settle = milliseconds{dice.one_in(2) ? 0 : dice.below(1500)};
  plan.keep = draw_keep(dice);
  if (dice.one_in(crowd_rarity)) make_crowd(plan, dice);
  plan.sizes = draw_sizes(dice);
  if (dice.one_in(4)) plan.instances_max = static_cast<std::uint32_t>(1 + dice.below(3));
  draw_compensation(plan, compensation);
  plan.without.insert(caps.without.begin(), caps.without.end());
  if (plan.without.contains(Fault::compensation)) drop_compensation(plan);
  draw_workers(plan, outside);
  draw_producers(plan, batches);
  draw_protection(plan, protection);
  draw_rates(plan, rates);
  draw_schedules(plan, schedules);
  draw_sharing(plan, sharing);
  draw_quotas(plan, quotas, caps.without.contains(Fault::quotas));
  make_desks_small(plan.sizes, desks);
  draw_pace(plan, pace, caps);

  if (plan.without.contains(Fault::outside)) plan.pulled.clear();
  if (plan.without.contains(Fault::protection)) plan.protection.clear();
  if (plan.without.contains(Fault::batches)) plan.producers.clear();
  if (plan.without.contains(Fault::schedules) || !plan.call_times.empty()) plan.schedules.clear();
  if (plan.without.contains(Fault::store_delay)) plan.commit_delay_us = 0;
  plan.jobs = std::min(plan.jobs, caps.jobs_max);
  plan.fault_events = std::min(plan.fault_events, caps.fault_events_max);
  plan.cells_max = caps.cells_max;
  cut(plan.rules, plan.cells_max);
  return plan;
}

/// Every customer may have its share of the window, but no less than four jobs. The last customer
/// to come may be one too many, and an answer of the store may bring one share more.
std::size_t window_max(const DispatchQueue::Limits& limits) {
  return (limits.customers_max + 2) * std::max<std::size_t>(limits.jobs_max, 4);
}

Configuration full_configuration(const Plan& plan) {
  return {plan.rules, {services.begin(), services.end()}, plan.pulled, {}, plan.protection,
          plan.keep,  capacity_for(plan, plan.rules)};
}

Configuration draw_configuration(const Plan& plan, Dice& dice) {
  Configuration other;
  for (const auto& rule : plan.rules) {
    if (!dice.one_in(3)) other.rules.push_back(rule);
  }
  if (dice.one_in(2)) other.rules.push_back({"acme", "*", false, false, draw_settings(dice)});
  if (dice.one_in(3)) other.rules.push_back({"bolt", "dns", false, false, draw_settings(dice)});
  if (dice.one_in(3)) other.rules.push_back({"*", "dns", true, false, draw_settings(dice)});
  cut(other.rules, plan.cells_max);
  other.running_max = capacity_for(plan, other.rules);
  for (const auto& name : services) {
    if (!dice.one_in(6)) other.services.insert(name);
    if (dice.one_in(6)) other.without_undo.insert(name);
  }
  other.keep = dice.one_in(2) ? plan.keep : draw_keep(dice);
  for (const auto& [name, protection] : plan.protection) {
    if (!dice.one_in(4)) other.protection.emplace(name, protection);
  }
  if (plan.pulled.empty()) return other;
  for (const auto& name : other.services) {
    if (plan.pulled.contains(name) != dice.one_in(4)) other.pulled.insert(name);
  }
  return other;
}

const std::vector<CellKey>& overridable_cells() {
  static const std::vector<CellKey> cells = {
      {"acme", "dns"}, {"*", "*"}, {"acme", "*"}, {"acme", "mail"}};
  return cells;
}

const CellKey& draw_cell(Dice& dice) {
  return dice.one_of(overridable_cells());
}

const CellKey& draw_resizable(Dice& dice) {
  static const std::vector<CellKey> templates = {{"*", "mail"}, {"*", "dns"}};
  return dice.one_in(4) ? dice.one_of(templates) : draw_cell(dice);
}

QuotaOverride draw_quota_override(Dice& dice) {
  QuotaOverride quota;
  const auto maybe = [&](QuotaLimit limit, double value) {
    if (dice.one_in(3)) quota[limit] = dice.one_in(4) ? 0 : value;
  };
  if (dice.one_in(4)) return quota;
  maybe(QuotaLimit::queue_bytes, static_cast<double>(draw_bytes(dice)));
  maybe(QuotaLimit::queue_rate, draw_rate(dice).per_s);
  maybe(QuotaLimit::customer_jobs, static_cast<double>(1 + dice.below(8)));
  maybe(QuotaLimit::customer_bytes, static_cast<double>(draw_bytes(dice)));
  maybe(QuotaLimit::customer_running, static_cast<double>(1 + dice.below(3)));
  maybe(QuotaLimit::customer_rate, draw_rate(dice).per_s);
  return quota;
}

JobRequest draw_request(const Plan& plan, Dice& dice, WallTime now) {
  JobRequest request;
  JobSpec& spec = request.spec;
  spec.customer = customers[dice.below(plan.customers)];
  spec.product = dice.one_of(products);
  spec.action = "create";
  spec.entity = {"zone", "", std::to_string(dice.below(plan.entities))};
  const std::size_t first = dice.below(services.size());
  const std::size_t count = 1 + dice.below(services.size());
  for (std::size_t i = 0; i < count; ++i) {
    spec.services.push_back(services[(first + i) % services.size()]);
  }
  spec.priority = static_cast<int>(1 + dice.below(9));
  // Without a draw, so that seeds keep their course.
  const bool to_compensate = (static_cast<std::size_t>(spec.priority) + count) % 2 == 0;
  if (plan.compensates && to_compensate) spec.on_failure = OnFailure::compensate;
  if (!plan.call_times.empty()) {
    spec.services.resize(1);
    return request;
  }
  if (dice.one_in(10)) spec.timeout = milliseconds{100 + dice.below(4000)};
  if (dice.one_in(4)) request.delay = milliseconds{dice.below(5000)};
  if (dice.one_in(6)) request.expires_at = now + milliseconds{dice.below(8000)};
  if (dice.one_in(4)) {
    const bool changed = dice.one_in(4);
    request.idempotency = Idempotency{"key " + std::to_string(dice.below(20)),
                                      spec.product + (changed ? " changed" : "")};
  }
  return request;
}

}  // namespace simulation
