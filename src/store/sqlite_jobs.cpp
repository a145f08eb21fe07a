#include "src/store/sqlite_jobs.hpp"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "cells/model/job_machine.hpp"
#include "cells/model/priority.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's messages.

namespace {

/// The number in this column, from 1 to `max`; none if it is null.
std::optional<std::uint32_t> stored_number(Statement& row, int column, std::uint32_t max) {
  const auto number = row.optional_integer(column);
  if (!number) return std::nullopt;
  if (*number < 1 || *number > max) {
    throw SqliteFailure("a stored override of a pool is out of range");
  }
  return static_cast<std::uint32_t>(*number);
}

RoutingKey routing_key_of(const JobSpec& spec) {
  return {spec.customer, spec.product};
}

}  // namespace

// `turn` and `marks` are numbers that src/store/schema.cpp explains, at the table `jobs` and at
// version 5: the turn of a runnable job is 100 * lane + 10 - priority, that of any other open job
// 10 + state (12: running), `marks & 2` is set while a job is held, and `marks >> 3` is its lane.
SqliteJobs::SqliteJobs(Connection& connection, const WriteLimits& limits)
    : connection_(connection),
      limits_(limits),
      backlogs_(connection, limits.route_changes),
      indexes_(connection, limits),
      batches_(connection, limits.batches),
      schedules_(connection),
      insert_(connection),
      update_(connection),
      insert_label_(connection, "INSERT INTO job_labels (name, value, job) VALUES (?1, ?2, ?3)"),
      insert_key_(connection,
                  "INSERT INTO idempotency_keys (customer, key, job, digest)"
                  " VALUES (?1, ?2, ?3, ?4)"),
      select_key_(connection,
                  "SELECT job, digest FROM idempotency_keys WHERE customer = ?1 AND key = ?2"),
      select_standing_(connection,
                       "SELECT cell, origin, state, place, marks, lease_epoch, lease_counter, turn,"
                       " batch, failed_ahead"
                       " FROM jobs WHERE id = ?1"),
      select_job_(connection, select_jobs("WHERE id = ?1")),
      is_job_of_line_(connection,
                      "SELECT 1 FROM jobs WHERE id = ?1 AND origin = ?2 AND entity_type = ?3"
                      " AND entity_id = ?4"),
      update_marks_(connection,
                    "UPDATE jobs SET marks = ?2, turn ="
                    " iif(?3, 100 * (?2 >> 3) + 10 - priority, 10 + state)"
                    " WHERE id = ?1 RETURNING turn"),
      update_due_(connection, "UPDATE jobs SET due_at = ?2 WHERE id = ?1"),
      update_cell_(connection, "UPDATE jobs SET cell = ?2 WHERE id = ?1"),
      update_failed_ahead_(connection, "UPDATE jobs SET failed_ahead = ?2 WHERE id = ?1"),
      select_held_(connection,
                   "SELECT id FROM jobs INDEXED BY jobs_held WHERE marks & 2"
                   " AND cell = ?1 AND id > ?2 ORDER BY id LIMIT ?3"),
      select_due_(connection,
                  "SELECT id, due_at FROM jobs INDEXED BY jobs_due WHERE cell = ?1"
                  " AND due_at IS NOT NULL ORDER BY due_at, id"),
      select_ended_(connection,
                    "SELECT id, labels, finished_at, cell, origin, entity_id, batch"
                    " FROM jobs INDEXED BY jobs_ended"
                    " WHERE turn IS NULL AND finished_at < ?1 ORDER BY finished_at, id LIMIT ?2"),
      delete_job_(connection, "DELETE FROM jobs WHERE id = ?1"),
      delete_label_(connection,
                    "DELETE FROM job_labels WHERE name = ?1 AND value = ?2 AND job = ?3"),
      delete_key_(connection, "DELETE FROM idempotency_keys WHERE job = ?1"),
      save_setting_(connection, "UPDATE settings SET value = ?2 WHERE name = ?1"),
      save_override_(
          connection,
          "INSERT OR REPLACE INTO cell_overrides (cell, pool_size, state, pool_burst, pool_weight)"
          " VALUES (?1, ?2, ?3, ?4, ?5)"),
      drop_override_(connection, "DELETE FROM cell_overrides WHERE cell = ?1"),
      save_quota_(connection, "INSERT INTO quota_overrides VALUES (?1, ?2, ?3)"),
      drop_quota_(connection, "DELETE FROM quota_overrides WHERE cell = ?1"),
      epoch_(to_id(connection.query_integer("SELECT value FROM settings WHERE name = 'epoch'"))),
      saved_last_place_(
          to_id(connection.query_integer("SELECT value FROM settings WHERE name = 'last_place'"))),
      last_place_(saved_last_place_) {
  last_id_ = std::max(to_id(connection.query_integer("SELECT max(id) FROM jobs")), last_place_);
  for (Statement row{connection,
                     "SELECT cell, pool_size, state, pool_burst, pool_weight FROM cell_overrides"};
       row.step();) {
    CellOverride& change = overrides_[backlogs_.cell(row.integer(0))];
    change.pool_size = stored_number(row, 1, cells::pool_size_max);
    change.state = static_cast<CellState>(row.integer(2));
    change.pool_burst = stored_number(row, 3, cells::pool_size_max);
    change.pool_weight = stored_number(row, 4, cells::pool_weight_max);
  }
  load_quotas();
}

