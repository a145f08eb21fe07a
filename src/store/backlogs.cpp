#include "src/store/backlogs.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace celld::store {
namespace {

constexpr const char* counts =
    "cell, origin, scheduled, queued, running, retrying, compensating, settling, runnable, lanes,"
    " bytes, stored";

using RunnableByLane = std::vector<std::pair<std::int64_t, std::uint64_t>>;

/// The column `lanes`: "lane:runnable", for each lane but 0, separated by spaces.
std::string lanes_text(const RunnableByLane& runnable) {
  std::string text;
  for (const auto& [lane, jobs] : runnable) {
    if (lane == 0) continue;
    if (!text.empty()) text += ' ';
    text += std::to_string(lane) + ':' + std::to_string(jobs);
  }
  return text;
}

RunnableByLane read_lanes(const std::string& text) {
  RunnableByLane lanes;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    auto& [lane, jobs] = lanes.emplace_back();
    const auto number = std::from_chars(at, end, lane);
    if (number.ec != std::errc{} || number.ptr == end || *number.ptr != ':') {
      throw SqliteFailure("the counts of a lane cannot be read");
    }
    const auto count = std::from_chars(number.ptr + 1, end, jobs);
    if (count.ec != std::errc{} || jobs == 0 || (count.ptr != end && *count.ptr != ' ')) {
      throw SqliteFailure("the counts of a lane cannot be read");
    }
    at = count.ptr == end ? end : count.ptr + 1;
  }
  return lanes;
}

std::string save_sql(const char* into) {
  return std::string{"INSERT OR REPLACE INTO "} + into + " (" + counts +
         ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
}

}  // namespace

using cells::CellKey;
using cells::JobState;

Standing standing(const cells::Job& job, const LineMarks& marks, std::int64_t cell,
                  std::int64_t routing_key, std::int64_t lane) {
  return {cell,      routing_key,     lane,      job.state,
          job.place, marks,           job.lease, turn_of(job, marks, lane),
          job.batch, job.failed_ahead};
}

Backlogs::Backlogs(Connection& connection, std::size_t changes_max)
    : insert_cell_(connection, "INSERT INTO cells (id, customer, product) VALUES (?1, ?2, ?3)"),
      insert_routing_key_(connection,
                          "INSERT INTO origins (id, customer, product) VALUES (?1, ?2, ?3)"),
      insert_lane_(connection, "INSERT INTO lanes (id, service) VALUES (?1, ?2)"),
      find_cell_(connection, "SELECT id FROM cells WHERE customer = ?1 AND product = ?2"),
      find_routing_key_(connection, "SELECT id FROM origins WHERE customer = ?1 AND product = ?2"),
      select_cell_(connection, "SELECT customer, product FROM cells WHERE id = ?1"),
      select_routing_key_(connection, "SELECT customer, product FROM origins WHERE id = ?1"),
      select_backlog_(connection, std::string{"SELECT "} + counts +
                                      " FROM routes WHERE cell = ?1 AND origin = ?2"),
      save_backlog_(connection, save_sql("routes")),
      drop_backlog_(connection, "DELETE FROM routes WHERE cell = ?1 AND origin = ?2"),
      drop_cell_(connection,
                 "DELETE FROM cells WHERE id = ?1"
                 " AND NOT EXISTS (SELECT 1 FROM routes WHERE cell = ?1)"
                 " AND NOT EXISTS (SELECT 1 FROM cell_overrides WHERE cell = ?1)"
                 " AND NOT EXISTS (SELECT 1 FROM quota_overrides WHERE cell = ?1)"),
      drop_routing_key_(connection,
                        "DELETE FROM origins WHERE id = ?1"
                        " AND NOT EXISTS (SELECT 1 FROM routes WHERE origin = ?1)"),
      append_change_(connection, save_sql("route_changes")),
      drop_changes_(connection, "DELETE FROM route_changes"),
      changes_max_(changes_max),
      last_cell_(connection.query_integer("SELECT ifnull(max(id), 0) FROM cells")),
      last_routing_key_(connection.query_integer("SELECT ifnull(max(id), 0) FROM origins")) {
  unused_cells_.insert(last_cell_);
  unused_routing_keys_.insert(last_routing_key_);
  load_lanes(connection);
  load_backlogs(connection);
}

