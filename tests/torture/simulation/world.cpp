#include "tests/torture/simulation/world.hpp"

#include <algorithm>
#include <array>

namespace simulation {
namespace {

constexpr milliseconds abort_allowance{100};  // Promise P8.
constexpr std::uint64_t orphan_us_max = 40'000;
/// The engine reads the wall clock once a second.
constexpr milliseconds expiry_allowance{1000 + 2 * abort_allowance.count()};
/// Enough to notice a death, replace the actor, and end what it left behind.
constexpr milliseconds felt_within{1000};
/// For some steps of retention, each with a commit.
constexpr milliseconds retention_allowance{1500};
/// Enough for a commit or two and one reading of the wall clock.
constexpr milliseconds idle_max{1200};

std::string to_string(CallOutcome::Kind kind) {
  constexpr std::array names = {"succeeded", "rejected", "retryable", "throttled", "unauthorized",
                                "unable",    "unknown",  "aborted",   "pending"};
  return names.at(static_cast<std::size_t>(kind));
}

}  // namespace

World::World(std::uint64_t seed) : dice(seed) {
  disk->on_commit = [this](const JobPtr& before, const Job& after) { committed(before, after); };
  disk->on_prune = [this](const Job& job) { pruned(job); };
}

void World::note(const std::string& line) {
  const std::string timed =
      std::to_string(now_steady.time_since_epoch().count() / 1000) + " ms  " + line;
  for (const char c : timed) {
    trace_hash = (trace_hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  if (keep_trace) trace.push_back(timed);
}

void World::violated(Check check, const std::string& what) {
  if (only && *only != check) return;
  const std::string broken =
      std::string(promise_of(check)) + " " + std::string(simulation::to_string(check));
  note("VIOLATION of " + broken + ": " + what);
  violations.push_back(broken + ": " + what);
}

// --- What the world knows of the configuration ---------------------------------------------------

/// A cell that is no longer configured keeps its last size.
void World::set_routing(std::shared_ptr<const Routing> routing) {
  if (routing_) {
    for (const auto& [cell, rule] : routing_->rules()) {
      const auto size = rule.settings.pool_size;
      if (!rule.is_template()) last_size_[cell] = {size, size};
    }
    for (const auto& [id, stored] : disk->jobs()) {
      const CellKey& cell = stored.job->cell;
      if (!rule_of_cell(*routing_, cell)) continue;
      const auto size = configured_size(cell);
      size ? void(last_size_[cell] = *size) : void(last_size_.erase(cell));
    }
  }
  routing_ = std::move(routing);
}

std::optional<SizeRange> World::configured_size(const CellKey& cell) const {
  const CellRule* rule = rule_of_cell(*routing_, cell);
  if (!rule) return std::nullopt;
  const auto size = rule->settings.pool_size;
  if (!rule->is_template()) return SizeRange{size, size};
  const auto instance = instance_sizes_.find(cell);
  return instance == instance_sizes_.end() ? std::nullopt : std::optional{instance->second};
}

/// An instance takes the size of its template when it starts and at each reload, not when the
/// template is resized. What is asked meanwhile may come before or after.
void World::note_instance_size(const CellKey& cell, SteadyTime decided_after) {
  const CellRule* rule = rule_of_cell(*routing_, cell);
  if (!rule || !rule->is_template()) return;
  const CellKey key{rule->customer, rule->product};
  instance_sizes_[cell] = sizes_since(key, rule->settings.pool_size, decided_after);
}

/// The sizes that the cell or the template may have had at any moment since then.
SizeRange World::sizes_since(const CellKey& cell, std::uint32_t configured,
                             SteadyTime since) const {
  const auto now = override_of(cell).pool_size.value_or(configured);
  SizeRange sizes{now, now};
  for (const auto& [number, asked] : resizes_) {
    if (asked.cell != cell || (asked.over_at && *asked.over_at < since)) continue;
    for (const auto& size : {asked.before, asked.size}) {
      sizes.least = std::min(sizes.least, size.value_or(configured));
      sizes.most = std::max(sizes.most, size.value_or(configured));
    }
  }
  return sizes;
}

CellOverride World::override_of(const CellKey& cell) const {
  const auto found = disk->content().overrides.find(cell);
  return found == disk->content().overrides.end() ? CellOverride{} : found->second;
}

/// The size that the cell should have, if the world knows it.
std::optional<SizeRange> World::size_of(const CellKey& cell) const {
  if (const auto size = override_of(cell).pool_size) return SizeRange{*size, *size};
  if (rule_of_cell(*routing_, cell)) return configured_size(cell);
  const auto found = last_size_.find(cell);
  return found == last_size_.end() ? std::nullopt : std::optional{found->second};
}

void World::shutdown_asked(milliseconds grace) {
  shutdown_asked_at_ = now_steady;
  note_reasons();
  grace_over_at_ = now_steady + grace;
}

void World::has_shut_down() {
  note("shut down");
  has_shut_down_ = true;
  if (!in_flight_.empty())
    violated(Check::shutdown_leftovers, "a call is in flight after the shutdown");
  for (const auto& [id, stored] : disk->jobs()) {
    const Job& job = *stored.job;
    if (job.state == JobState::running && job.steps[job.step].worker.empty()) {
      violated(Check::shutdown_leftovers,
               format_job_id(id) + " is still running after the shutdown");
    }
  }
}

// --- Reports of the providers --------------------------------------------------------------------

void World::call_started(const StartCall& call, const std::string& service,
                         caf::actor_id provider) {
  const Job& job = *call.job;
  calls += 1;
  note("call " + name(job) + " step " + std::to_string(job.step) + " attempt " +
       std::to_string(current_attempt(job)) + (is_compensating(job) ? " undo" : "") + " lease " +
       to_string(call.lease));
  check_call(job, call.lease, service);
  begun_[job.id] = {call.lease, entity_of(job), job.spec->services[job.step]};
  const SteadyTime deadline = now_steady + call.timeout;
  in_flight_[call.lease] = {call.job, deadline, provider, std::nullopt};
  const auto given = handed_out_.find(call.lease);
  if (given != handed_out_.end()) given->second.deadline_latest = deadline;
}

/// A provider or a worker outside begins this attempt.
void World::check_call(const Job& job, Lease lease, const std::string& service) {
  for (const auto& [other_lease, other] : in_flight_) {
    if (other.job->id == job.id) violated(Check::two_calls, name(job) + " has two calls at once");
    if (entity_of(*other.job) == entity_of(job) && other.job->id != job.id) {
      violated(Check::entity_calls,
               name(job) + " and " + name(*other.job) + " have calls for one entity at once");
    }
  }
  if (const auto stored = disk->jobs().find(job.id); stored != disk->jobs().end()) {
    const Job& on_disk = *stored->second.job;
    if (is_ended(on_disk.state)) {
      violated(Check::needless_call, name(job) + " has a call after its end");
    } else if (is_compensating(job)) {
      check_undo(job, on_disk);
    } else if (is_compensating(on_disk)) {
      violated(Check::needless_call, name(job) + " has a call after it has failed");
    } else if (on_disk.steps[job.step].state == StepState::succeeded) {
      violated(Check::needless_call, name(job) + " repeats a step that has succeeded");
    }
    if (!on_disk.steps[job.step].operation.empty() && job.steps[job.step].operation.empty()) {
      violated(Check::operation_kept, name(job) + " begins an operation again");
    }
  }
  if (last_call_[job.id] >= lease)
    violated(Check::fresh_lease, name(job) + " calls under an old lease");
  last_call_[job.id] = lease;
  check_doubt(job);
  const auto made = made_.find(job.id);
  const bool often = made != made_.end() && made->second.step == attempted_step(job) &&
                     made->second.counted >= job.spec->max_attempts;
  if (often || current_attempt(job) > job.spec->max_attempts) {
    violated(Check::attempts_max, name(job) + " has too many attempts");
  }
  if (service != job.spec->services[job.step]) {
    violated(Check::wrong_service, name(job) + " has a call to " + service);
  }
}

/// A reload that has not been answered may already have brought the undo back.
bool World::may_have_undo(const std::string& service) const {
  if (!reload_) return false;
  const auto found = reload_->services.find(service);
  return found != reload_->services.end() && !found->second.undoes.is_empty();
}

/// An undo comes after the failure, for what was done or may have been, the last step first.
void World::check_undo(const Job& job, const Job& stored) {
  const auto& service = job.spec->services[job.step];
  if (without_undo_.contains(service) && !may_have_undo(service)) {
    violated(Check::needed_undo, name(job) + " has an undo at " + service + ", which has none");
  }
  if (!is_compensating(stored)) {
    violated(Check::undo_early, name(job) + " has an undo before its failure is on disk");
  }
  StepsDone& done = steps_done_[job.id];
  if (done.undo_over.contains(job.step)) {
    violated(Check::undo_once, name(job) + " repeats an undo that is over");
  }
  for (std::size_t i = job.step + 1; i < stored.steps.size(); ++i) {
    if (stored.steps[i].state != StepState::succeeded) continue;
    violated(Check::undo_order, name(job) + " undoes a step before a later one");
  }
  if (!done.succeeded.contains(job.step) && done.perhaps_done[job.step] == 0) {
    violated(Check::undo_needless, name(job) + " undoes a step that did nothing");
  }
}

/// Ignores the engine's own records of the wait, since a provider doesn't see them either.
void World::check_doubt(const Job& job) {
  forget_doubts();
  if (doubts_.contains(entity_of(job))) {
    violated(Check::entity_doubt,
             name(job) + " has a call while an earlier one may still have its effect");
  }
}

bool World::is_over(Doubt& doubt) const {
  doubt.lowest_wall = std::min(doubt.lowest_wall, now_wall);
  return now_steady >= doubt.until || now_wall >= doubt.lowest_wall + settle;
}

void World::forget_doubts() {
  for (auto item = doubts_.begin(); item != doubts_.end();) {
    item = is_over(item->second) ? doubts_.erase(item) : std::next(item);
  }
  for (auto& [id, end] : ended_) {
    if (end.doubt && is_over(*end.doubt)) end.doubt.reset();
  }
}

void World::call_ended(Lease lease, CallAnswer answer) {
  note("call over, lease " + to_string(lease) + ": " + to_string(answer.kind));
  if (in_flight_.erase(lease) > 0) answers_[lease] = answer;
}

void World::provider_ended(caf::actor_id provider) {
  const bool killed = killed_providers_.contains(provider);  // Actor ids never repeat.
  for (auto call = in_flight_.begin(); call != in_flight_.end();) {
    if (call->second.provider != provider) {
      ++call;
    } else if (killed && !gentle && dice.one_in(2)) {
      orphan(call->second);
      ++call;
    } else {
      if (!killed && !dying_)
        violated(Check::provider_stopped, "a provider is stopped while it has calls");
      call = in_flight_.erase(call);
    }
  }
}

void World::orphan(CallInFlight& call) {
  const auto remaining = microseconds{dice.below(orphan_us_max)};
  call.provider = 0;
  call.orphaned_until = std::min(now_steady + remaining, call.deadline + abort_allowance / 2);
}

std::optional<SteadyTime> World::orphaned_until(Lease lease) const {
  const auto call = in_flight_.find(lease);
  if (call == in_flight_.end() || call->second.provider != 0) return std::nullopt;
  return call->second.orphaned_until;
}

// --- Reports of the driver -----------------------------------------------------------------------

void World::disturbed(const CellKey& cell) {
  disturbed_at_[cell] = now_steady;
  idle_since_.erase(cell);
  std::erase_if(leasable_, [&](const auto& item) { return std::get<0>(item.first) == cell; });
}

void World::provider_killed(caf::actor_id provider, const std::string& service) {
  killed_providers_.insert(provider);
  provider_killed_at_[service] = now_steady;
}

/// Whether a fault at that time, if there was one, can have touched this lease and still be felt.
bool World::is_touched(const std::optional<SteadyTime>& fault, Lease lease) const {
  const auto given = handed_out_.find(lease);
  if (given == handed_out_.end()) return true;  // From an earlier daemon.
  return fault && given->second.at <= *fault + touched_within && now_steady <= *fault + felt_within;
}

bool World::is_disturbed(const CellKey& cell, Lease lease) const {
  const auto found = disturbed_at_.find(cell);
  return is_touched(found == disturbed_at_.end() ? std::nullopt : std::optional{found->second},
                    lease);
}

bool World::lost_dispatcher(const CellKey& cell, SteadyTime since) const {
  const auto killed = dispatcher_killed_at_.find(cell);
  return killed != dispatcher_killed_at_.end() && killed->second >= since;
}

/// A job that is gone has no dispatcher.
bool World::lost_dispatcher_of(JobId job, SteadyTime since) const {
  const auto stored = disk->jobs().find(job);
  return stored != disk->jobs().end() && lost_dispatcher(stored->second.job->cell, since);
}

/// Any of the cells that the request, or one of its batch, may have reached.
bool World::lost_dispatcher_of(const PendingRequest& request, SteadyTime since) const {
  const bool of_job = request.job && (lost_dispatcher(request.job->cell, since) ||
                                      lost_dispatcher_of(request.job->id, since));
  return of_job || std::any_of(request.cells.begin(), request.cells.end(),
                               [&](const auto& cell) { return lost_dispatcher(cell, since); });
}

void World::daemon_started(std::shared_ptr<const Routing> routing,
                           const std::set<std::string>& services,
                           const std::set<std::string>& without_undo,
                           const std::set<std::string>& pulled,
                           const std::map<std::string, Protection>& protection, milliseconds keep,
                           std::optional<std::uint64_t> running_max) {
  note("daemon started");
  started_at_ = now_steady;
  services_ = services;
  without_undo_ = without_undo;
  pulled_ = pulled;
  protection_.clear();
  rates_.clear();
  circuit_until_.clear();
  last_end_at_.clear();
  circuits_.clear();
  for (const auto& [name, each] : protection) {
    protect(name, pulled.contains(name) ? Protection{each.limits, std::nullopt} : each);
  }
  keep_ = former_keep_ = keep;
  capacity_lowered_at_.reset();
  const bool is_restart = now_steady > SteadyTime{};
  if (is_restart && running_max && (!running_max_ || *running_max < *running_max_)) {
    capacity_lowered_at_ = now_steady;  // By the file of a reload that did not take effect.
  }
  running_max_ = running_max;
  former_routing_ = nullptr;
  former_running_max_.reset();
  reload_.reset();
  overdue_ = {};
  watch_schedules_afresh();
  set_routing(std::move(routing));
  instance_sizes_.clear();
  resizes_.clear();
  submissions_asked_.clear();
  accepted_.clear();
  for (const auto& [id, call] : std::exchange(begun_, {})) {
    doubts_[call.entity] = {call.service, now_steady + settle, now_wall};
  }
  // The engine knows settle_ms from the configuration alone, so not for a missing service.
  std::erase_if(doubts_, [&](const auto& item) { return !services.contains(item.second.service); });
  keep_leases();
  // Workers outside have kept more leases than may run now: to them, the start lowers the capacity.
  if (running_max_ && live_everywhere() > *running_max_) capacity_lowered_at_ = now_steady;
}

void World::daemon_crashed() {
  note("daemon ended");
  in_flight_.clear();
  ended_.clear();
  unannounced_.clear();
  answers_.clear();
  live_.clear();
  handed_out_.clear();
  changes_pending_.clear();
  changed_at_.clear();
  pending_.clear();
  batch_requests_.clear();
  cancels_asked_.clear();
  reopenings_asked_.clear();
  disturbed_at_.clear();
  dispatcher_killed_at_.clear();
  provider_killed_at_.clear();
  idle_since_.clear();
  lacking_since_.clear();
  leasable_.clear();
  wanted_.clear();
  uses_.clear();
  lists_.clear();
  turns_.forget();
  killed_providers_.clear();
  dying_ = false;
  shutdown_asked_at_.reset();
  has_shut_down_ = false;
  actors.clear();
}

void World::clock_jumped(const std::string& how_far) {
  note("the clock jumps by " + how_far);
  due_order_.clock_jumped();
  jumped_at_ = now_steady;
  after_jump_ = now_steady + written_within;
}

void World::check_deadlines() {
  forget_doubts();
  check_schedules();
  for (const auto& [first, other] : due_order_.overtaken(latest_wall)) {
    violated(Check::line_order, format_job_id(first) + " goes ahead of " + format_job_id(other) +
                                    ", which fell due earlier");
  }
  std::erase_if(in_flight_, [&](const auto& item) {
    return item.second.provider == 0 && item.second.orphaned_until <= now_steady;
  });
  for (const auto& [lease, call] : in_flight_) {
    if (now_steady > call.deadline + abort_allowance) {
      violated(Check::late_call, name(*call.job) + " still has a call after its deadline");
    }
  }
  if (dying_) return;
  for (auto& [lease, call] : in_flight_) check_expiry(call);
  check_outside_times();
  for (const auto& [lease, given] : handed_out_) {
    if (given.holds > 0) continue;
    // Twice the allowance: a dead dispatcher must be replaced before the attempt can be ended.
    if (now_steady > given.deadline_latest + 2 * abort_allowance) {
      violated(Check::late_slot, format_job_id(given.job) + " keeps its slot after its deadline");
    }
  }
}

/// The job is due, its service is configured, and it heads its entity's line.
bool World::is_runnable(const Job& job) const {
  const bool waits = !is_ended(job.state) && job.state != JobState::running;
  if (!waits || job.cancel_requested || job.run_at > now_wall) return false;
  if (const auto expiry = expiry_of(job); expiry && *expiry <= now_wall) return false;
  if (job.next_attempt_at && *job.next_attempt_at > now_wall) return false;
  if (lines_.head(entity_of(job)) != job.id) return false;
  const auto kept = kept_until_.find(entity_of(job));
  if (kept != kept_until_.end() && kept->second > now_wall) return false;
  const std::string& service = job.spec->services[job.step];
  if (is_compensating(job) && without_undo_.contains(service)) return false;
  return services_.contains(service) &&
         cell_for(*routing_, job.spec->customer, job.spec->product) == job.cell;
}

bool World::may_start_one(const CellKey& cell) {
  if (changes_pending_[cell] > 0 || override_of(cell).state == CellState::paused) return false;
  const auto size = size_of(cell);
  if (!size || !shares) return size && live_[cell].size() < size->least;
  return live_[cell].size() < burst_of(cell, size->least) &&
         live_everywhere() < capacity_at_least();
}

std::uint32_t World::burst_of(const CellKey& cell, std::uint32_t size) const {
  const CellRule* rule = rule_of_cell(*routing_, cell);
  return rule ? std::max(size, rule->settings.pool_burst.value_or(size)) : size;
}

/// Without a capacity, the sum of the pool sizes; instances of templates may add to it.
std::uint64_t World::capacity_at_least() const {
  if (running_max_) return *running_max_;
  std::uint64_t sizes = 0;
  for (const auto& [key, rule] : routing_->rules()) {
    if (!rule.is_template()) sizes += size_of(key).value_or(SizeRange{}).least;
  }
  return sizes;
}

std::size_t World::live_everywhere() const {
  std::size_t count = 0;
  for (const auto& [cell, leases] : live_) count += leases.size();
  return count;
}

/// A configured size is never denied: when it is asked for, the jobs of other cells that use it end
/// within one attempt.
void World::check_guarantees() {
  std::set<CellKey> lacking;
  if (shares && pulled_.empty() && !dying_ && !is_shutting_down() && !reload_) {
    for (const auto& [id, stored] : disk->jobs()) {
      const Job& job = *stored.job;
      const CellRule* rule = rule_of_cell(*routing_, job.cell);
      if (!rule || rule->is_template() || !is_runnable(job) || is_at_running_quota(job)) continue;
      if (!may_have_permit(job.spec->services[job.step])) continue;
      if (changes_pending_[job.cell] > 0 || override_of(job.cell).state == CellState::paused) {
        continue;
      }
      const auto size =
          std::min(size_of(job.cell).value_or(SizeRange{}).least, rule->settings.pool_size);
      if (live_[job.cell].size() >= size) continue;
      lacking.insert(job.cell);
      const auto since = lacking_since_.try_emplace(job.cell, now_steady).first->second;
      if (now_steady <= since + attempt_max + idle_max) continue;
      violated(Check::guarantee, name(job) + " waits although " + to_string(job.cell) +
                                     " is guaranteed a slot for it");
    }
  }
  std::erase_if(lacking_since_, [&](const auto& item) { return !lacking.contains(item.first); });
}

void World::check_idle_cells() {
  check_late_removal();
  check_idle_lanes();
  check_guarantees();
  std::set<CellKey> idle;
  if (!dying_ && !is_shutting_down() && !reload_) {
    for (const auto& [id, stored] : disk->jobs()) {
      const Job& job = *stored.job;
      if (is_pulled(job) || !is_runnable(job) || !may_start_one(job.cell)) continue;
      if (is_at_running_quota(job)) continue;
      if (!may_have_permit(job.spec->services[job.step])) continue;
      idle.insert(job.cell);
      const auto since = idle_since_.try_emplace(job.cell, now_steady).first->second;
      if (now_steady <= since + idle_max) continue;
      violated(Check::idle_worker,
               name(job) + " waits although " + to_string(job.cell) + " could start it");
    }
  }
  std::erase_if(idle_since_, [&](const auto& item) { return !idle.contains(item.first); });
}

/// A step of retention that has begun still uses the former time.
void World::retention_changed(milliseconds keep) {
  former_keep_ = shortest_keep();
  keep_ = keep;
  keep_changed_at_ = now_steady;
  overdue_ = {};
}

milliseconds World::shortest_keep() const {
  const bool is_in_force = now_steady > keep_changed_at_ + retention_allowance;
  return is_in_force ? keep_ : std::min(former_keep_, keep_);
}

/// Retention looks for ended jobs at least every tenth of the time that it keeps them, within 0.1 s
/// and a minute.
void World::check_late_removal() {
  if (removable_.empty() || dying_ || removable_.begin()->first + keep_ >= now_wall) {
    overdue_ = {};
    return;
  }
  const JobId id = removable_.begin()->second;
  if (overdue_.first != id) overdue_ = {id, now_steady};
  const auto pause =
      std::clamp<milliseconds>(keep_ / 10, milliseconds{100}, std::chrono::minutes{1});
  if (now_steady > overdue_.second + pause + retention_allowance) {
    violated(Check::late_removal, format_job_id(id) + " is kept too long");
  }
}

void World::check_expiry(CallInFlight& call) {
  const auto expires_at = expiry_of(*call.job);
  if (!expires_at || now_wall < *expires_at) {
    call.expired_since.reset();
  } else if (!call.expired_since) {
    call.expired_since = now_steady;
  } else if (now_steady > *call.expired_since + expiry_allowance) {
    violated(Check::expiry, name(*call.job) + " still has a call after it expired");
  }
}

/// For a message: the time until a waiting job is due, if that is known.
std::string World::when(const Job& job) const {
  const auto at =
      job.state == JobState::scheduled ? job.run_at : job.next_attempt_at.value_or(now_wall);
  return at == now_wall ? "" : ", due in " + std::to_string((at - now_wall).count()) + " ms";
}

void World::check_all_ended() {
  for (const JobId id : accepted_jobs) {
    if (!disk->jobs().contains(id) && !pruned_jobs.contains(id)) {
      violated(Check::job_lost, format_job_id(id) + " is lost");
    }
  }
  for (const auto& [id, stored] : disk->jobs()) {
    if (!is_ended(stored.job->state)) {
      const Job& job = *stored.job;
      violated(Check::unfinished_job,
               name(job) + " of " + job.spec->customer + "/" + job.spec->product + " is still " +
                   std::string(to_string(job.state)) + " in " + to_string(job.cell) +
                   (stored.marks.head ? "" : ", not a head") + (stored.marks.held ? ", held" : "") +
                   when(job));
    }
  }
  check_batches();
  for (const auto& [cell, leases] : live_) {
    if (!leases.empty())
      violated(Check::lease_returned, to_string(cell) + " keeps a lease without a running job");
  }
}

std::string World::problem_in(const std::vector<CellStatus>& cells) const {
  for (const auto& [key, rule] : routing_->rules()) {
    if (std::none_of(cells.begin(), cells.end(),
                     [&key = key](const CellStatus& cell) { return cell.key == key; })) {
      return to_string(key) + " is missing from the list of cells";
    }
  }
  for (const auto& cell : cells) {
    if (cell.is_template) continue;
    const auto& pool = cell.pool;
    for (std::size_t state = 0; state < job_state_count; ++state) {
      const auto jobs = cell.queue.counts.by_state[state];
      if (jobs == 0) continue;
      return to_string(cell.key) + " counts " + std::to_string(static_cast<std::int64_t>(jobs)) +
             " jobs that are " + std::string(to_string(static_cast<JobState>(state)));
    }
    if (pool.busy + pool.retiring > 0) return to_string(cell.key) + " counts busy workers";
    if (pool.borrowed + pool.lent > 0) return to_string(cell.key) + " has loans";
    if (pool.ready != pool.target) {
      return to_string(cell.key) + " has " + std::to_string(pool.ready) + " workers of " +
             std::to_string(pool.target);
    }
    const auto size = size_of(cell.key);
    if (!size) continue;
    const auto wanted = pool.target + (running_max_ ? pool.short_by : 0);
    if (wanted < size->least || wanted > size->most) {
      return to_string(cell.key) + " has the wrong pool size";
    }
  }
  if (!unannounced_.empty())
    return "no event announced the end of " + format_job_id(*unannounced_.begin());
  return {};
}

}  // namespace simulation