// --- The life of a job -----------------------------------------------------------------------

std::optional<JobInserted> SqliteJobs::apply(const InsertJob& request) {
  const Job& job = *request.job;
  if (request.idempotency) {
    auto holder = apply(FindKeyHolder{job.spec->customer, *request.idempotency});
    if (holder.job) return JobInserted{job.id, false, std::move(holder)};
  }
  touch();
  if (request.firing && !schedules_.accepts(*request.firing)) {
    return JobInserted{job.id, false, {}, {}, true};
  }
  if (auto full = refuse_room(job.cell, *job.spec, request.room)) {
    return JobInserted{job.id, false, {}, {}, false, full};
  }
  const auto cell = backlogs_.cell_id(job.cell);
  const auto routing_key = backlogs_.routing_key_id(routing_key_of(*job.spec));
  LineMarks marks;
  marks.head = job.place != 0 && head_of_line(routing_key, job.spec->entity) == 0;
  marks.woken = starts_woken(job);
  const auto lane = backlogs_.lane_id(job.lane);
  if (!insert_.run(job, marks, cell, routing_key, lane)) return std::nullopt;
  if (request.firing) schedules_.advance(*request.firing, job.id);
  const auto inserted = standing(job, marks, cell, routing_key, lane);
  indexes_.add(job.id, inserted, job.spec->entity);
  insert_labels(job);
  if (request.idempotency) {
    insert_key_.bind(1, std::string_view{job.spec->customer});
    insert_key_.bind(2, std::string_view{request.idempotency->key}).bind(3, to_integer(job.id));
    insert_key_.bind(4, std::string_view{request.idempotency->digest}).run();
  }
  backlogs_.add_stored(cell, routing_key);
  backlogs_.add(inserted);
  if (!is_ended(job.state)) backlogs_.add_bytes(inserted, queued_bytes(*job.spec));
  batches_.add(job);
  last_id_ = std::max({last_id_, job.id, job.place});
  if (job.place > job.id) last_place_ = std::max(last_place_, job.place);
  return JobInserted{job.id, is_runnable(job.state, marks), {}};
}

std::optional<CustomerFull> SqliteJobs::refuse_room(const CellKey& cell, const JobSpec& spec,
                                                    const CustomerRoom& room) const {
  const auto* found = backlogs_.find_customer(cell, spec.customer);
  const auto in_use = found == nullptr ? Backlogs::Customer{} : *found;
  return cells::refuse_room(room, in_use.jobs, in_use.bytes, queued_bytes(spec));
}

KeyHolder SqliteJobs::apply(const FindKeyHolder& request) {
  enter();
  const ResetAtEnd reset{select_key_};
  select_key_.bind(1, std::string_view{request.customer});
  select_key_.bind(2, std::string_view{request.idempotency.key});
  if (!select_key_.step()) return {};
  const auto holder = find(to_id(select_key_.integer(0)));
  if (!holder) throw SqliteFailure("an idempotency key names a job that does not exist");
  return {holder->job, select_key_.text(1) == request.idempotency.digest};
}

void SqliteJobs::insert_labels(const Job& job) {
  for (const auto& [name, value] : job.spec->labels) {
    insert_label_.bind(1, std::string_view{name}).bind(2, std::string_view{value});
    insert_label_.bind(3, to_integer(job.id)).run();
  }
}

