#include "src/store/backlogs.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace celld::store {
namespace {

constexpr const char* counts =
    "cell, origin, scheduled, queued, running, retrying, compensating, settling, runnable, lanes,"
    " bytes";

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
         ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
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
      save_backlog_(connection, save_sql("routes")),
      append_change_(connection, save_sql("route_changes")),
      drop_changes_(connection, "DELETE FROM route_changes"),
      changes_max_(changes_max) {
  for (Statement row{connection, "SELECT id, customer, product FROM cells"}; row.step();) {
    const CellKey key{std::string{row.text(1)}, std::string{row.text(2)}};
    cell_ids_[key] = row.integer(0);
    cells_[row.integer(0)].key = key;
  }
  for (Statement row{connection, "SELECT id, customer, product FROM origins"}; row.step();) {
    const RoutingKey routing_key{std::string{row.text(1)}, std::string{row.text(2)}};
    routing_key_ids_[routing_key] = row.integer(0);
    routing_keys_[row.integer(0)] = routing_key;
  }
  lane_ids_[""] = 0;
  lanes_[0] = "";
  for (Statement row{connection, "SELECT id, service FROM lanes"}; row.step();) {
    lanes_[row.integer(0)] = row.text(1);
    lane_ids_[std::string{row.text(1)}] = row.integer(0);
  }
  load_backlogs(connection);
}

void Backlogs::load_backlogs(Connection& connection) {
  Statement row{connection, std::string{"SELECT "} + counts + " FROM route_counts"};
  while (row.step()) {
    const auto known = cells_.find(row.integer(0));
    if (known == cells_.end()) throw SqliteFailure("a backlog count names an unknown cell");
    auto& in = known->second;
    auto& loaded = backlog(row.integer(0), row.integer(1));
    for (int state = 0; state < 5; ++state) {
      const auto count = static_cast<std::uint64_t>(row.integer(2 + state));
      loaded.counts[static_cast<JobState>(state)] = count;
      in.counts[static_cast<JobState>(state)] += count;
    }
    loaded.settling = static_cast<std::uint64_t>(row.integer(7));
    loaded.customer->jobs += loaded.counts.unfinished();
    in.open += loaded.counts.unfinished() + loaded.settling;
    count_runnable(in, loaded, 0, row.integer(8));
    for (const auto& [lane, jobs] : read_lanes(std::string{row.text(9)})) {
      if (!lanes_.contains(lane)) throw SqliteFailure("a backlog count names an unknown lane");
      count_runnable(in, loaded, lane, static_cast<std::int64_t>(jobs));
    }
    const auto bytes = static_cast<std::uint64_t>(row.integer(10));
    for (auto* sum : {&loaded.counts.bytes, &in.counts.bytes, &loaded.customer->bytes}) {
      *sum += bytes;
    }
  }
  for (Statement change{connection, "SELECT cell, origin FROM route_changes"}; change.step();) {
    auto& changed = backlog(change.integer(0), change.integer(1));
    if (!std::exchange(changed.unmerged, true)) unmerged_.push_back(&changed);
    ++changes_;
  }
}

const CellKey& Backlogs::cell(std::int64_t id) {
  const auto found = cells_.find(id);
  if (found == cells_.end()) throw SqliteFailure("a stored job names an unknown cell");
  return found->second.key;
}

const RoutingKey& Backlogs::routing_key(std::int64_t id) {
  const auto found = routing_keys_.find(id);
  if (found == routing_keys_.end()) {
    throw SqliteFailure("a stored job names an unknown routing key");
  }
  return found->second;
}

std::int64_t Backlogs::cell_id(const CellKey& key) {
  const auto next = static_cast<std::int64_t>(cell_ids_.size()) + 1;
  const auto [found, added] = cell_ids_.try_emplace(key, next);
  if (!added) return found->second;
  cells_[next].key = key;
  insert_cell_.bind(1, next);
  insert_cell_.bind(2, std::string_view{key.customer}).bind(3, std::string_view{key.product}).run();
  return next;
}

std::int64_t Backlogs::routing_key_id(const RoutingKey& routing_key) {
  const auto next = static_cast<std::int64_t>(routing_key_ids_.size()) + 1;
  const auto [found, added] = routing_key_ids_.try_emplace(routing_key, next);
  if (!added) return found->second;
  routing_keys_[next] = routing_key;
  insert_routing_key_.bind(1, next);
  insert_routing_key_.bind(2, std::string_view{routing_key.customer});
  insert_routing_key_.bind(3, std::string_view{routing_key.product}).run();
  return next;
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

Backlogs::Backlog& Backlogs::backlog(std::int64_t cell, std::int64_t routing_key_number) {
  const auto both =
      static_cast<std::uint64_t>(cell) << 32 | static_cast<std::uint64_t>(routing_key_number);
  const auto [found, added] = backlogs_.try_emplace(both);
  if (added) {
    found->second.cell = cell;
    found->second.routing_key = routing_key_number;
    const auto& key = routing_keys_.at(routing_key_number);
    auto& in = cells_.at(cell);
    in.backlogs[key] = &found->second;
    found->second.customer = &in.customers[key.customer];
  }
  return found->second;
}

void Backlogs::count(const Standing& job, int one) {
  const bool ended = is_ended(job.state);
  if (ended && job.place == 0) return;
  auto& in = cells_.at(job.cell);
  auto& counted = backlog(job.cell, job.routing_key);
  const auto by = static_cast<std::uint64_t>(one);  // -1 wraps, so that adding it subtracts one.
  in.open += by;
  if (ended) {
    counted.settling += by;
  } else {
    counted.counts[job.state] += by;
    in.counts[job.state] += by;
    counted.customer->jobs += by;
  }
  if (is_runnable(job.state, job.marks)) count_runnable(in, counted, job.lane, one);
  if (!std::exchange(counted.dirty, true)) dirty_.push_back(&counted);
}

void Backlogs::add_bytes(const Standing& job, std::uint64_t bytes) {
  auto& counted = backlog(job.cell, job.routing_key);
  counted.counts.bytes += bytes;
  cells_.at(job.cell).counts.bytes += bytes;
  counted.customer->bytes += bytes;
  if (!std::exchange(counted.dirty, true)) dirty_.push_back(&counted);
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
  statement.run();
}

void Backlogs::merge_changes() {
  std::sort(unmerged_.begin(), unmerged_.end(), [](const Backlog* a, const Backlog* b) {
    return std::pair{a->cell, a->routing_key} < std::pair{b->cell, b->routing_key};
  });
  for (auto* backlog : unmerged_) {
    backlog->unmerged = false;
    save(save_backlog_, *backlog);
  }
  unmerged_.clear();
  drop_changes_.run();
  changes_ = 0;
}

}  // namespace celld::store
