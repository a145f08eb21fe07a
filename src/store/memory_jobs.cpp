#include "src/store/memory_jobs.hpp"

#include <algorithm>
#include <iterator>

#include "cells/model/job_machine.hpp"
#include "cells/model/priority.hpp"
#include "src/store/pruning.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's messages.

namespace {

auto rank_of(const Job& job) {
  return std::tuple{-job.spec->priority, job.place, job.id};
}

/// The first of a customer's runnable jobs, by (priority_rank, place).
std::vector<JobPtr> first_of(const std::map<std::tuple<int, JobId, JobId>, JobPtr>& jobs,
                             milliseconds priority_step, std::size_t limit) {
  std::vector<JobPtr> first;
  if (priority_step <= milliseconds{0}) {
    for (auto job = jobs.begin(); job != jobs.end() && first.size() < limit; ++job) {
      first.push_back(job->second);
    }
    return first;
  }
  for (int priority = priority_max; priority > 0; --priority) {
    auto job = jobs.lower_bound({-priority, 0, 0});
    const auto end = jobs.lower_bound({-priority + 1, 0, 0});
    for (std::size_t n = 0; job != end && n < limit; ++job, ++n) first.push_back(job->second);
  }
  const auto rank = [priority_step](const JobPtr& job) {
    const auto& spec = *job->spec;
    return std::tuple{priority_rank(spec.priority, job->place, priority_step), job->place, job->id};
  };
  std::sort(first.begin(), first.end(),
            [&](const JobPtr& a, const JobPtr& b) { return rank(a) < rank(b); });
  if (first.size() > limit) first.resize(limit);
  return first;
}

std::pair<std::string, std::string> routing_key_of(const Job& job) {
  return {job.spec->customer, job.spec->product};
}

/// Whether the advance applies to what is stored.
bool accepts(const std::map<std::string, Schedule>& schedules, const ScheduleAdvance& advance) {
  const auto found = schedules.find(advance.schedule);
  return found != schedules.end() && advance.applies_to(found->second);
}

}  // namespace

MemoryJobs::MemoryJobs(const StoreContent& content)
    : jobs_(content.jobs),
      key_holders_(content.key_holders),
      overrides_(content.overrides),
      batches_(content.batches),
      schedules_(content.schedules),
      epoch_(content.epoch),
      last_id_(content.last_id) {
  for (const auto& [id, stored] : jobs_) {
    add_to_indexes(stored);
    if (stored.job->place != 0) lines_[stored.job->spec].emplace(stored.job->place, id);
  }
  for (const auto& [key, holder] : key_holders_) keys_[holder.first] = key;
}

// --- Starting --------------------------------------------------------------------------------

EpochStarted MemoryJobs::apply(const StartEpoch& request) {
  for (const auto& [id, batch] : batches_) {
    const auto kept = request.kept.find(id);
    if (kept == request.kept.end() && !batch.is_open && batch.in_memory == BatchInMemory{})
      continue;
    Batch& started = *touch_batch(id);
    if (started.is_open) close(started, request.now);
    forget_memory(started, kept == request.kept.end() ? BatchInMemory{} : kept->second,
                  request.now);
  }
  changed_ = true;
  epoch_ = next_epoch(epoch_, request.now);
  return {epoch_, last_id_};
}

CellsLoaded MemoryJobs::apply(const LoadCells&) const {
  CellsLoaded loaded;
  for (const auto& [key, cell] : cells_) loaded.with_jobs.push_back(key);
  loaded.overrides = overrides_;
  return loaded;
}

BacklogsListed MemoryJobs::apply(const ListBacklogs& request) const {
  BacklogsListed listed;
  const RoutingKey after{request.after_customer, request.after_product};
  auto cell = request.after_cell ? cells_.lower_bound(*request.after_cell) : cells_.begin();
  for (; cell != cells_.end(); ++cell) {
    const auto& open = cell->second.open;
    const bool resumed = request.after_cell && cell->first == *request.after_cell;
    for (auto backlog = resumed ? open.upper_bound(after) : open.begin(); backlog != open.end();
         ++backlog) {
      if (listed.backlogs.size() >= request.limit) return listed;
      const auto kept = jobs_.at(std::get<3>(*backlog->second.begin())).job->durability;
      if (request.durability && *request.durability != kept) continue;
      listed.backlogs.push_back({cell->first, backlog->first.first, backlog->first.second});
      listed.jobs.push_back(backlog->second.size());
    }
  }
  return listed;
}