void SqliteJobs::apply(const ClaimJob& request) {
  enter();
  const auto id = request.job->id;
  const auto before = standing_of(id);
  if (!before || is_ended(before->state) || before->state == JobState::running) return;
  const auto job = merge_version(stored_part(*before), request.job);
  if (before->place != job->place) {
    touch();
    replace(*before, job, before->marks);
    return;
  }
  auto after = standing(*job, before->marks, before->cell, before->routing_key, before->lane);
  after.turn = before->turn;
  backlogs_.remove(*before);
  backlogs_.add(after);
  batches_.change(*before, job->state, std::nullopt);
  claims_[id] = {job, after};
}

JobRecorded SqliteJobs::apply(const RecordJob& request) {
  enter();
  const auto before = standing_of(request.job->id);
  if (!before || is_ended(before->state) || before->lease != request.expected) return {};
  touch();
  const auto next = merge_version(stored_part(*before), request.job);
  auto marks = before->marks;
  marks.woken = starts_woken(*next);
  if (next->state == JobState::queued || marks.woken) marks.held = false;
  JobRecorded answer{true, nullptr};
  const auto follower = mark_follower(*before, *next);
  answer.promoted = replace(*before, next, marks);
  if (follower != 0) answer.follower = load(follower).job;
  answer.runnable = is_runnable(next->state, marks);
  return answer;
}

/// What merge_version needs of a stored job.
Job SqliteJobs::stored_part(const Standing& at) {
  Job stored;
  stored.cell = backlogs_.cell(at.cell);
  stored.place = at.place;
  stored.failed_ahead = at.failed_ahead;
  return stored;
}

WaitingCancelled SqliteJobs::apply(const CancelWaiting& request) {
  enter();
  const auto row = find(request.id);
  WaitingCancelled answer;
  if (!row) return answer;
  answer.before = row->job;
  if (!is_waiting_in(*row->job, request.cell)) return answer;
  touch();
  auto marks = row->marks;
  marks.woken = false;
  answer.after = with_place_given_up(cancel_waiting(*row->job, request.now));
  const auto before = standing(*row->job, row->marks, row->cell, row->routing_key, row->lane);
  const auto follower = mark_follower(before, *answer.after);
  answer.promoted = replace(before, answer.after, marks);
  if (follower != 0) answer.follower = load(follower).job;
  return answer;
}

EndedReopened SqliteJobs::apply(const ReopenEnded& request) {
  enter();
  const auto row = find(request.id);
  EndedReopened answer;
  if (!row) return answer;
  answer.before = row->job;
  if (!can_reopen(*row->job)) return answer;
  answer.customer_full = refuse_room(request.cell, *row->job->spec, request.room);
  if (answer.customer_full) return answer;
  touch();
  auto before = standing(*row->job, row->marks, row->cell, row->routing_key, row->lane);
  move(request.id, before, backlogs_.cell_id(request.cell));
  answer.after = with_place_given_up(reopen(*row->job, request.cell, request.place, request.now));
  replace(before, answer.after, row->marks);
  note_place(answer.after->place);
  answer.runnable = is_runnable(answer.after->state, standing_of(request.id)->marks);
  return answer;
}

void SqliteJobs::apply(const HoldJob& request) {
  enter();
  const auto before = standing_of(request.id);
  if (!before || !is_runnable(before->state, before->marks)) return;
  touch();
  auto marks = before->marks;
  marks.held = true;
  set_marks(request.id, *before, marks, before->lane);
}

HoldsReleased SqliteJobs::apply(const ReleaseHolds& request) {
  enter();
  HoldsReleased answer;
  const auto cell = backlogs_.find_cell_id(request.cell);
  if (!cell) return answer;
  for (const auto id : held_jobs(*cell, request.after, request.limit)) {
    touch();
    write_claim(id);
    const auto before = standing_of(id);
    auto marks = before->marks;
    marks.held = false;
    set_marks(id, *before, marks, before->lane);
    ++answer.released;
    answer.last = id;
  }
  return answer;
}

/// The first held jobs of the cell above this id, at most `limit`, in order.
std::vector<JobId> SqliteJobs::held_jobs(std::int64_t cell, JobId after, std::size_t limit) {
  const ResetAtEnd reset{select_held_};
  auto& row = select_held_.bind(1, cell).bind(2, to_integer(after));
  row.bind(3, static_cast<std::int64_t>(limit));
  std::vector<JobId> held;
  while (row.step()) held.push_back(to_id(row.integer(0)));
  return held;
}

