#include "src/store/batch_rows.hpp"

#include <set>
#include <string>
#include <utility>
#include <variant>

#include "src/json/json.hpp"

namespace celld::store {

using cells::Batch;
using cells::BatchId;
using cells::BatchInMemory;
using cells::WallTime;

namespace {

constexpr std::int64_t open_mark = 1;
constexpr std::int64_t cancelled_mark = 2;
constexpr std::int64_t in_memory_mark = 4;

constexpr int first_count = 7;  // The column of the first state.
constexpr int in_memory_column = first_count + static_cast<int>(cells::job_state_count);

std::int64_t to_ms(WallTime time) {
  return time.time_since_epoch().count();
}

std::int64_t marks_of(const Batch& batch) {
  return (batch.is_open ? open_mark : 0) | (batch.is_cancelled ? cancelled_mark : 0) |
         (batch.in_memory == cells::BatchInMemory{} ? 0 : in_memory_mark);
}

[[noreturn]] void unreadable() {
  throw SqliteFailure("a count of a stored batch cannot be read");
}

std::uint64_t read_count(const Statement& row, int column) {
  const auto count = row.integer(column);
  if (count < 0) unreadable();
  return static_cast<std::uint64_t>(count);
}

/// The column `in_memory`; empty stands for NULL.
std::string in_memory_text(const BatchInMemory& jobs) {
  if (jobs == BatchInMemory{}) return "";
  auto text = "[" + std::to_string(jobs.stored) + ',';
  text += jobs.last_end ? std::to_string(to_ms(*jobs.last_end)) : "null";
  for (const auto count : jobs.counts.by_state) text += ',' + std::to_string(count);
  return text + ']';
}

/// Throws SqliteFailure for text that `in_memory_text` cannot have written.
BatchInMemory read_in_memory(std::string_view text) {
  const auto parsed = json::parse(text);
  const auto* document = std::get_if<json::Document>(&parsed);
  BatchInMemory jobs;
  if (document == nullptr || !document->value.is_array() ||
      document->value.size() != 2 + jobs.counts.by_state.size()) {
    unreadable();
  }
  const auto& numbers = document->value;
  const auto number = [&](std::size_t i) {
    if (!numbers[i].is_number_unsigned()) unreadable();
    return numbers[i].get<std::uint64_t>();
  };
  jobs.stored = number(0);
  if (!numbers[1].is_null()) {
    jobs.last_end = WallTime{cells::milliseconds{static_cast<std::int64_t>(number(1))}};
  }
  for (std::size_t i = 0; i < jobs.counts.by_state.size(); ++i) {
    jobs.counts.by_state[i] = number(2 + i);
  }
  return jobs;
}

}  // namespace

std::string select_batches(const char* where) {
  return std::string{
             "SELECT id, token, customer, created_at, last_end, marks, stored, scheduled, queued,"
             " running, retrying, compensating, succeeded, failed, cancelled, in_memory, forgotten"
             " FROM batches "} +
         where;
}

Batch read_batch(const Statement& row) {
  Batch batch;
  batch.id = to_id(row.integer(0));
  batch.owner = {std::string{row.text(1)}, std::string{row.text(2)}};
  batch.created_at = WallTime{cells::milliseconds{row.integer(3)}};
  if (const auto at = row.optional_integer(4)) batch.last_end = WallTime{cells::milliseconds{*at}};
  batch.is_open = (row.integer(5) & open_mark) != 0;
  batch.is_cancelled = (row.integer(5) & cancelled_mark) != 0;
  batch.stored = read_count(row, 6);
  int column = first_count;
  for (auto& count : batch.counts.by_state) count = read_count(row, column++);
  if ((row.integer(5) & in_memory_mark) != 0) {
    batch.in_memory = read_in_memory(row.text(in_memory_column));
  }
  batch.forgotten = read_count(row, in_memory_column + 1);
  return batch;
}

BatchRows::BatchRows(Connection& connection, std::size_t kept_max)
    : kept_max_(kept_max),
      insert_(connection,
              "INSERT INTO batches VALUES (?1, ?2, ?3, ?4, NULL, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
              "NULL, 0)"),
      select_(connection, select_batches("WHERE id = ?1")),
      update_(connection,
              "UPDATE batches SET last_end = ?2, marks = ?3, stored = ?4, scheduled = ?5,"
              " queued = ?6, running = ?7, retrying = ?8, compensating = ?9, succeeded = ?10,"
              " failed = ?11, cancelled = ?12, in_memory = ?13, forgotten = ?14 WHERE id = ?1"),
      delete_(connection, "DELETE FROM batches WHERE id = ?1"),
      select_unsettled_(connection,
                        "SELECT id FROM batches INDEXED BY batches_marked"
                        " WHERE marks <> 0 AND marks & 5"),
      select_deserted_(
          connection,
          "SELECT id, last_end FROM batches INDEXED BY batches_deserted WHERE stored = 0"
          " AND last_end < ?1 AND NOT marks & 1 ORDER BY last_end, id LIMIT ?2") {}

bool BatchRows::open(BatchId id, const cells::BatchOwner& owner, WallTime now) {
  if (find(id) != nullptr) return false;
  insert_.bind(1, to_integer(id)).bind(2, std::string_view{owner.token});
  insert_.bind(3, std::string_view{owner.customer}).bind(4, to_ms(now)).run();
  return true;
}

std::optional<Batch> BatchRows::close(BatchId id, WallTime now) {
  auto* entry = find(id);
  if (entry == nullptr) return std::nullopt;
  if (entry->batch.is_open) cells::close(touch(id)->batch, now);
  return entry->batch;
}

void BatchRows::start(const std::map<BatchId, BatchInMemory>& kept, WallTime now) {
  save();  // The statement below reads the rows.
  std::set<BatchId> unsettled;
  {
    const ResetAtEnd reset{select_unsettled_};
    while (select_unsettled_.step()) unsettled.insert(to_id(select_unsettled_.integer(0)));
  }
  for (const auto& [id, jobs] : kept) unsettled.insert(id);
  for (const auto id : unsettled) {
    auto* entry = touch(id);
    if (entry == nullptr) continue;
    if (entry->batch.is_open) cells::close(entry->batch, now);
    const auto found = kept.find(id);
    forget_memory(entry->batch, found == kept.end() ? BatchInMemory{} : found->second, now);
  }
}

void BatchRows::count_in_memory(BatchId id, const BatchInMemory& jobs) {
  auto* entry = touch(id);
  if (entry == nullptr) return;
  const bool had_jobs = entry->batch.stored > 0;
  cells::count_in_memory(entry->batch, jobs);
  if (had_jobs && is_deserted(entry->batch)) drop(id);
}

bool BatchRows::mark_cancelled(BatchId id, bool is_cancelled) {
  auto* entry = find(id);
  if (entry == nullptr) return false;
  if (entry->batch.is_cancelled != is_cancelled) touch(id)->batch.is_cancelled = is_cancelled;
  return true;
}

void BatchRows::add(const cells::Job& job) {
  if (auto* entry = touch(job.batch)) add_job(entry->batch, job);
}

void BatchRows::change(const Standing& before, cells::JobState after,
                       std::optional<WallTime> ended_at) {
  if (before.batch == 0 || before.state == after) return;
  if (auto* entry = touch(before.batch)) change_job(entry->batch, before.state, after, ended_at);
}

void BatchRows::remove(BatchId id) {
  auto* entry = touch(id);
  if (entry == nullptr) return;
  remove_job(entry->batch);
  if (is_deserted(entry->batch)) drop(id);
}

BatchRows::Removed BatchRows::remove_deserted(WallTime before, std::size_t limit) {
  save();  // The statement below reads the rows.
  std::vector<BatchId> deserted;
  Removed removed;
  {
    const ResetAtEnd reset{select_deserted_};
    select_deserted_.bind(1, to_ms(before)).bind(2, static_cast<std::int64_t>(limit));
    while (select_deserted_.step()) {
      deserted.push_back(to_id(select_deserted_.integer(0)));
      removed.last_end = WallTime{cells::milliseconds{select_deserted_.integer(1)}};
    }
  }
  for (const auto id : deserted) drop(id);
  removed.batches = deserted.size();
  return removed;
}

void BatchRows::save() {
  for (const auto id : std::exchange(dirty_, {})) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;  // It was removed.
    auto& [batch, is_dirty] = found->second;
    is_dirty = false;
    update_.bind(1, to_integer(id));
    update_.bind(2, batch.last_end ? std::optional{to_ms(*batch.last_end)} : std::nullopt);
    update_.bind(3, marks_of(batch)).bind(4, static_cast<std::int64_t>(batch.stored));
    int at = 5;
    for (const auto count : batch.counts.by_state) {
      update_.bind(at++, static_cast<std::int64_t>(count));
    }
    const auto in_memory = in_memory_text(batch.in_memory);
    in_memory.empty() ? update_.bind_null(at) : update_.bind(at, std::string_view{in_memory});
    update_.bind(at + 1, static_cast<std::int64_t>(batch.forgotten));
    update_.run();
  }
  if (entries_.size() > kept_max_) entries_.clear();
}

/// Valid until the next call.
BatchRows::Entry* BatchRows::find(BatchId id) {
  if (id == 0) return nullptr;
  if (const auto known = entries_.find(id); known != entries_.end()) return &known->second;
  const ResetAtEnd reset{select_};
  if (!select_.bind(1, to_integer(id)).step()) return nullptr;
  return &entries_.emplace(id, Entry{read_batch(select_), false}).first->second;
}

/// Like find, for a row that is about to change.
BatchRows::Entry* BatchRows::touch(BatchId id) {
  auto* entry = find(id);
  if (entry != nullptr && !std::exchange(entry->is_dirty, true)) dirty_.push_back(id);
  return entry;
}

void BatchRows::drop(BatchId id) {
  entries_.erase(id);
  delete_.bind(1, to_integer(id)).run();
}

}  // namespace celld::store