JobsMoved MemoryJobs::apply(const MoveJobs& request) {
  JobsMoved answer;
  const auto cell = cells_.find(request.from.cell);
  if (cell == cells_.end() || request.from.cell == request.to) return answer;
  const auto backlog = cell->second.open.find({request.from.customer, request.from.product});
  if (backlog == cell->second.open.end()) return answer;
  std::vector<JobId> moving;
  for (const auto& [lane, turn, place, id] : backlog->second) {
    if (moving.size() == request.limit) break;
    const bool is_running = jobs_.at(id).job->state == JobState::running;
    if (!is_running || request.running_too) moving.push_back(id);
  }
  for (const auto id : moving) {
    auto& stored = jobs_.at(id);
    auto job = std::make_shared<Job>(*stored.job);
    job->cell = request.to;
    change(stored, std::move(job), stored.marks);
    ++answer.moved;
    if (is_ended(stored.job->state)) continue;
    ++answer.counts[stored.job->state];
    answer.counts.bytes += queued_bytes(*stored.job->spec);
  }
  return answer;
}

NeedsCounted count_needs(const std::map<JobId, StoredJob>& jobs, const CountNeeds& request) {
  NeedsCounted counted;
  for (const auto& [id, stored] : jobs) {
    const Job& job = *stored.job;
    if (is_ended(job.state)) continue;
    const auto& services = job.spec->services;
    for (std::size_t step = 0; step < services.size(); ++step) {
      const auto& name = services[step];
      if (request.services.contains(name) && may_call(job, step)) ++counted.jobs[name];
      const auto undos = request.undos.find(name);
      const bool counts = undos != request.undos.end() && undos->second.contains(job.spec->action);
      if (counts && may_undo(job, step)) ++counted.undos[name];
    }
  }
  return counted;
}

CellLoaded MemoryJobs::apply(const LoadCell& request) const {
  CellLoaded loaded;
  const auto found = cells_.find(request.cell);
  if (found == cells_.end()) return loaded;
  const Cell& cell = found->second;
  loaded.counts = cell.counts;
  for (const auto id : cell.running) loaded.running.push_back(jobs_.at(id).job);
  for (const auto& [lane, customers] : cell.runnable) {
    lane.empty() ? void(loaded.runnable = true) : loaded.lanes.push_back(lane);
  }
  loaded.held = !cell.held.empty();
  if (!cell.due.empty()) loaded.next_due = cell.due.begin()->first;
  return loaded;
}

// --- The life of a job -----------------------------------------------------------------------

std::optional<JobInserted> MemoryJobs::apply(const InsertJob& request) {
  const auto& job = request.job;
  if (request.idempotency) {
    auto holder = apply(FindKeyHolder{job->spec->customer, *request.idempotency});
    if (holder.job) return JobInserted{job->id, false, std::move(holder)};
  }
  if (request.firing && !accepts(schedules_, *request.firing)) {
    return JobInserted{job->id, false, {}, {}, true};
  }
  if (auto full = refuse_room(job->cell, *job->spec, request.room)) {
    changed_ = true;
    return JobInserted{job->id, false, {}, {}, false, full};
  }
  const auto [found, inserted] = jobs_.try_emplace(job->id);
  if (!inserted) return std::nullopt;
  if (request.firing) advance(*request.firing, job->id);
  if (request.idempotency) {
    const auto& [key, digest] = *request.idempotency;
    const std::pair name{job->spec->customer, key};
    key_holders_[name] = {job->id, digest};
    keys_[job->id] = name;
    changed_keys_.push_back(name);
  }
  LineMarks marks;
  marks.head = enter_line(*job);
  marks.woken = starts_woken(*job);
  change(found->second, job, marks);
  if (auto* batch = touch_batch(job->batch)) add_job(*batch, *job);
  note_id(job->id);
  note_id(job->place);
  return JobInserted{job->id, is_runnable(job->state, marks), {}};
}

std::optional<CustomerFull> MemoryJobs::refuse_room(const CellKey& key, const JobSpec& spec,
                                                    const CustomerRoom& room) const {
  JobCounts counts;
  if (const auto cell = cells_.find(key); cell != cells_.end()) {
    const auto found = cell->second.by_customer.find(spec.customer);
    if (found != cell->second.by_customer.end()) counts = found->second;
  }
  return cells::refuse_room(room, counts.unfinished(), counts.bytes, queued_bytes(spec));
}