void Backlogs::load_lanes(Connection& connection) {
  lane_ids_[""] = 0;
  lanes_[0] = "";
  for (Statement row{connection, "SELECT id, service FROM lanes"}; row.step();) {
    lanes_[row.integer(0)] = row.text(1);
    lane_ids_[std::string{row.text(1)}] = row.integer(0);
  }
}

void Backlogs::load_backlogs(Connection& connection) {
  Statement change{connection, std::string{"SELECT "} + counts +
                                   ", max(number) FROM route_changes GROUP BY cell, origin"};
  while (change.step()) {
    auto& changed = place_backlog(change.integer(0), change.integer(1));
    load(change, changed);
    changed.unmerged = true;
    unmerged_.push_back(&changed);
  }
  changes_ =
      static_cast<std::size_t>(connection.query_integer("SELECT count(*) FROM route_changes"));
  Statement row{connection, std::string{"SELECT "} + counts +
                                " FROM routes WHERE scheduled + queued + running + retrying"
                                " + compensating + settling > 0"};
  while (row.step()) {
    if (open_cell(row.integer(0)).backlogs.contains(row.integer(1))) continue;
    load(row, place_backlog(row.integer(0), row.integer(1)));
  }
}

/// `row` has the columns `counts`.
void Backlogs::load(const Statement& row, Backlog& backlog) {
  auto& in = open_cell(backlog.cell);
  for (int state = 0; state < 5; ++state) {
    const auto count = static_cast<std::uint64_t>(row.integer(2 + state));
    backlog.counts[static_cast<JobState>(state)] = count;
    in.counts[static_cast<JobState>(state)] += count;
  }
  backlog.settling = static_cast<std::uint64_t>(row.integer(7));
  backlog.customer->jobs += backlog.counts.unfinished();
  in.open += backlog.counts.unfinished() + backlog.settling;
  count_runnable(in, backlog, 0, row.integer(8));
  for (const auto& [lane, jobs] : read_lanes(std::string{row.text(9)})) {
    if (!lanes_.contains(lane)) throw SqliteFailure("a backlog count names an unknown lane");
    count_runnable(in, backlog, lane, static_cast<std::int64_t>(jobs));
  }
  const auto bytes = static_cast<std::uint64_t>(row.integer(10));
  for (auto* sum : {&backlog.counts.bytes, &in.counts.bytes, &backlog.customer->bytes}) {
    *sum += bytes;
  }
  backlog.stored = static_cast<std::uint64_t>(row.integer(11));
}

// --- Names -----------------------------------------------------------------------------------

const CellKey& Backlogs::cell(std::int64_t id) {
  if (const auto known = cells_.find(id); known != cells_.end()) return known->second.key;
  const ResetAtEnd reset{select_cell_};
  if (!select_cell_.bind(1, id).step()) throw SqliteFailure("a stored job names an unknown cell");
  named_cell_ = {std::string{select_cell_.text(0)}, std::string{select_cell_.text(1)}};
  return named_cell_;
}

const RoutingKey& Backlogs::routing_key(std::int64_t id) {
  if (const auto known = routing_keys_.find(id); known != routing_keys_.end()) {
    return known->second.key;
  }
  const ResetAtEnd reset{select_routing_key_};
  if (!select_routing_key_.bind(1, id).step()) {
    throw SqliteFailure("a stored job names an unknown routing key");
  }
  named_routing_key_ = {std::string{select_routing_key_.text(0)},
                        std::string{select_routing_key_.text(1)}};
  return named_routing_key_;
}

