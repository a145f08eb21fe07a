// The operations of SqliteJobs on whole cells (starts, loads, backlogs, moves, overrides), and on
// schedules.
#include <algorithm>

#include "src/store/sqlite_jobs.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's messages.

namespace {

constexpr std::int64_t running_turn = turns_runnable + static_cast<std::int64_t>(JobState::running);

}  // namespace

/// The lanes but 0 in which the cell has runnable jobs, by name.
std::vector<std::int64_t> SqliteJobs::other_lanes(const Backlogs::Cell& cell) {
  std::vector<std::int64_t> lanes;
  for (const auto& [lane, customers] : cell.runnable) {
    if (lane != 0) lanes.push_back(lane);
  }
  std::sort(lanes.begin(), lanes.end(), [this](std::int64_t a, std::int64_t b) {
    return backlogs_.lane(a) < backlogs_.lane(b);
  });
  return lanes;
}

EpochStarted SqliteJobs::apply(const StartEpoch& request) {
  touch();
  batches_.start(request.kept, request.now);
  epoch_ = next_epoch(epoch_, request.now);
  save_setting_.bind(1, std::string_view{"epoch"}).bind(2, to_integer(epoch_)).run();
  return {epoch_, last_id_};
}

CellsLoaded SqliteJobs::apply(const LoadCells&) {
  CellsLoaded loaded;
  for (const auto& [key, id] : backlogs_.cells()) {
    if (backlogs_.find_cell(key)->open != 0) loaded.with_jobs.push_back(key);
  }
  loaded.overrides = overrides_;
  return loaded;
}

BacklogsListed SqliteJobs::apply(const ListBacklogs& request) {
  BacklogsListed listed;
  if (request.durability == Durability::memory) return listed;
  const RoutingKey after{request.after_customer, request.after_product};
  const auto& cells = backlogs_.cells();
  auto cell = request.after_cell ? cells.lower_bound(*request.after_cell) : cells.begin();
  for (; cell != cells.end(); ++cell) {
    const auto& backlogs = backlogs_.find_cell(cell->first)->by_routing_key;
    const bool resumed = request.after_cell && cell->first == *request.after_cell;
    for (auto backlog = resumed ? backlogs.upper_bound(after) : backlogs.begin();
         backlog != backlogs.end(); ++backlog) {
      if (!backlog->second->open()) continue;
      if (listed.backlogs.size() >= request.limit) return listed;
      listed.backlogs.push_back({cell->first, backlog->first.customer, backlog->first.product});
      listed.jobs.push_back(backlog->second->counts.unfinished() + backlog->second->settling);
    }
  }
  return listed;
}

JobsMoved SqliteJobs::apply(const MoveJobs& request) {
  const auto from = backlogs_.find_cell_id(request.from.cell);
  const auto routing_key =
      backlogs_.find_routing_key_id({request.from.customer, request.from.product});
  if (!from || !routing_key || request.from.cell == request.to) return {};
  touch();
  write_claims();
  const auto to = backlogs_.cell_id(request.to);
  std::vector<JobId> moving;
  const auto take = [&](std::int64_t turn, std::int64_t, std::int64_t id) {
    if (moving.size() >= request.limit) return false;
    if (turn != running_turn || request.running_too) moving.push_back(to_id(id));
    return true;
  };
  indexes_.scan_turns(*from, *routing_key, 0, turns_per_lane, take);
  for (const auto lane : other_lanes(*backlogs_.find_cell(request.from.cell))) {
    const auto first = lane * turns_per_lane;
    indexes_.scan_turns(*from, *routing_key, first, first + turns_runnable, take);
  }
  JobsMoved answer;
  for (const auto id : moving) {
    auto job = *standing_of(id);
    answer.counts.bytes += move(id, job, to);
    ++answer.moved;
    if (!is_ended(job.state)) ++answer.counts[job.state];
  }
  return answer;
}

CellLoaded SqliteJobs::apply(const LoadCell& request) {
  enter();
  CellLoaded loaded;
  const auto id = backlogs_.find_cell_id(request.cell);
  if (!id) return loaded;
  const auto& cell = *backlogs_.find_cell(request.cell);
  loaded.counts = cell.counts;
  for (const auto& [routing_key, backlog] : cell.by_routing_key) {
    if (backlog->counts[JobState::running] == 0) continue;
    std::vector<JobId> running;
    indexes_.scan_turns(*id, backlog->routing_key, running_turn, running_turn + 1,
                        [&](std::int64_t, std::int64_t, std::int64_t job) {
                          running.push_back(to_id(job));
                          return true;
                        });
    for (const auto job : running) loaded.running.push_back(load(job).job);
  }
  for (const auto& [claimed, claim] : claims_) {
    if (claim.standing.cell == *id) loaded.running.push_back(claim.job);
  }
  std::sort(loaded.running.begin(), loaded.running.end(),
            [](const JobPtr& a, const JobPtr& b) { return a->id < b->id; });
  loaded.runnable = cell.runnable.contains(0);
  loaded.held = !held_jobs(*id, 0, 1).empty();
  for (const auto lane : other_lanes(cell)) loaded.lanes.push_back(backlogs_.lane(lane));
  loaded.next_due = next_due(*id, {});
  return loaded;
}

SchedulesLoaded SqliteJobs::apply(const LoadSchedules& request) {
  enter();
  return {schedules_.list(request)};
}

ScheduleSaved SqliteJobs::apply(const SaveSchedule& request) {
  touch();
  schedules_.save(request.schedule);
  return {};
}

ScheduleRemoved SqliteJobs::apply(const RemoveSchedule& request) {
  touch();
  return {schedules_.remove(request.name)};
}

ScheduleAdvanced SqliteJobs::apply(const AdvanceSchedule& request) {
  touch();
  const bool applies = schedules_.accepts(request.advance);
  if (applies) schedules_.advance(request.advance, request.advance.after.last_job);
  return {applies};
}

CellOverrideSet SqliteJobs::apply(const SetCellOverride& request) {
  touch();
  const auto cell = backlogs_.cell_id(request.cell);
  save_quota(cell, request.change.quota);
  const auto stored = [](std::optional<std::uint32_t> number) {
    return number ? std::optional{std::int64_t{*number}} : std::nullopt;
  };
  if (request.change.is_none()) {
    overrides_.erase(request.cell);
    drop_override_.bind(1, cell).run();
  } else {
    overrides_[request.cell] = request.change;
    save_override_.bind(1, cell).bind(2, stored(request.change.pool_size));
    save_override_.bind(3, static_cast<std::int64_t>(request.change.state));
    save_override_.bind(4, stored(request.change.pool_burst));
    save_override_.bind(5, stored(request.change.pool_weight)).run();
  }
  return {};
}

void SqliteJobs::save_quota(std::int64_t cell, const QuotaOverride& quota) {
  drop_quota_.bind(1, cell).run();
  for (const auto& [limit, value] : quota) {
    save_quota_.bind(1, cell).bind(2, to_string(limit)).bind_real(3, value).run();
  }
}

void SqliteJobs::load_quotas() {
  Statement row{connection_, "SELECT cell, name, value FROM quota_overrides"};
  while (row.step()) {
    QuotaLimit limit{};
    if (!parse_quota_limit(row.text(1), limit)) {
      throw SqliteFailure("a stored quota has an unknown name");
    }
    overrides_[backlogs_.cell(row.integer(0))].quota[limit] = row.real(2);
  }
}

}  // namespace celld::store