void SqliteJobs::apply(const ChangeLane& request) {
  enter();
  const auto before = standing_of(request.id);
  if (!before || !is_runnable(before->state, before->marks)) return;
  touch();
  set_marks(request.id, *before, before->marks, backlogs_.lane_id(request.lane));
}

RunnableFetched SqliteJobs::apply(const FetchRunnable& request) {
  enter();
  RunnableFetched fetched;
  fetched.complete = true;
  const auto* cell = backlogs_.find_cell(request.cell);
  const auto lane = backlogs_.find_lane_id(request.lane);
  if (cell == nullptr || !lane) return fetched;
  const auto in_lane = cell->runnable.find(*lane);
  if (in_lane == cell->runnable.end()) return fetched;
  const auto& customers = in_lane->second;
  auto customer = request.after ? customers.upper_bound(request.customer)
                                : customers.lower_bound(request.customer);
  std::size_t bytes = 0;
  bool full = false;
  for (; customer != customers.end() && !full; ++customer) {
    const auto& except = request.except;
    if (std::binary_search(except.begin(), except.end(), customer->first)) continue;
    if (fetched.customers.size() >= std::max<std::size_t>(request.customers_max, 1)) break;
    RunnableOfCustomer best{customer->first, {}, false};
    const auto limit = std::max<std::size_t>(request.jobs_max, 1);
    for (const auto id : best_of(customer->second, *lane, limit, request.priority_step)) {
      auto job = load(id).job;
      bytes += approximate_bytes(*job);
      full = bytes > request.bytes_max && !(fetched.customers.empty() && best.jobs.empty());
      if (full) break;
      best.jobs.push_back(std::move(job));
    }
    if (best.jobs.empty()) break;
    std::uint64_t runnable = 0;
    for (const auto* backlog : customer->second) runnable += backlog->runnable_in(*lane);
    best.complete = best.jobs.size() == runnable;
    fetched.customers.push_back(std::move(best));
  }
  fetched.complete = customer == customers.end();
  return fetched;
}

/// The first runnable jobs of one customer's backlogs in one lane of a cell. Turns order them by
/// priority, then by place; with a priority step, the first job of any priority may be next. Each
/// scan meets its jobs in the order of their ranks, and ends at the first job that ranks behind all
/// `limit` jobs found so far.
std::vector<JobId> SqliteJobs::best_of(const std::vector<Backlogs::Backlog*>& backlogs,
                                       std::int64_t lane, std::size_t limit,
                                       milliseconds priority_step) {
  using Rank = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // (priority_rank, place, id)
  const auto first = lane * turns_per_lane;
  const auto end = first + turns_runnable;
  const bool is_strict = priority_step <= milliseconds{0};
  std::vector<Rank> best;  // A heap, with the last rank at its front.
  const auto take = [&](std::int64_t turn, std::int64_t place, std::int64_t id) {
    if (claims_.contains(to_id(id))) return true;
    const auto priority = static_cast<int>(end - turn);
    const Rank rank{priority_rank(priority, to_id(place), priority_step), place, id};
    if (best.size() == limit) {
      if (rank >= best.front()) return false;
      std::pop_heap(best.begin(), best.end());
      best.pop_back();
    }
    best.push_back(rank);
    std::push_heap(best.begin(), best.end());
    return true;
  };
  for (const auto* backlog : backlogs) {
    if (is_strict) {
      indexes_.scan_turns(backlog->cell, backlog->routing_key, first, end, take);
      continue;
    }
    for (auto turn = first; turn < end; ++turn) {
      indexes_.scan_turns(backlog->cell, backlog->routing_key, turn, turn + 1, take);
    }
  }
  std::sort_heap(best.begin(), best.end());
  std::vector<JobId> ids;
  ids.reserve(best.size());
  for (const auto& [rank, place, id] : best) ids.push_back(to_id(id));
  return ids;
}

// --- Committing ------------------------------------------------------------------------------

// Reads run in the transaction too: outside one, each statement would lock the write-ahead log and
// unlock it again. An open transaction blocks nothing, since no other connection writes.
void SqliteJobs::enter() {
  if (!connection_.in_transaction()) connection_.execute("BEGIN IMMEDIATE");
}

void SqliteJobs::touch() {
  enter();
  changed_ = true;
}

void SqliteJobs::commit() {
  enter();
  write_claims();
  indexes_.write_behind();
  backlogs_.save();
  batches_.save();
  if (last_place_ != saved_last_place_) {
    save_setting_.bind(1, std::string_view{"last_place"}).bind(2, to_integer(last_place_)).run();
    saved_last_place_ = last_place_;
  }
  connection_.execute("COMMIT");
  changed_ = false;
}