KeyHolder MemoryJobs::apply(const FindKeyHolder& request) {
  const auto found = key_holders_.find({request.customer, request.idempotency.key});
  if (found == key_holders_.end()) return {};
  const auto& [id, digest] = found->second;
  return {reveal(id), digest == request.idempotency.digest};
}

void MemoryJobs::apply(const ClaimJob& request) {
  const auto found = jobs_.find(request.job->id);
  if (found == jobs_.end()) return;
  auto& stored = found->second;
  if (is_ended(stored.job->state) || stored.job->state == JobState::running) return;
  JobPtr promoted;
  const bool changed = changed_;
  replace(stored, merge_version(*stored.job, request.job), stored.marks, promoted);
  changed_ = changed;
  claims_.insert(request.job->id);
}

JobRecorded MemoryJobs::apply(const RecordJob& request) {
  const auto found = jobs_.find(request.job->id);
  if (found == jobs_.end()) return {};
  auto& stored = found->second;
  if (is_ended(stored.job->state) || stored.job->lease != request.expected) return {};
  auto next = merge_version(*stored.job, request.job);
  auto marks = stored.marks;
  marks.woken = starts_woken(*next);
  if (next->state == JobState::queued || marks.woken) marks.held = false;
  JobRecorded answer{true, nullptr};
  answer.follower = mark_follower(*stored.job, *next, marks.head);
  replace(stored, std::move(next), marks, answer.promoted);
  if (answer.follower) answer.follower = find(answer.follower->id);
  answer.runnable = is_runnable(stored.job->state, stored.marks);
  return answer;
}

WaitingCancelled MemoryJobs::apply(const CancelWaiting& request) {
  WaitingCancelled answer{reveal(request.id), nullptr, nullptr};
  if (!answer.before || !is_waiting_in(*answer.before, request.cell)) return answer;
  auto& stored = jobs_.at(request.id);
  auto marks = stored.marks;
  marks.woken = false;
  auto cancelled = with_place_given_up(cancel_waiting(*answer.before, request.now));
  answer.follower = mark_follower(*answer.before, *cancelled, marks.head);
  replace(stored, std::move(cancelled), marks, answer.promoted);
  if (answer.follower) answer.follower = find(answer.follower->id);
  answer.after = stored.job;
  return answer;
}

EndedReopened MemoryJobs::apply(const ReopenEnded& request) {
  EndedReopened answer{reveal(request.id), nullptr, false, {}};
  if (!answer.before || !can_reopen(*answer.before)) return answer;
  answer.customer_full = refuse_room(request.cell, *answer.before->spec, request.room);
  if (answer.customer_full) return answer;
  auto& stored = jobs_.at(request.id);
  JobPtr promoted;  // Stays null: reopening takes no job out of a line.
  auto reopened = reopen(*answer.before, request.cell, request.place, request.now);
  replace(stored, with_place_given_up(std::move(reopened)), stored.marks, promoted);
  note_id(stored.job->place);
  answer.after = stored.job;
  answer.runnable = is_runnable(stored.job->state, stored.marks);
  return answer;
}

void MemoryJobs::apply(const HoldJob& request) {
  const auto found = jobs_.find(request.id);
  if (found == jobs_.end()) return;
  auto& stored = found->second;
  if (!is_runnable(stored.job->state, stored.marks)) return;
  auto marks = stored.marks;
  marks.held = true;
  change(stored, stored.job, marks);
}

HoldsReleased MemoryJobs::apply(const ReleaseHolds& request) {
  HoldsReleased answer;
  const auto cell = cells_.find(request.cell);
  if (cell == cells_.end()) return answer;
  std::vector<JobId> ids;
  const auto& held = cell->second.held;
  for (auto id = held.upper_bound(request.after); id != held.end() && ids.size() < request.limit;
       ++id) {
    ids.push_back(*id);
  }
  for (const auto id : ids) {
    auto& stored = jobs_.at(id);
    auto marks = stored.marks;
    marks.held = false;
    change(stored, stored.job, marks);
    ++answer.released;
    answer.last = id;
  }
  return answer;
}