std::int64_t Backlogs::cell_id(const CellKey& key) {
  if (const auto known = cell_ids_.find(key); known != cell_ids_.end()) return known->second;
  const ResetAtEnd reset{find_cell_};
  find_cell_.bind(1, std::string_view{key.customer}).bind(2, std::string_view{key.product});
  const bool is_stored = find_cell_.step();
  const auto id = is_stored ? find_cell_.integer(0) : ++last_cell_;
  if (!is_stored) {
    insert_cell_.bind(1, id).bind(2, std::string_view{key.customer});
    insert_cell_.bind(3, std::string_view{key.product}).run();
  }
  keep_cell(id, key);
  return id;
}

std::int64_t Backlogs::routing_key_id(const RoutingKey& routing_key) {
  const auto known = routing_key_ids_.find(routing_key);
  if (known != routing_key_ids_.end()) return known->second;
  const ResetAtEnd reset{find_routing_key_};
  find_routing_key_.bind(1, std::string_view{routing_key.customer});
  find_routing_key_.bind(2, std::string_view{routing_key.product});
  const bool is_stored = find_routing_key_.step();
  const auto id = is_stored ? find_routing_key_.integer(0) : ++last_routing_key_;
  if (!is_stored) {
    insert_routing_key_.bind(1, id).bind(2, std::string_view{routing_key.customer});
    insert_routing_key_.bind(3, std::string_view{routing_key.product}).run();
  }
  keep_routing_key(id, routing_key);
  return id;
}

Backlogs::Cell& Backlogs::keep_cell(std::int64_t id, const CellKey& key) {
  cell_ids_[key] = id;
  unused_cells_.insert(id);
  auto& kept = cells_[id];
  kept.key = key;
  return kept;
}

Backlogs::KnownKey& Backlogs::keep_routing_key(std::int64_t id, const RoutingKey& routing_key) {
  routing_key_ids_[routing_key] = id;
  unused_routing_keys_.insert(id);
  auto& kept = routing_keys_[id];
  kept.key = routing_key;
  return kept;
}

Backlogs::Cell& Backlogs::open_cell(std::int64_t id) {
  const auto known = cells_.find(id);
  return known == cells_.end() ? keep_cell(id, cell(id)) : known->second;
}

Backlogs::KnownKey& Backlogs::open_routing_key(std::int64_t id) {
  const auto known = routing_keys_.find(id);
  return known == routing_keys_.end() ? keep_routing_key(id, routing_key(id)) : known->second;
}

const std::string& Backlogs::lane(std::int64_t id) {
  const auto found = lanes_.find(id);
  if (found == lanes_.end()) throw SqliteFailure("a stored job names an unknown lane");
  return found->second;
}

std::int64_t Backlogs::lane_id(const std::string& lane) {
  if (lane.empty()) return 0;
  const auto next = static_cast<std::int64_t>(lane_ids_.size());
  const auto [found, added] = lane_ids_.try_emplace(lane, next);
  if (!added) return found->second;
  lanes_[next] = lane;
  insert_lane_.bind(1, next).bind(2, std::string_view{lane}).run();
  return next;
}

std::optional<std::int64_t> Backlogs::find_lane_id(const std::string& lane) const {
  const auto found = lane_ids_.find(lane);
  return found == lane_ids_.end() ? std::nullopt : std::optional{found->second};
}

std::uint64_t Backlogs::Backlog::runnable_in(std::int64_t lane) const {
  for (const auto& [number, jobs] : runnable) {
    if (number == lane) return jobs;
  }
  return 0;
}

std::optional<std::int64_t> Backlogs::find_cell_id(const CellKey& key) const {
  const auto found = cell_ids_.find(key);
  return found == cell_ids_.end() ? std::nullopt : std::optional{found->second};
}

const Backlogs::Cell* Backlogs::find_cell(const CellKey& key) const {
  const auto id = find_cell_id(key);
  return id ? &cells_.at(*id) : nullptr;
}

