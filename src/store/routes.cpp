#include "src/store/routes.hpp"

#include <algorithm>

namespace celld::store {

using cells::CellKey;
using cells::JobState;

Standing standing(const cells::Job& job, const LineMarks& marks, std::int64_t cell,
                  std::int64_t origin) {
  return {cell, origin, job.state, job.place, marks, job.lease};
}

Routes::Routes(Connection& connection)
    : insert_cell_(connection, "INSERT INTO cells (id, customer, product) VALUES (?1, ?2, ?3)"),
      insert_origin_(connection, "INSERT INTO origins (id, customer, product) VALUES (?1, ?2, ?3)"),
      save_route_(connection,
                  "INSERT OR REPLACE INTO routes (cell, origin, scheduled, queued, running,"
                  " retrying, compensating, settling, runnable)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)") {
  for (Statement row{connection, "SELECT id, customer, product FROM cells"}; row.step();) {
    const CellKey key{std::string{row.text(1)}, std::string{row.text(2)}};
    cell_ids_[key] = row.integer(0);
    cells_[row.integer(0)].key = key;
  }
  for (Statement row{connection, "SELECT id, customer, product FROM origins"}; row.step();) {
    const Origin origin{std::string{row.text(1)}, std::string{row.text(2)}};
    origin_ids_[origin] = row.integer(0);
    origins_[row.integer(0)] = origin;
  }
  load_routes(connection);
}

void Routes::load_routes(Connection& connection) {
  Statement row{connection,
                "SELECT cell, origin, scheduled, queued, running, retrying, compensating,"
                " settling, runnable FROM routes"};
  while (row.step()) {
    const auto known = cells_.find(row.integer(0));
    if (known == cells_.end()) throw SqliteFailure("a count of jobs names an unknown cell");
    auto& in = known->second;
    auto& loaded = route(row.integer(0), row.integer(1));
    for (int state = 0; state < 5; ++state) {
      const auto count = static_cast<std::uint64_t>(row.integer(2 + state));
      loaded.counts[static_cast<JobState>(state)] = count;
      in.counts[static_cast<JobState>(state)] += count;
    }
    loaded.settling = static_cast<std::uint64_t>(row.integer(7));
    loaded.runnable = static_cast<std::uint64_t>(row.integer(8));
    in.open += loaded.counts.unfinished() + loaded.settling;
    if (loaded.runnable != 0) in.runnable[origin(loaded.origin).customer].push_back(&loaded);
  }
}

const CellKey& Routes::cell(std::int64_t id) {
  const auto found = cells_.find(id);
  if (found == cells_.end()) throw SqliteFailure("a stored job names an unknown cell");
  return found->second.key;
}

const Origin& Routes::origin(std::int64_t id) {
  const auto found = origins_.find(id);
  if (found == origins_.end()) throw SqliteFailure("a stored job names an unknown origin");
  return found->second;
}

std::int64_t Routes::cell_id(const CellKey& key) {
  const auto next = static_cast<std::int64_t>(cell_ids_.size()) + 1;
  const auto [found, added] = cell_ids_.try_emplace(key, next);
  if (!added) return found->second;
  cells_[next].key = key;
  insert_cell_.bind(1, next);
  insert_cell_.bind(2, std::string_view{key.customer}).bind(3, std::string_view{key.product}).run();
  return next;
}

std::int64_t Routes::origin_id(const Origin& origin) {
  const auto next = static_cast<std::int64_t>(origin_ids_.size()) + 1;
  const auto [found, added] = origin_ids_.try_emplace(origin, next);
  if (!added) return found->second;
  origins_[next] = origin;
  insert_origin_.bind(1, next);
  insert_origin_.bind(2, std::string_view{origin.customer});
  insert_origin_.bind(3, std::string_view{origin.product}).run();
  return next;
}

std::optional<std::int64_t> Routes::find_cell_id(const CellKey& key) const {
  const auto found = cell_ids_.find(key);
  return found == cell_ids_.end() ? std::nullopt : std::optional{found->second};
}

const Routes::Cell* Routes::find_cell(const CellKey& key) const {
  const auto id = find_cell_id(key);
  return id ? &cells_.at(*id) : nullptr;
}

std::optional<std::int64_t> Routes::find_origin_id(const Origin& origin) const {
  const auto found = origin_ids_.find(origin);
  return found == origin_ids_.end() ? std::nullopt : std::optional{found->second};
}

Routes::Route& Routes::route(std::int64_t cell, std::int64_t origin_number) {
  const auto both =
      static_cast<std::uint64_t>(cell) << 32 | static_cast<std::uint64_t>(origin_number);
  const auto [found, added] = routes_.try_emplace(both);
  if (added) {
    found->second.cell = cell;
    found->second.origin = origin_number;
    cells_.at(cell).routes[origins_.at(origin_number)] = &found->second;
  }
  return found->second;
}

void Routes::count(const Standing& job, int one) {
  const bool ended = is_ended(job.state);
  if (ended && job.place == 0) return;
  auto& in = cells_.at(job.cell);
  auto& counted = route(job.cell, job.origin);
  const auto by = static_cast<std::uint64_t>(one);  // Unsigned arithmetic wraps as it should.
  in.open += by;
  if (ended) {
    counted.settling += by;
  } else {
    counted.counts[job.state] += by;
    in.counts[job.state] += by;
  }
  if (is_runnable(job.state, job.marks)) count_runnable(in, counted, one);
  if (!std::exchange(counted.dirty, true)) dirty_.push_back(&counted);
}

void Routes::count_runnable(Cell& in, Route& route, int one) {
  const bool had = route.runnable != 0;
  route.runnable += static_cast<std::uint64_t>(one);
  const bool has = route.runnable != 0;
  if (had == has) return;
  const auto& customer = origin(route.origin).customer;
  auto& routes = in.runnable[customer];
  has ? routes.push_back(&route) : void(std::erase(routes, &route));
  if (routes.empty()) in.runnable.erase(customer);
}

void Routes::save() {
  for (auto* route : dirty_) {
    route->dirty = false;
    save_route_.bind(1, route->cell).bind(2, route->origin);
    for (int state = 0; state < 5; ++state) {
      save_route_.bind(3 + state,
                       static_cast<std::int64_t>(route->counts[static_cast<JobState>(state)]));
    }
    save_route_.bind(8, static_cast<std::int64_t>(route->settling));
    save_route_.bind(9, static_cast<std::int64_t>(route->runnable)).run();
  }
  dirty_.clear();
}

}  // namespace celld::store