void MemoryJobs::apply(const ChangeLane& request) {
  const auto found = jobs_.find(request.id);
  if (found == jobs_.end()) return;
  auto& stored = found->second;
  if (!is_runnable(stored.job->state, stored.marks)) return;
  auto job = std::make_shared<Job>(*stored.job);
  job->lane = request.lane;
  change(stored, std::move(job), stored.marks);
}

RunnableFetched MemoryJobs::apply(const FetchRunnable& request) const {
  RunnableFetched fetched;
  fetched.complete = true;
  const auto found = cells_.find(request.cell);
  if (found == cells_.end()) return fetched;
  const auto lane = found->second.runnable.find(request.lane);
  if (lane == found->second.runnable.end()) return fetched;
  const auto& runnable = lane->second;
  auto customer = request.after ? runnable.upper_bound(request.customer)
                                : runnable.lower_bound(request.customer);
  std::size_t bytes = 0;
  bool full = false;
  for (; customer != runnable.end() && !full; ++customer) {
    const auto& except = request.except;
    if (std::binary_search(except.begin(), except.end(), customer->first)) continue;
    if (fetched.customers.size() >= std::max<std::size_t>(request.customers_max, 1)) break;
    RunnableOfCustomer best{customer->first, {}, false};
    const auto limit = std::max<std::size_t>(request.jobs_max, 1);
    for (const auto& job : first_of(customer->second, request.priority_step, limit)) {
      bytes += approximate_bytes(*job);
      full = bytes > request.bytes_max && !(fetched.customers.empty() && best.jobs.empty());
      if (full) break;
      best.jobs.push_back(job);
    }
    if (best.jobs.empty()) break;
    best.complete = best.jobs.size() == customer->second.size();
    fetched.customers.push_back(std::move(best));
  }
  fetched.complete = customer == runnable.end();
  return fetched;
}

DueAdvanced MemoryJobs::apply(const AdvanceDue& request) {
  DueAdvanced done;
  const auto found = cells_.find(request.cell);
  if (found == cells_.end()) return done;
  std::vector<JobId> now_due;
  for (const auto& [at, id] : found->second.due) {
    if (at > request.now || now_due.size() >= request.limit) break;
    now_due.push_back(id);
  }
  for (const auto id : now_due) advance_one(jobs_.at(id), request, done);
  const auto left = cells_.find(request.cell);
  if (left == cells_.end()) return done;
  std::set<JobId> listed;
  for (const auto& job : done.expired) listed.insert(job->id);
  for (const auto& [at, id] : left->second.due) {
    if (listed.contains(id)) continue;
    done.next_due = at;
    break;
  }
  return done;
}

/// Advances one due job, in one of the four ways that AdvanceDue describes.
void MemoryJobs::advance_one(StoredJob& stored, const AdvanceDue& request, DueAdvanced& done) {
  const auto report = [&](const JobPtr& job) {
    (job->cell == request.cell ? done.runnable : done.promoted_elsewhere).push_back(job);
  };
  auto marks = stored.marks;
  if (is_expired(*stored.job, request.now)) {
    done.expired.push_back(stored.job);
  } else if (is_ended(stored.job->state)) {
    auto settled = std::make_shared<Job>(*stored.job);
    settled->place = 0;
    JobPtr promoted;
    replace(stored, std::move(settled), marks, promoted);
    if (promoted) report(promoted);
  } else if (awaits_attempt(stored.job->state)) {
    marks.woken = true;
    change(stored, stored.job, marks);
    if (is_runnable(stored.job->state, marks)) report(stored.job);
  } else {
    auto queued = std::make_shared<Job>(*stored.job);
    queued->state = JobState::queued;
    if (queued->place == 0) queued->place = request.first_place + done.queued;
    ++done.queued;
    note_id(queued->place);
    JobPtr promoted;
    replace(stored, std::move(queued), marks, promoted);
    if (is_runnable(stored.job->state, stored.marks)) report(stored.job);
  }
}

// --- Pruning ---------------------------------------------------------------------------------

EndedPruned MemoryJobs::apply(const PruneEnded& request) {
  EndedPruned done;
  const auto is_due = [&] { return !ended_.empty() && ended_.begin()->first < request.before; };
  const bool takes_one = request.time_max <= microseconds{0};
  while (is_due() && done.pruned < request.limit && !(takes_one && done.pruned > 0)) {
    const auto [finished_at, id] = *ended_.begin();
    remove(id);
    done.reached = finished_at;
    ++done.pruned;
  }
  done.more = done.pruned > 0 && (done.pruned == request.limit || is_due());
  add_step(done, drop_deserted(request.before, request.limit));
  return done;
}