std::optional<std::int64_t> Backlogs::find_routing_key_id(const RoutingKey& routing_key) const {
  const auto found = routing_key_ids_.find(routing_key);
  return found == routing_key_ids_.end() ? std::nullopt : std::optional{found->second};
}

// --- Counting --------------------------------------------------------------------------------

Backlogs::Backlog& Backlogs::backlog(std::int64_t cell, std::int64_t routing_key) {
  auto& in = open_cell(cell);
  const auto known = in.backlogs.find(routing_key);
  if (known != in.backlogs.end()) return known->second;
  auto& placed = place_backlog(cell, routing_key);
  const ResetAtEnd reset{select_backlog_};
  if (select_backlog_.bind(1, cell).bind(2, routing_key).step()) load(select_backlog_, placed);
  return placed;
}

Backlogs::Backlog& Backlogs::place_backlog(std::int64_t cell, std::int64_t routing_key) {
  auto& in = open_cell(cell);
  auto& known = open_routing_key(routing_key);
  ++known.backlogs;
  auto& placed = in.backlogs[routing_key];
  placed.cell = cell;
  placed.routing_key = routing_key;
  in.by_routing_key[known.key] = &placed;
  placed.customer = &in.customers[known.key.customer];
  ++placed.customer->backlogs;
  return placed;
}

void Backlogs::mark_dirty(Backlog& backlog) {
  if (!std::exchange(backlog.dirty, true)) dirty_.push_back(&backlog);
}

void Backlogs::store(std::int64_t cell, std::int64_t routing_key, int one) {
  auto& counted = backlog(cell, routing_key);
  counted.stored += static_cast<std::uint64_t>(one);  // -1 wraps: adding it subtracts one.
  mark_dirty(counted);
}

void Backlogs::count(const Standing& job, int one) {
  const bool ended = is_ended(job.state);
  if (ended && job.place == 0) return;
  auto& counted = backlog(job.cell, job.routing_key);
  auto& in = cells_.at(job.cell);
  const auto by = static_cast<std::uint64_t>(one);  // -1 wraps: adding it subtracts one.
  in.open += by;
  if (ended) {
    counted.settling += by;
  } else {
    counted.counts[job.state] += by;
    in.counts[job.state] += by;
    counted.customer->jobs += by;
  }
  if (is_runnable(job.state, job.marks)) count_runnable(in, counted, job.lane, one);
  mark_dirty(counted);
}

void Backlogs::add_bytes(const Standing& job, std::uint64_t bytes) {
  auto& counted = backlog(job.cell, job.routing_key);
  counted.counts.bytes += bytes;
  cells_.at(job.cell).counts.bytes += bytes;
  counted.customer->bytes += bytes;
  mark_dirty(counted);
}

const Backlogs::Customer* Backlogs::find_customer(const CellKey& key,
                                                  const std::string& customer) const {
  const auto* cell = find_cell(key);
  if (cell == nullptr) return nullptr;
  const auto found = cell->customers.find(customer);
  return found == cell->customers.end() ? nullptr : &found->second;
}

void Backlogs::count_runnable(Cell& in, Backlog& backlog, std::int64_t lane, std::int64_t by) {
  if (by == 0) return;
  auto& lanes = backlog.runnable;
  auto found = std::find_if(lanes.begin(), lanes.end(),
                            [lane](const auto& count) { return count.first == lane; });
  if (found != lanes.end()) {
    found->second += static_cast<std::uint64_t>(by);
    if (found->second != 0) return;
    lanes.erase(found);
  } else {
    lanes.emplace_back(lane, static_cast<std::uint64_t>(by));
  }
  const bool has = backlog.runnable_in(lane) != 0;
  const auto& customer = routing_key(backlog.routing_key).customer;
  auto& customers = in.runnable[lane];
  auto& backlogs = customers[customer];
  has ? backlogs.push_back(&backlog) : void(std::erase(backlogs, &backlog));
  if (backlogs.empty()) customers.erase(customer);
  if (customers.empty()) in.runnable.erase(lane);
}