// --- Batches ---------------------------------------------------------------------------------

BatchOpened SqliteJobs::apply(const OpenBatch& request) {
  touch();
  return {batches_.open(request.id, request.owner, request.now)};
}

BatchClosed SqliteJobs::apply(const CloseBatch& request) {
  touch();
  return {batches_.close(request.id, request.now)};
}

CancelledMarked SqliteJobs::apply(const MarkCancelled& request) {
  touch();
  return {batches_.mark_cancelled(request.id, request.is_cancelled)};
}

InMemoryNoted SqliteJobs::apply(const NoteInMemory& request) {
  touch();
  batches_.count_in_memory(request.id, request.jobs);
  return {};
}

// --- Flushing --------------------------------------------------------------------------------

StoreFlushed SqliteJobs::apply(const FlushStore&) {
  if (!claims_.empty()) touch();
  return {};
}

// --- Jobs and lines --------------------------------------------------------------------------

std::optional<Standing> SqliteJobs::standing_of(JobId id) {
  if (const auto claim = claims_.find(id); claim != claims_.end()) return claim->second.standing;
  const ResetAtEnd reset{select_standing_};
  auto& row = select_standing_.bind(1, to_integer(id));
  if (!row.step()) return std::nullopt;
  Standing found;
  found.cell = row.integer(0);
  found.routing_key = row.integer(1);
  found.state = static_cast<JobState>(row.integer(2));
  found.place = to_id(row.integer(3));
  found.marks = decode_marks(row.integer(4));
  found.lane = lane_in_marks(row.integer(4));
  found.lease = {static_cast<std::uint64_t>(row.integer(5)),
                 static_cast<std::uint64_t>(row.integer(6))};
  found.turn = row.optional_integer(7);
  found.batch = to_id(row.integer(8));
  found.failed_ahead = to_id(row.integer(9));
  return found;
}

JobRow SqliteJobs::load(JobId id) {
  const ResetAtEnd reset{select_job_};
  if (!select_job_.bind(1, to_integer(id)).step()) {
    throw SqliteFailure("an index names a job that does not exist");
  }
  return read_job(select_job_, backlogs_);
}

/// A caller may report the job to a client. If the job is only claimed, touch() makes the answer
/// wait until the claim is on disk.
std::optional<JobRow> SqliteJobs::find(JobId id) {
  if (const auto claim = claims_.find(id); claim != claims_.end()) {
    touch();
    const auto& [job, standing] = claim->second;
    return JobRow{job, standing.marks, standing.cell, standing.routing_key, standing.lane};
  }
  const ResetAtEnd reset{select_job_};
  if (!select_job_.bind(1, to_integer(id)).step()) return std::nullopt;
  return read_job(select_job_, backlogs_);
}

/// Records a number that was used but may not be the id of a row in `jobs`: a place, or the id of a
/// removed job. New ids must be greater.
void SqliteJobs::note_place(JobId place) {
  last_place_ = std::max(last_place_, place);
  last_id_ = std::max(last_id_, place);
}

/// Moves a job to a cell, perhaps its own. No claim of the job may be pending. The job keeps its
/// place and its marks. Returns its queued_bytes if it is unfinished, else 0.
std::uint64_t SqliteJobs::move(JobId id, Standing& job, std::int64_t to) {
  const auto bytes = is_ended(job.state) ? 0 : queued_bytes(*load(id).job->spec);
  const auto before = job;
  job.cell = to;
  backlogs_.remove_stored(before.cell, job.routing_key);
  backlogs_.add_stored(to, job.routing_key);
  backlogs_.remove(before);
  backlogs_.add(job);
  if (bytes > 0) {
    backlogs_.remove_bytes(before, bytes);
    backlogs_.add_bytes(job, bytes);
  }
  indexes_.change(id, before, job);
  update_cell_.bind(1, to_integer(id)).bind(2, to).run();
  return bytes;
}