bool MemoryJobs::remove_ended(JobId id) {
  const auto job = find(id);
  if (!job || is_open(*job)) return false;
  remove(id);
  return true;
}

/// Only for a job that has ended and is in no line.
void MemoryJobs::remove(JobId id) {
  const auto found = jobs_.find(id);
  remove_from_indexes(found->second);
  if (const auto key = keys_.find(id); key != keys_.end()) {
    key_holders_.erase(key->second);
    changed_keys_.push_back(std::move(key->second));
    keys_.erase(key);
  }
  if (auto* batch = touch_batch(found->second.job->batch)) {
    remove_job(*batch);
    if (is_deserted(*batch)) drop_batch(batch->id);
  }
  changes_.push_back({found->second.job, {}});
  jobs_.erase(found);
  changed_ = true;
}

// --- Batches ---------------------------------------------------------------------------------

BatchOpened MemoryJobs::apply(const OpenBatch& request) {
  changed_ = true;
  const auto [found, added] = batches_.try_emplace(request.id);
  if (!added) return {false};
  found->second.id = request.id;
  found->second.owner = request.owner;
  found->second.created_at = request.now;
  changed_batches_.insert(request.id);
  return {true};
}

BatchClosed MemoryJobs::apply(const CloseBatch& request) {
  changed_ = true;
  auto* batch = touch_batch(request.id);
  if (batch == nullptr) return {};
  if (batch->is_open) close(*batch, request.now);
  return {*batch};
}

CancelledMarked MemoryJobs::apply(const MarkCancelled& request) {
  changed_ = true;
  auto* batch = touch_batch(request.id);
  if (batch != nullptr) batch->is_cancelled = request.is_cancelled;
  return {batch != nullptr};
}

InMemoryNoted MemoryJobs::apply(const NoteInMemory& request) {
  changed_ = true;
  auto* batch = touch_batch(request.id);
  if (batch == nullptr) return {};
  const bool had_jobs = batch->stored > 0;
  count_in_memory(*batch, request.jobs);
  if (had_jobs && is_deserted(*batch)) drop_batch(request.id);
  return {};
}

/// A batch that is about to change; null: there is no such batch, as for jobs without one.
Batch* MemoryJobs::touch_batch(BatchId id) {
  const auto found = batches_.find(id);
  if (found == batches_.end()) return nullptr;
  changed_batches_.insert(id);
  return &found->second;
}

void MemoryJobs::drop_batch(BatchId id) {
  batches_.erase(id);
  changed_batches_.insert(id);
  changed_ = true;
}

EndedPruned MemoryJobs::drop_deserted(WallTime before, std::size_t limit) {
  std::set<std::pair<WallTime, BatchId>> deserted;
  for (const auto& [id, batch] : batches_) {
    if (is_deserted(batch) && *batch.last_end < before) deserted.emplace(*batch.last_end, id);
  }
  EndedPruned done;
  for (const auto& [last_end, id] : deserted) {
    drop_batch(id);
    done.reached = last_end;
    done.more = --limit == 0;
    if (done.more) break;
  }
  return done;
}

// --- Schedules -------------------------------------------------------------------------------

SchedulesLoaded MemoryJobs::apply(const LoadSchedules& request) const {
  SchedulesLoaded loaded;
  auto next =
      request.after ? schedules_.upper_bound(request.from) : schedules_.lower_bound(request.from);
  for (; next != schedules_.end() && loaded.schedules.size() < request.limit; ++next) {
    loaded.schedules.push_back(next->second);
  }
  return loaded;
}

ScheduleSaved MemoryJobs::apply(const SaveSchedule& request) {
  schedules_[request.schedule.name] = request.schedule;
  changed_schedules_.insert(request.schedule.name);
  changed_ = true;
  return {};
}

ScheduleRemoved MemoryJobs::apply(const RemoveSchedule& request) {
  changed_schedules_.insert(request.name);
  changed_ = true;
  return {schedules_.erase(request.name) > 0};
}

ScheduleAdvanced MemoryJobs::apply(const AdvanceSchedule& request) {
  return {advance(request.advance, std::nullopt)};
}