// --- Saving ----------------------------------------------------------------------------------

void Backlogs::save() {
  for (auto* backlog : dirty_) {
    backlog->dirty = false;
    save(append_change_, *backlog);
    if (!std::exchange(backlog->unmerged, true)) unmerged_.push_back(backlog);
  }
  changes_ += dirty_.size();
  dirty_.clear();
  if (changes_ > changes_max_) merge_changes();
}

void Backlogs::save(Statement& statement, const Backlog& backlog) {
  statement.bind(1, backlog.cell).bind(2, backlog.routing_key);
  for (int state = 0; state < 5; ++state) {
    statement.bind(3 + state,
                   static_cast<std::int64_t>(backlog.counts[static_cast<JobState>(state)]));
  }
  statement.bind(8, static_cast<std::int64_t>(backlog.settling));
  statement.bind(9, static_cast<std::int64_t>(backlog.runnable_in(0)));
  const auto lanes = lanes_text(backlog.runnable);
  lanes.empty() ? statement.bind_null(10) : statement.bind(10, std::string_view{lanes});
  statement.bind(11, static_cast<std::int64_t>(backlog.counts.bytes));
  statement.bind(12, static_cast<std::int64_t>(backlog.stored));
  statement.run();
}

void Backlogs::merge_changes() {
  std::sort(unmerged_.begin(), unmerged_.end(), [](const Backlog* a, const Backlog* b) {
    return std::pair{a->cell, a->routing_key} < std::pair{b->cell, b->routing_key};
  });
  for (auto* backlog : unmerged_) {
    backlog->unmerged = false;
    if (backlog->stored == 0) {
      drop_backlog_.bind(1, backlog->cell).bind(2, backlog->routing_key).run();
    } else {
      save(save_backlog_, *backlog);
    }
    if (!backlog->open()) forget(*backlog);
  }
  unmerged_.clear();
  drop_changes_.run();
  changes_ = 0;
  forget_unused();
}

/// Removes a backlog without open jobs from memory.
void Backlogs::forget(const Backlog& backlog) {
  auto& in = cells_.at(backlog.cell);
  auto& known = routing_keys_.at(backlog.routing_key);
  if (--backlog.customer->backlogs == 0) in.customers.erase(known.key.customer);
  in.by_routing_key.erase(known.key);
  unused_cells_.insert(backlog.cell);
  unused_routing_keys_.insert(backlog.routing_key);
  --known.backlogs;
  in.backlogs.erase(backlog.routing_key);
}

/// False: it has backlogs in memory.
bool Backlogs::evict_cell(std::int64_t id) {
  const auto known = cells_.find(id);
  if (known == cells_.end()) return true;
  if (!known->second.backlogs.empty()) return false;
  cell_ids_.erase(known->second.key);
  cells_.erase(known);
  return true;
}

/// False: it has backlogs in memory.
bool Backlogs::evict_routing_key(std::int64_t id) {
  const auto known = routing_keys_.find(id);
  if (known == routing_keys_.end()) return true;
  if (known->second.backlogs != 0) return false;
  routing_key_ids_.erase(known->second.key);
  routing_keys_.erase(known);
  return true;
}

/// Removes cells and routing keys without backlogs from memory and, if they have no jobs at all,
/// from the database. The row with the greatest id stays, so that the id is not assigned again.
void Backlogs::forget_unused() {
  std::erase_if(unused_cells_, [this](std::int64_t id) {
    if (!evict_cell(id)) return true;
    if (id == last_cell_) return false;
    drop_cell_.bind(1, id).run();
    return true;
  });
  std::erase_if(unused_routing_keys_, [this](std::int64_t id) {
    if (!evict_routing_key(id)) return true;
    if (id == last_routing_key_) return false;
    drop_routing_key_.bind(1, id).run();
    return true;
  });
}

}  // namespace celld::store