/// Replaces a stored job by `next`. If `next` has a place and the stored job had none, the job
/// joins its line; in the reverse case it leaves the line. Returns the job that became runnable
/// because this one left.
JobPtr SqliteJobs::replace(const Standing& before, const JobPtr& next, LineMarks marks) {
  const auto& entity = next->spec->entity;
  const bool enters = before.place == 0 && next->place != 0;
  const bool leaves = before.place != 0 && next->place == 0;
  if (enters) marks.head = head_of_line(before.routing_key, entity) == 0;
  if (!is_open(*next)) marks = {};
  const auto lane = backlogs_.lane_id(next->lane);
  const auto after = standing(*next, marks, before.cell, before.routing_key, lane);
  claims_.erase(next->id);
  update_.run(*next, marks, lane);
  indexes_.change(next->id, before, after, entity);
  backlogs_.remove(before);
  backlogs_.add(after);
  const bool was_ended = is_ended(before.state);
  if (was_ended != is_ended(next->state)) {
    const auto bytes = queued_bytes(*next->spec);
    was_ended ? backlogs_.add_bytes(after, bytes) : backlogs_.remove_bytes(after, bytes);
  }
  batches_.change(before, next->state, next->finished_at);
  return leaves && before.marks.head ? promote_next(before.routing_key, entity) : nullptr;
}

/// The first job in the line, or 0.
JobId SqliteJobs::head_of_line(std::int64_t routing_key, const Entity& entity) {
  return next_in_line(routing_key, entity, 1, 0);
}

/// The job in the line that is next behind this place, or 0.
JobId SqliteJobs::next_in_line(std::int64_t routing_key, const Entity& entity, JobId place,
                               JobId except) {
  JobId next = 0;
  indexes_.scan_line(routing_key, entity, place, [&](JobId id) {
    if (id == except) return true;
    const ResetAtEnd reset{is_job_of_line_};
    is_job_of_line_.bind(1, to_integer(id)).bind(2, routing_key);
    is_job_of_line_.bind(3, std::string_view{entity.type}).bind(4, std::string_view{entity.id});
    if (is_job_of_line_.step()) next = id;
    return next == 0;
  });
  return next;
}

/// Passes on the `failed_ahead` of a job that becomes `after`, if it has one to pass on. Returns
/// the job that took it, or 0.
JobId SqliteJobs::mark_follower(const Standing& before, const Job& after) {
  if (!is_ended(after.state) || before.place == 0) return 0;
  const auto failed_ahead = failed_up_to(after, last_id_);
  if (failed_ahead == 0) return 0;
  // A head is the first, even if a job with a lower place has come.
  const auto next = next_in_line(before.routing_key, after.spec->entity,
                                 before.marks.head ? 1 : before.place, after.id);
  if (next == 0) return 0;
  write_claim(next);
  if (!is_follower(*load(next).job, failed_ahead)) return 0;
  update_failed_ahead_.bind(1, to_integer(next)).bind(2, to_integer(failed_ahead)).run();
  return next;
}

/// Called after the head has left: makes the next job the head and returns it if it is runnable.
JobPtr SqliteJobs::promote_next(std::int64_t routing_key, const Entity& entity) {
  const auto id = head_of_line(routing_key, entity);
  if (id == 0) return nullptr;
  write_claim(id);
  const auto row = load(id);
  auto marks = row.marks;
  marks.head = true;
  const auto before = standing(*row.job, row.marks, row.cell, row.routing_key, row.lane);
  set_marks(id, before, marks, row.lane);
  return is_runnable(row.job->state, marks) ? row.job : nullptr;
}

void SqliteJobs::set_marks(JobId id, const Standing& before, LineMarks marks, std::int64_t lane) {
  auto after = before;
  after.marks = marks;
  after.lane = lane;
  update_marks_.bind(1, to_integer(id)).bind(2, encode_marks(marks, lane));
  update_marks_.bind(3, std::int64_t{is_runnable(before.state, marks)});
  if (!update_marks_.step()) throw SqliteFailure("an index names a job that does not exist");
  after.turn = update_marks_.integer(0);
  update_marks_.finish();
  update_marks_.reset();
  indexes_.change(id, before, after);
  backlogs_.remove(before);
  backlogs_.add(after);
}

void SqliteJobs::write_claims() {
  for (const auto& [id, claim] : claims_) write(claim);
  claims_.clear();
}

void SqliteJobs::write_claim(JobId id) {
  const auto claim = claims_.find(id);
  if (claim == claims_.end()) return;
  write(claim->second);
  claims_.erase(claim);
}

void SqliteJobs::write(const Claim& claim) {
  const auto& [job, before] = claim;
  update_.run(*job, before.marks, before.lane);
  const auto after = standing(*job, before.marks, before.cell, before.routing_key, before.lane);
  indexes_.change(job->id, before, after);
}

}  // namespace celld::store