bool MemoryJobs::advance(const ScheduleAdvance& request, std::optional<JobId> job) {
  if (!accepts(schedules_, request)) return false;
  auto& progress = schedules_.at(request.schedule).progress;
  progress = request.after;
  if (job) progress.last_job = *job;
  changed_schedules_.insert(request.schedule);
  changed_ = true;
  return true;
}

// --- Overrides, reading, committing ----------------------------------------------------------

CellOverrideSet MemoryJobs::apply(const SetCellOverride& request) {
  if (request.change.is_none()) {
    overrides_.erase(request.cell);
  } else {
    overrides_[request.cell] = request.change;
  }
  changed_ = true;
  return {};
}

StoreFlushed MemoryJobs::apply(const FlushStore&) {
  if (!claims_.empty()) changed_ = true;
  return {};
}

/// Finds a job for an answer. If the job is only claimed, the answer has to wait until the claim is
/// committed.
JobPtr MemoryJobs::reveal(JobId id) {
  if (claims_.contains(id)) changed_ = true;
  return find(id);
}

JobPtr MemoryJobs::find(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second.job;
}

std::vector<JobChange> MemoryJobs::commit_to(StoreContent& content) {
  for (const auto& [before, after] : changes_) {
    if (after.job) {
      content.jobs[after.job->id] = after;
    } else {
      content.jobs.erase(before->id);
    }
  }
  for (const auto& key : std::exchange(changed_keys_, {})) {
    const auto holder = key_holders_.find(key);
    content.key_holders.erase(key);
    if (holder != key_holders_.end()) content.key_holders.insert(*holder);
  }
  for (const auto id : std::exchange(changed_batches_, {})) {
    const auto batch = batches_.find(id);
    content.batches.erase(id);
    if (batch != batches_.end()) content.batches.insert(*batch);
  }
  for (const auto& name : std::exchange(changed_schedules_, {})) {
    const auto schedule = schedules_.find(name);
    content.schedules.erase(name);
    if (schedule != schedules_.end()) content.schedules.insert(*schedule);
  }
  if (changed_) content.overrides = overrides_;
  content.epoch = epoch_;
  content.last_id = last_id_;
  changed_ = false;
  claims_.clear();
  return std::exchange(changes_, {});
}

// --- Lines and indexes -----------------------------------------------------------------------

bool MemoryJobs::ByEntity::operator()(const std::shared_ptr<const JobSpec>& a,
                                      const std::shared_ptr<const JobSpec>& b) const {
  return std::tie(a->customer, a->product, a->entity.type, a->entity.id) <
         std::tie(b->customer, b->product, b->entity.type, b->entity.id);
}

/// Puts a job that has a place into its line. True: the job is the head. The head of a line stays
/// the head until it leaves, even if a job with a lower place arrives: the head may be running.
bool MemoryJobs::enter_line(const Job& job) {
  if (job.place == 0) return false;
  auto& line = lines_[job.spec];
  line.emplace(job.place, job.id);
  return line.size() == 1;
}

/// Takes a job out of its line. If it was the head, makes the next job the head and returns that
/// job if it is runnable.
JobPtr MemoryJobs::leave_line(const Job& job) {
  const auto line = lines_.find(job.spec);
  if (line == lines_.end()) return nullptr;
  const bool was_head = jobs_.at(job.id).marks.head;
  line->second.erase({job.place, job.id});
  if (line->second.empty()) {
    lines_.erase(line);
    return nullptr;
  }
  if (!was_head) return nullptr;
  auto& next = jobs_.at(line->second.begin()->second);
  auto marks = next.marks;
  marks.head = true;
  change(next, next.job, marks);
  return is_runnable(next.job->state, marks) ? next.job : nullptr;
}

/// Passes on the `failed_ahead` of a job that becomes `after`, if it has one to pass on. Returns
/// the job that took it.
JobPtr MemoryJobs::mark_follower(const Job& before, const Job& after, bool was_head) {
  if (!is_ended(after.state) || before.place == 0) return nullptr;
  const JobId failed_ahead = failed_up_to(after, last_id_);
  const auto line = lines_.find(before.spec);
  if (failed_ahead == 0 || line == lines_.end()) return nullptr;
  // A head is the first, even if a job with a lower place has come.
  const auto& places = line->second;
  auto next = was_head ? places.begin() : places.upper_bound({before.place, before.id});
  if (next != places.end() && next->second == before.id) ++next;
  if (next == places.end()) return nullptr;
  auto& stored = jobs_.at(next->second);
  if (!is_follower(*stored.job, failed_ahead)) return nullptr;
  auto marked = std::make_shared<Job>(*stored.job);
  marked->failed_ahead = failed_ahead;
  change(stored, std::move(marked), stored.marks);
  return stored.job;
}

