#include "tests/torture/stores/generator.hpp"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

namespace stores {
namespace {

using celld::store::MemoryJobs;
using celld::store::StoreContent;

constexpr std::size_t versions_kept_max = 200;

std::vector<std::string> numbered(const char* prefix, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(prefix + std::to_string(i));
  return names;
}

Names draw_names(Dice& dice, bool both_kinds) {
  Names names;
  // Few names make long lines, many make long pages.
  names.customers = numbered("c", dice.one_in(3) ? 40 : 1 + dice.below(3));
  const std::size_t kinds = both_kinds ? 2 : 1;
  names.products = numbered("p", kinds + dice.below(4));
  names.entity_types = numbered("type ", 1 + dice.below(3));
  names.entities = numbered("entity ", dice.one_in(2) ? 1 : 1 + dice.below(20));
  names.entities.emplace_back("odd \"\xC3\xA9\t\\");
  names.cells = {{"*", "*"}, {"c0", "*"}, {"*", "p0"}, {"c0", "p0"}, {"c1", "*"}};
  names.cells.resize(kinds + dice.below(names.cells.size() + 1 - kinds));
  return names;
}

}  // namespace

Generator::Generator(Dice& dice, bool both_kinds)
    : dice_(dice), both_kinds_(both_kinds), names_(draw_names(dice, both_kinds)) {}

void Generator::begin_life(const StoreContent& content) {
  model_ = MemoryJobs{content};
  content_ = content;
  operations_ = 0;
  claims_.clear();
  last_claim_ = 0;
}

Operation Generator::start_epoch() {
  StartEpoch request{WallTime{milliseconds{dice_.below(30'000)}}};
  if (!both_kinds_ && dice_.one_in(2)) request.kept.emplace(some_batch(), some_in_memory());
  return operation(std::move(request));
}

Operation Generator::next() {
  // Jobs of one millisecond have consecutive ids.
  if (dice_.one_in(2)) now_ms_ += static_cast<std::int64_t>(dice_.below(120));
  if (last_claim_ != 0 && dice_.one_in(3)) return operation(show(std::exchange(last_claim_, 0)));
  if (claimed_key_ && dice_.one_in(2)) return operation(contend(*std::exchange(claimed_key_, {})));
  switch (dice_.below(35)) {
    case 0:
      return operation(LoadCells{});
    case 1:
      return operation(list_backlogs());
    case 2:
    case 3:
      return operation(move());
    case 4:
      return operation(load_cell());
    case 5:
      return operation(FindKeyHolder{dice_.one_of(names_.customers), {some_key(), "one"}});
    case 6:
    case 7:
      return operation(cancel());
    case 8:
    case 9:
      return operation(reopen());
    case 10:
    case 11:
      return operation(dice_.one_in(2) ? hold() : change_lane());
    case 12:
    case 13:
      return operation(fetch());
    case 14:
    case 15:
    case 16:
      return operation(advance());
    case 17:
    case 18:
      return operation(prune());
    case 19:
      return operation(dice_.one_in(2) ? set_override() : change_schedule());
    case 20:
      if (dice_.one_in(2)) return flush();
      return dice_.one_in(4) && !both_kinds_ ? start_epoch() : operation(release_holds());
    case 21:
    case 22:
    case 23:
      return operation(claim());
    case 24:
    case 25:
    case 26:
    case 27:
      return operation(record());
    case 28:
      return operation(dice_.one_in(2) ? open_batch() : close_batch());
    case 29:
      return operation(dice_.one_in(3) ? mark_cancelled() : close_batch());
    case 30:
      // A store of both kinds notes its own.
      if (both_kinds_) return operation(insert());
      return operation(NoteInMemory{some_batch(), some_in_memory()});
    default:
      return operation(insert());
  }
}

Look Generator::look() {
  switch (dice_.below(8)) {
    case 6:
      return FindBatch{some_batch()};
    case 7: {
      ListBatches list;
      if (dice_.one_in(2)) list.owner = some_owner();
      list.only_cancelled = dice_.one_in(3);
      if (dice_.one_in(2)) list.before = some_batch();
      list.limit = some_limit();
      return list;
    }
    case 0:
      return FindOldestQueued{{some_cell(), some_cell()}};
    case 1:
      return CountNeeds{dice_.one_in(2) ? std::set<std::string>{"dns", "billing", "mail"}
                                        : std::set<std::string>{"billing"},
                        {{"dns", ActionSet::all()}, {"mail", some_actions()}}};
    case 2:
    case 3:
      return list();
    default:
      if (ids_.empty() || dice_.one_in(2)) return FindJob{watched_};
      return FindJob{dice_.one_of(ids_)};
  }
}

/// Applies the request to the model.
Operation Generator::operation(Request request) {
  ++operations_;
  Operation made;
  if (both_kinds_) made.scope = scope_of(request);
  if (const auto* claim = std::get_if<ClaimJob>(&request)) {
    last_claim_ = watched_ = claim->job->id;
    if (made.scope == Scope::disk) claims_[last_claim_] = operations_;
  }
  const auto* insert = std::get_if<InsertJob>(&request);
  if (insert && insert->idempotency && insert->job->durability == Durability::memory) {
    claimed_key_ = FindKeyHolder{insert->job->spec->customer, *insert->idempotency};
  }
  made.expected = stores::apply(model_, request);
  const bool changes = !model_.commit_to(content_).empty();
  const bool is_write =
      changes || std::holds_alternative<StartEpoch>(request) ||
      std::holds_alternative<SetCellOverride>(request) ||
      std::holds_alternative<SaveSchedule>(request) ||
      std::holds_alternative<RemoveSchedule>(request) ||
      std::holds_alternative<OpenBatch>(request) || std::holds_alternative<CloseBatch>(request) ||
      std::holds_alternative<MarkCancelled>(request) ||
      std::holds_alternative<NoteInMemory>(request) || std::holds_alternative<FlushStore>(request);
  const bool is_in_memory =
      made.scope == Scope::memory ||
      (insert && insert->job->durability == Durability::memory && !insert->firing);
  if (!is_in_memory) made.durable = is_write ? operations_ : revealed(made.expected);
  made.request = std::move(request);
  return made;
}

Scope Generator::scope_of(const Request& request) const {
  const auto of_kind = [](Durability kind) {
    return kind == Durability::memory ? Scope::memory : Scope::disk;
  };
  const auto of_request = [&](const auto& each) {
    using T = std::remove_cvref_t<decltype(each)>;
    if constexpr (std::is_same_v<T, InsertJob>) {
      const bool fires_in_memory = each.firing && each.job->durability == Durability::memory;
      if (each.idempotency || fires_in_memory) return Scope::asks_first;
    }
    if constexpr (std::is_same_v<T, FindKeyHolder>) {
      return Scope::asks_first;
    } else if constexpr (std::is_same_v<T, ListBacklogs>) {
      return each.durability == Durability::disk ? Scope::disk : Scope::both;
    } else if constexpr (std::is_same_v<T, FlushStore>) {
      return of_kind(each.durability.value_or(Durability::disk));
    } else if constexpr (requires { each.durability; }) {
      return of_kind(each.durability);
    } else if constexpr (requires { each.job->durability; }) {
      return of_kind(each.job->durability);
    } else if constexpr (std::is_same_v<T, StartEpoch> || std::is_same_v<T, LoadCells> ||
                         std::is_same_v<T, PruneEnded> || std::is_same_v<T, CloseBatch>) {
      return Scope::both;
    } else if constexpr (std::is_same_v<T, CancelWaiting> || std::is_same_v<T, ReopenEnded> ||
                         std::is_same_v<T, HoldJob> || std::is_same_v<T, ChangeLane>) {
      const auto job = model_.find(each.id);
      return of_kind(job ? job->durability : Durability::disk);
    } else {
      return Scope::disk;
    }
  };
  return std::visit(of_request, request);
}

/// An answer for a client may show a claim only once the claim is on disk.
std::size_t Generator::revealed(const Answer& answer) const {
  JobPtr shown;
  if (const auto* inserted = std::get_if<JobInserted>(&answer)) shown = inserted->holder.job;
  if (const auto* holder = std::get_if<KeyHolder>(&answer)) shown = holder->job;
  if (const auto* cancelled = std::get_if<WaitingCancelled>(&answer)) shown = cancelled->before;
  if (const auto* reopened = std::get_if<EndedReopened>(&answer)) shown = reopened->before;
  const auto claim = shown ? claims_.find(shown->id) : claims_.end();
  return claim == claims_.end() ? 0 : claim->second;
}

// --- Operations ------------------------------------------------------------------------------

std::shared_ptr<JobSpec> Generator::some_spec() {
  const std::vector<std::vector<std::string>> services{
      {"dns"}, {"billing"}, {"dns", "billing"}, {"mail", "dns", "billing"}};
  auto spec = std::make_shared<JobSpec>();
  spec->customer = dice_.one_of(names_.customers);
  spec->product = dice_.one_of(names_.products);
  spec->action = dice_.one_in(2) ? "create" : "remove";
  spec->entity = {dice_.one_of(names_.entity_types), dice_.one_in(4) ? "sub" : "",
                  dice_.one_of(names_.entities)};
  spec->services = dice_.one_of(services);
  if (dice_.one_in(3)) spec->parameters = R"({"a": [1.50, 1e400, "é\n"], "b": {}})";
  if (dice_.one_in(20)) spec->parameters = R"({"x":")" + std::string(20'000, 'x') + R"("})";
  if (dice_.one_in(2)) spec->labels["ticket"] = "T-" + std::to_string(dice_.below(4));
  if (dice_.one_in(4)) spec->labels["te\"am"] = "\"x\",";
  if (dice_.one_in(5))
    spec->traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  spec->priority = 1 + static_cast<int>(dice_.below(9));
  spec->timeout = milliseconds{1 + dice_.below(100'000)};
  spec->max_attempts = 1 + static_cast<std::uint32_t>(dice_.below(9));
  if (dice_.one_in(2)) spec->on_failure = OnFailure::compensate;
  return spec;
}

Request Generator::insert() {
  InsertJob request;
  if (dice_.one_in(8)) {
    request.firing = some_advance();
  } else if (dice_.one_in(3)) {
    request.idempotency = some_idempotency(some_key());
  }
  return insert(some_spec(), std::move(request));
}

/// Completes the request.
Request Generator::insert(std::shared_ptr<const JobSpec> spec, InsertJob request) {
  auto job = std::make_shared<Job>();
  job->spec = std::move(spec);
  job->durability = kind_of(*job->spec);
  const bool fires_in_memory = request.firing && job->durability == Durability::memory;
  // Others may overtake the request, and must not decide whether it is refused.
  const bool asks_first = both_kinds_ && (request.idempotency || fires_in_memory);
  job->id = id_source_.next(now());
  if (!asks_first && dice_.one_in(40)) {
    const JobPtr other = some_job();
    if (other && other->durability == job->durability) job->id = other->id;
  }
  job->cell = some_cell(job->durability);
  job->created_at = time_of(job->id);
  job->run_at = job->created_at;
  job->steps.resize(job->spec->services.size());
  job->lane = some_lane();
  if (dice_.one_in(4)) {
    job->state = JobState::scheduled;
    job->run_at = soon();
  } else {
    job->place = job->id;
  }
  if (dice_.one_in(5)) job->expires_at = soon();
  if (dice_.one_in(2)) job->batch = some_batch_for_job();
  ids_.push_back(job->id);
  request.job = std::move(job);
  request.bytes_max = std::uint64_t{1} << 40;
  if (!asks_first && dice_.one_in(3)) request.room = some_room();
  return request;
}

/// Asks for a key while an earlier request may wait for the answer who holds it.
Request Generator::contend(FindKeyHolder claimed) {
  if (dice_.one_in(3)) return claimed;
  auto spec = some_spec();
  spec->customer = claimed.customer;
  InsertJob request;
  request.idempotency = some_idempotency(claimed.idempotency.key);
  return insert(std::move(spec), std::move(request));
}

/// A batch of jobs in memory gets no job once it is closed.
BatchId Generator::some_batch_for_job() {
  if (!both_kinds_) return some_batch();
  std::vector<BatchId> open;
  for (const auto& [id, batch] : content_.batches) {
    if (batch.is_open) open.push_back(id);
  }
  return open.empty() ? 0 : dice_.one_of(open);
}

Request Generator::claim() {
  JobPtr job = dice_.one_in(8) ? some_job() : some_runnable_job();
  if (!job || job->place == 0 || job->step >= job->steps.size()) return FlushStore{};
  auto next = std::make_shared<Job>(*job);
  next->state = JobState::running;
  next->lease = {content_.epoch, ++leases_};
  next->next_attempt_at.reset();
  next->steps[next->step].state = StepState::running;
  if (dice_.one_in(3)) next->steps[next->step].worker = "wo\"rker";
  if (!next->started_at) next->started_at = now();
  return ClaimJob{std::move(next)};
}

Request Generator::record() {
  const JobPtr stored = dice_.one_in(4) ? some_job() : some_running_job();
  if (!stored) return FlushStore{};
  const JobPtr stale = dice_.one_in(8) ? some_stale_version() : nullptr;
  auto next = std::make_shared<const Job>(next_version(stale ? stale : stored));
  const JobPtr current = stale ? model_.find(next->id) : stored;
  Lease expected = current ? current->lease : next->lease;
  if (dice_.one_in(10)) ++expected.counter;
  if (versions_.size() < versions_kept_max) versions_.push_back(next);
  return RecordJob{expected, std::move(next)};
}

Job Generator::next_version(const JobPtr& job) {
  Job next = *job;
  next.next_attempt_at.reset();
  next.settle_until.reset();
  next.finished_at.reset();
  const auto end = [&](JobState state) {
    next.state = state;
    next.finished_at = around_now();
    if (dice_.one_in(4)) {
      next.settle_until = soon();
    } else {
      next.place = 0;
    }
  };
  const auto compensate = [&] {
    next.state = JobState::compensating;
    if (!next.error) next.error = JobError{"timeout", "no \"answer\"\n", "dns"};
    if (dice_.one_in(2)) next.next_attempt_at = soon();
    auto& step = next.steps[std::min(next.step, next.steps.size() - 1)];
    step.in_doubt = dice_.one_in(2);
    ++step.undo_attempts;
  };
  if (dice_.one_in(3))
    next.messages.push_back({soon(), Severity::warning, "dns", "odd: \xC3\xA9\t\""});
  if (dice_.one_in(3)) {
    auto& step = next.steps[std::min(next.step, next.steps.size() - 1)];
    step.worker.clear();
    step.progress = 0.25;
    step.report = StepReport{job->lease, dice_.one_in(2)};
  }
  if (dice_.one_in(5)) next.steps[std::min(next.step, next.steps.size() - 1)].operation = "{\"a\"}";
  if (dice_.one_in(4)) next.properties["zone"] = R"({"id": 7, "x": [1.50, 1e400]})";
  if (is_compensating(*job)) {
    job->place != 0 && dice_.one_in(2) ? compensate() : end(JobState::failed);
    return next;
  }
  next.error.reset();  // A stale version may have ended.
  // A job without a place has never been due: it can only end.
  switch (job->place == 0 ? 4 + dice_.below(4) : dice_.below(8)) {
    case 0:
    case 1:
      next.state = JobState::retrying;
      next.next_attempt_at = soon();
      ++next.interruptions;
      break;
    case 2:
      next.state = JobState::queued;
      if (next.spec->on_failure == OnFailure::compensate) compensate();
      break;
    case 3:
      next.state = JobState::queued;
      if (next.step + 1 < next.steps.size()) next.steps[next.step++].state = StepState::succeeded;
      next.lane = some_lane();
      break;
    case 4:
      end(JobState::failed);
      next.error = JobError{"timeout", "no \"answer\"\n", "dns"};
      break;
    case 5:
      next.cancel_requested = true;
      end(JobState::cancelled);
      break;
    default:
      end(JobState::succeeded);
  }
  return next;
}

Request Generator::cancel() {
  // A follower of a failed job passes its mark on.
  std::vector<JobPtr> followers;
  for (const auto& [id, stored] : content_.jobs) {
    if (stored.job->failed_ahead != 0 && !is_ended(stored.job->state)) {
      followers.push_back(stored.job);
    }
  }
  const bool of_follower = !followers.empty() && dice_.one_in(2);
  const JobPtr job = of_follower ? dice_.one_of(followers) : some_job();
  const CellKey& cell = !job || dice_.one_in(5) ? some_cell() : job->cell;
  return CancelWaiting{job ? job->id : 7, cell, now()};
}

Request Generator::reopen() {
  JobPtr job = some_job();
  for (int tries = 0; tries < 20 && job && !is_ended(job->state); ++tries) job = some_job();
  const CellKey& cell = !job || dice_.one_in(3) ? some_cell_like(job) : job->cell;
  ReopenEnded request{job ? job->id : 7, cell, id_source_.next(now()), now()};
  if (dice_.one_in(3)) request.room = some_room();
  return request;
}

CustomerRoom Generator::some_room() {
  CustomerRoom room;
  if (dice_.one_in(2)) room.jobs_max = 1 + dice_.below(6);
  if (dice_.one_in(2)) room.bytes_max = 600 + dice_.below(4000);
  return room;
}

/// A request that changes nothing, and whose answer shows the claimed job.
Request Generator::show(JobId claimed) {
  if (dice_.one_in(2)) return CancelWaiting{claimed, some_cell(), now()};
  const JobPtr job = model_.find(claimed);
  return ReopenEnded{claimed, some_cell_like(job), id_source_.next(now()), now()};
}

Request Generator::hold() {
  const JobPtr job = dice_.one_in(5) ? some_job() : some_runnable_job();
  return HoldJob{job ? job->id : 7};
}

Request Generator::release_holds() {
  const JobPtr job = dice_.one_in(3) ? some_job() : nullptr;
  const CellKey& cell = some_cell();
  return ReleaseHolds{cell, job ? job->id : 0, some_limit(), kind_of(cell)};
}

Request Generator::change_lane() {
  const JobPtr job = dice_.one_in(5) ? some_job() : some_runnable_job();
  return ChangeLane{job ? job->id : 7, some_lane()};
}

Request Generator::move() {
  const auto backlogs = model_.apply(ListBacklogs{{}, {}, {}, 1000}).backlogs;
  if (backlogs.empty()) return LoadCells{};
  const auto& from = dice_.one_of(backlogs);
  const auto kind = kind_of(from.cell);
  return MoveJobs{from, some_cell(kind), some_limit(), dice_.one_in(2), kind};
}

Request Generator::load_cell() {
  const CellKey& cell = some_cell();
  return LoadCell{cell, kind_of(cell)};
}

Request Generator::fetch() {
  FetchRunnable request{some_cell(), "", dice_.one_in(2), some_limit(), some_limit(), 1 << 20};
  if (dice_.one_in(2)) request.customer = dice_.one_of(names_.customers);
  if (dice_.one_in(3)) request.bytes_max = dice_.below(6000);
  request.lane = some_lane();
  request.durability = kind_of(request.cell);
  if (dice_.one_in(3)) request.priority_step = milliseconds{1 + dice_.below(300)};
  for (const auto& customer :
       std::set<std::string>(names_.customers.begin(), names_.customers.end())) {
    if (dice_.one_in(6)) request.except.push_back(customer);
  }
  return request;
}

Request Generator::advance() {
  const std::size_t limit = some_limit();
  const CellKey& cell = some_cell();
  return AdvanceDue{cell, around_now(), id_source_.next(now(), limit), limit, kind_of(cell)};
}

Request Generator::prune() {
  const microseconds time_max = dice_.one_in(4) ? microseconds{0} : std::chrono::hours{1};
  PruneEnded request{around_now() - milliseconds{dice_.below(1500)}, some_limit(), time_max};
  // Each of two stores removes as many as the request allows.
  if (both_kinds_) request = {request.before, 100'000, std::chrono::hours{1}};
  return request;
}

/// Opens a batch that exists, or one with a new id: the engine uses no id again.
Request Generator::open_batch() {
  if (dice_.one_in(4) && !content_.batches.empty()) {
    return OpenBatch{content_.batches.begin()->first, some_owner(), now()};
  }
  batches_.push_back(id_source_.next(now()));
  return OpenBatch{batches_.back(), some_owner(), now()};
}

Request Generator::close_batch() {
  return CloseBatch{some_batch(), around_now()};
}

Request Generator::mark_cancelled() {
  return MarkCancelled{some_batch(), dice_.one_in(2)};
}

/// Half of them have no job any more.
BatchInMemory Generator::some_in_memory() {
  BatchInMemory jobs;
  for (auto& count : jobs.counts.by_state) count = dice_.one_in(2) ? dice_.below(4) : 0;
  if (dice_.one_in(2)) jobs.stored = dice_.below(4);
  if (dice_.one_in(2)) jobs.last_end = around_now();
  return jobs;
}

ActionSet Generator::some_actions() {
  ActionSet actions{{}, dice_.one_in(2)};
  for (const std::string action : {"create", "remove"}) {
    if (dice_.one_in(2)) actions.named.insert(action);
  }
  return actions;
}

BatchOwner Generator::some_owner() {
  return {dice_.one_in(2) ? "portal" : "", dice_.one_in(2) ? dice_.one_of(names_.customers) : ""};
}

Request Generator::change_schedule() {
  switch (dice_.below(6)) {
    case 0:
      return RemoveSchedule{some_schedule()};
    case 1:
      return AdvanceSchedule{some_advance()};
    case 2:
    case 3: {
      Schedule schedule{some_schedule(), dice_.below(3), dice_.one_in(2), {}, {}};
      schedule.spec.timing = {milliseconds{dice_.one_in(2) ? 0 : 1000}, "0 3 * * *", "UTC"};
      schedule.spec.catch_up = static_cast<CatchUp>(dice_.below(3));
      schedule.spec.job = *some_spec();
      schedule.spec.job.traceparent.clear();
      if (dice_.one_in(4)) schedule.spec.expires_at = soon();
      if (!dice_.one_in(4)) schedule.progress.next = WallTime{milliseconds{dice_.below(3)}};
      return SaveSchedule{std::move(schedule)};
    }
    default:
      return LoadSchedules{some_schedule(), dice_.one_in(2), some_limit()};
  }
}

/// Often applies to the stored progress.
ScheduleAdvance Generator::some_advance() {
  ScheduleAdvance advance{
      some_schedule(), dice_.below(3), WallTime{milliseconds{dice_.below(3)}}, {}};
  const auto stored = content_.schedules.find(advance.schedule);
  if (stored != content_.schedules.end() && !dice_.one_in(4)) {
    advance.revision = stored->second.revision;
    advance.next = stored->second.progress.next;
  }
  advance.after = {WallTime{milliseconds{dice_.below(3)}}, dice_.below(9), dice_.below(9), 1, 2};
  return advance;
}

Request Generator::set_override() {
  CellOverride change;
  if (dice_.one_in(2)) change.pool_size = 1 + static_cast<std::uint32_t>(dice_.below(100));
  change.state = static_cast<CellState>(dice_.below(3));
  if (dice_.one_in(3)) change.pool_burst = 1 + static_cast<std::uint32_t>(dice_.below(100));
  if (dice_.one_in(3)) change.pool_weight = 1 + static_cast<std::uint32_t>(dice_.below(9));
  if (dice_.one_in(3)) {
    const auto limit = static_cast<QuotaLimit>(dice_.below(quota_limit_count));
    change.quota[limit] = static_cast<double>(dice_.below(1000)) / 8;
  }
  return SetCellOverride{some_cell(), change};
}

Request Generator::list_backlogs() {
  if (dice_.one_in(3)) return ListBacklogs{{}, {}, {}, some_limit(), some_kind()};
  return ListBacklogs{some_cell(), dice_.one_of(names_.customers), dice_.one_of(names_.products),
                      some_limit(), some_kind()};
}

ListJobs Generator::list() {
  ListJobs request;
  auto& filter = request.filter;
  if (dice_.one_in(3)) filter.customer = dice_.one_of(names_.customers);
  if (dice_.one_in(4)) filter.product = dice_.one_of(names_.products);
  if (dice_.one_in(4)) filter.state = static_cast<JobState>(dice_.below(job_state_count));
  if (dice_.one_in(6)) filter.service = dice_.one_in(2) ? "dns" : "billing";
  if (dice_.one_in(8)) filter.entity_type = dice_.one_of(names_.entity_types);
  if (dice_.one_in(6)) filter.entity_id = dice_.one_of(names_.entities);
  if (dice_.one_in(5)) filter.labels["ticket"] = "T-" + std::to_string(dice_.below(4));
  if (dice_.one_in(8)) filter.labels["te\"am"] = "\"x\",";
  if (dice_.one_in(6)) filter.created_after = around_now() - milliseconds{dice_.below(5000)};
  if (dice_.one_in(6)) filter.created_before = around_now();
  if (dice_.one_in(5)) filter.batch = some_batch();
  filter.unfinished = dice_.one_in(6);
  if (dice_.one_in(2) && !ids_.empty()) request.before = dice_.one_of(ids_) + dice_.below(2);
  request.limit = some_limit();
  if (dice_.one_in(4)) request.bytes_max = dice_.below(6000);
  return request;
}

// --- Choices ---------------------------------------------------------------------------------

Durability Generator::kind_of(const CellKey& cell) const {
  const auto found = std::find(names_.cells.begin(), names_.cells.end(), cell);
  const bool is_odd = (found - names_.cells.begin()) % 2 == 1;
  return both_kinds_ && is_odd ? Durability::memory : Durability::disk;
}

Durability Generator::kind_of(const JobSpec& spec) const {
  const auto found = std::find(names_.products.begin(), names_.products.end(), spec.product);
  const bool is_odd = (found - names_.products.begin()) % 2 == 1;
  return both_kinds_ && is_odd ? Durability::memory : Durability::disk;
}

const CellKey& Generator::some_cell(Durability kind) {
  while (true) {
    const CellKey& cell = some_cell();
    if (!both_kinds_ || kind_of(cell) == kind) return cell;
  }
}

const CellKey& Generator::some_cell_like(const JobPtr& job) {
  return some_cell(job ? job->durability : Durability::disk);
}

std::optional<Durability> Generator::some_kind() {
  if (!both_kinds_ || dice_.one_in(3)) return std::nullopt;
  return dice_.one_in(2) ? Durability::memory : Durability::disk;
}

JobPtr Generator::some_job() {
  return ids_.empty() ? nullptr : model_.find(dice_.one_of(ids_));
}

/// A job that a crash has lost may have left its id to another one.
JobPtr Generator::some_stale_version() {
  if (versions_.empty()) return nullptr;
  const JobPtr& version = dice_.one_of(versions_);
  const JobPtr current = model_.find(version->id);
  return current && *current->spec != *version->spec ? nullptr : version;
}

JobPtr Generator::some_runnable_job() {
  FetchRunnable request{some_cell(), "", false, 1000, 3};
  request.lane = some_lane();
  const auto fetched = model_.apply(request);
  if (fetched.customers.empty()) return nullptr;
  return dice_.one_of(dice_.one_of(fetched.customers).jobs);
}

JobPtr Generator::some_running_job() {
  const auto loaded = model_.apply(LoadCell{some_cell()});
  return loaded.running.empty() ? nullptr : dice_.one_of(loaded.running);
}

WallTime Generator::around_now() {
  return now() - milliseconds{dice_.one_in(4) ? dice_.below(200) : 0};
}

}  // namespace stores