/// Replaces a stored job by `job`. The change may put it into its line or take it out.
void MemoryJobs::replace(StoredJob& stored, JobPtr job, LineMarks marks, JobPtr& promoted) {
  const JobPtr before = stored.job;
  if (before->place == 0 && job->place != 0) marks.head = enter_line(*job);
  const bool leaves = before->place != 0 && job->place == 0;
  if (leaves) promoted = leave_line(*before);
  if (!is_open(*job)) marks = {};
  change(stored, std::move(job), marks);
}

void MemoryJobs::change(StoredJob& stored, JobPtr job, LineMarks marks) {
  if (stored.job) remove_from_indexes(stored);
  const JobPtr before = std::exchange(stored.job, std::move(job));
  stored.marks = marks;
  if (before && before->state != stored.job->state) {
    auto* batch = touch_batch(before->batch);
    if (batch) change_job(*batch, before->state, stored.job->state, stored.job->finished_at);
  }
  add_to_indexes(stored);
  changes_.push_back({before, stored});
  changed_ = true;
}

MemoryJobs::MoveRank MemoryJobs::move_rank_of(const StoredJob& stored) {
  const Job& job = *stored.job;
  return {is_runnable(job.state, stored.marks) ? job.lane : std::string{},
          turn_of(job, stored.marks, 0), job.place, job.id};
}

void MemoryJobs::add_to_indexes(const StoredJob& stored) {
  const Job& job = *stored.job;
  if (!is_open(job)) {
    if (job.finished_at) ended_.emplace(*job.finished_at, job.id);
    return;
  }
  auto& cell = cells_[job.cell];
  cell.open[routing_key_of(job)].insert(move_rank_of(stored));
  if (!is_ended(job.state)) {
    for (auto* counts : {&cell.counts, &cell.by_customer[job.spec->customer]}) {
      ++(*counts)[job.state];
      counts->bytes += queued_bytes(*job.spec);
    }
  }
  if (job.state == JobState::running) cell.running.insert(job.id);
  if (stored.marks.held) cell.held.insert(job.id);
  if (const auto due = due_at(job, stored.marks)) cell.due.emplace(*due, job.id);
  if (is_runnable(job.state, stored.marks)) {
    cell.runnable[job.lane][job.spec->customer].emplace(rank_of(job), stored.job);
  }
}

void MemoryJobs::remove_from_indexes(const StoredJob& stored) {
  const Job& job = *stored.job;
  if (!is_open(job)) {
    if (job.finished_at) ended_.erase({*job.finished_at, job.id});
    return;
  }
  auto& cell = cells_.at(job.cell);
  const auto open = cell.open.find(routing_key_of(job));
  open->second.erase(move_rank_of(stored));
  if (open->second.empty()) cell.open.erase(open);
  if (!is_ended(job.state)) {
    const auto customer = cell.by_customer.find(job.spec->customer);
    for (auto* counts : {&cell.counts, &customer->second}) {
      --(*counts)[job.state];
      counts->bytes -= queued_bytes(*job.spec);
    }
    if (customer->second.unfinished() == 0) cell.by_customer.erase(customer);
  }
  if (job.state == JobState::running) cell.running.erase(job.id);
  if (stored.marks.held) cell.held.erase(job.id);
  if (const auto due = due_at(job, stored.marks)) cell.due.erase({*due, job.id});
  if (is_runnable(job.state, stored.marks)) {
    auto& lane = cell.runnable.at(job.lane);
    const auto customer = lane.find(job.spec->customer);
    customer->second.erase(rank_of(job));
    if (customer->second.empty()) lane.erase(customer);
    if (lane.empty()) cell.runnable.erase(job.lane);
  }
  if (cell.open.empty()) cells_.erase(job.cell);
}

void MemoryJobs::note_id(JobId id) {
  last_id_ = std::max(last_id_, id);
}

}  // namespace celld::store
