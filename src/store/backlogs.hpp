// The cells and routing keys of the jobs in the SQLite store, and the number of jobs that each cell
// has of each routing key, so that no request about a whole cell reads the cell's jobs.
//
// The counts are on disk in step with the jobs. This class keeps in memory the counts with open
// jobs and those that changed recently, so its memory use depends neither on the number of jobs nor
// on the customers of jobs that have ended. It also deletes counts without jobs from the database,
// and then the cells and routing keys without counts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cells/ports/job_store.hpp"
#include "src/store/record.hpp"

namespace celld::store {

/// The parts of a stored job that its backlog and the indexes depend on.
struct Standing {
  std::int64_t cell = 0;
  std::int64_t routing_key = 0;
  std::int64_t lane = 0;
  cells::JobState state = cells::JobState::queued;
  cells::JobId place = 0;
  LineMarks marks;
  cells::Lease lease;
  std::optional<std::int64_t> turn;  ///< In its row: see turn_of.
  cells::BatchId batch = 0;
  cells::JobId failed_ahead = 0;
};

Standing standing(const cells::Job& job, const LineMarks& marks, std::int64_t cell,
                  std::int64_t routing_key, std::int64_t lane);

class Backlogs : public Names {
 public:
  /// The unfinished jobs of one customer in one cell.
  struct Customer {
    std::uint64_t jobs = 0;
    std::uint64_t bytes = 0;
    std::size_t backlogs = 0;  ///< In memory.
  };
  struct Backlog {
    std::int64_t cell = 0;
    std::int64_t routing_key = 0;
    Customer* customer = nullptr;
    cells::JobCounts counts;  ///< Of unfinished jobs.
    std::uint64_t settling = 0;
    std::uint64_t stored = 0;  ///< All jobs, also those that have ended.
    /// The number of runnable jobs by lane; no zeros.
    std::vector<std::pair<std::int64_t, std::uint64_t>> runnable;
    bool dirty = false;     ///< It changed since the last commit.
    bool unmerged = false;  ///< `route_changes` has a row for it.

    bool open() const { return counts.unfinished() + settling != 0; }
    std::uint64_t runnable_in(std::int64_t lane) const;
  };
  /// Backlogs with runnable jobs; no empty lists.
  using ByCustomer = std::map<std::string, std::vector<Backlog*>>;
  struct Cell {
    cells::CellKey key;
    std::unordered_map<std::int64_t, Backlog> backlogs;  ///< By the id of the routing key.
    std::map<RoutingKey, Backlog*> by_routing_key;       ///< The same.
    std::map<std::string, Customer> customers;
    std::map<std::int64_t, ByCustomer> runnable;  ///< By lane; no empty maps.
    cells::JobCounts counts;                      ///< Of unfinished jobs.
    std::uint64_t open = 0;                       ///< Unfinished and settling jobs.
  };

  /// Loads the backlogs with open jobs. After a commit, `route_changes` has at most `changes_max`
  /// rows.
  Backlogs(Connection& connection, std::size_t changes_max);

  // References are valid until the next call.
  const cells::CellKey& cell(std::int64_t id) override;
  const RoutingKey& routing_key(std::int64_t id) override;
  const std::string& lane(std::int64_t id) override;

  // The database id of a cell, routing key or lane, assigned at first use. An id is never assigned
  // again, because readers remember names by id.
  std::int64_t cell_id(const cells::CellKey& key);
  std::int64_t routing_key_id(const RoutingKey& routing_key);
  std::int64_t lane_id(const std::string& lane);
  // Look only in memory, which has all lanes, and at least the cells and routing keys with
  // unfinished or settling jobs. None for other names.
  const Cell* find_cell(const cells::CellKey& key) const;
  std::optional<std::int64_t> find_cell_id(const cells::CellKey& key) const;
  std::optional<std::int64_t> find_routing_key_id(const RoutingKey& routing_key) const;
  std::optional<std::int64_t> find_lane_id(const std::string& lane) const;

  /// Those in memory, ordered by key: at least all with open jobs.
  const std::map<cells::CellKey, std::int64_t>& cells() const { return cell_ids_; }

  /// A job has come, by a submission or from another cell.
  void add_stored(std::int64_t cell, std::int64_t routing_key) { store(cell, routing_key, 1); }
  /// A job has gone, to another cell or for good.
  void remove_stored(std::int64_t cell, std::int64_t routing_key) { store(cell, routing_key, -1); }
  void add(const Standing& job) { count(job, 1); }
  void remove(const Standing& job) { count(job, -1); }
  /// The queued_bytes of an unfinished job have come or gone.
  void add_bytes(const Standing& job, std::uint64_t bytes);
  void remove_bytes(const Standing& job, std::uint64_t bytes) { add_bytes(job, 0 - bytes); }
  /// Null only if the customer has no open jobs in the cell.
  const Customer* find_customer(const cells::CellKey& key, const std::string& customer) const;

  /// Writes the counts that changed. The table `routes` has a row for each pair of cell and routing
  /// key, so the changes of a commit are scattered over it. A commit appends to `route_changes`
  /// instead, whose last row for a pair is the valid one; once there are many changes, save()
  /// merges them into `routes`, in the order of its keys. It then deletes the counts, cells and
  /// routing keys without jobs.
  void save();

 private:
  struct KnownKey {
    RoutingKey key;
    std::size_t backlogs = 0;  ///< In memory.
  };

  void load_lanes(Connection& connection);
  void load_backlogs(Connection& connection);
  void load(const Statement& row, Backlog& backlog);
  Cell& keep_cell(std::int64_t id, const cells::CellKey& key);
  KnownKey& keep_routing_key(std::int64_t id, const RoutingKey& routing_key);
  Cell& open_cell(std::int64_t id);
  KnownKey& open_routing_key(std::int64_t id);
  Backlog& backlog(std::int64_t cell, std::int64_t routing_key);
  Backlog& place_backlog(std::int64_t cell, std::int64_t routing_key);
  void mark_dirty(Backlog& backlog);
  void store(std::int64_t cell, std::int64_t routing_key, int one);
  void count(const Standing& job, int one);
  void count_runnable(Cell& in, Backlog& backlog, std::int64_t lane, std::int64_t by);
  void save(Statement& statement, const Backlog& backlog);
  void merge_changes();
  void forget(const Backlog& backlog);
  bool evict_cell(std::int64_t id);
  bool evict_routing_key(std::int64_t id);
  void forget_unused();

  Statement insert_cell_;
  Statement insert_routing_key_;
  Statement insert_lane_;
  Statement find_cell_;
  Statement find_routing_key_;
  Statement select_cell_;
  Statement select_routing_key_;
  Statement select_backlog_;
  Statement save_backlog_;
  Statement drop_backlog_;
  Statement drop_cell_;
  Statement drop_routing_key_;
  Statement append_change_;
  Statement drop_changes_;
  const std::size_t changes_max_;
  std::map<cells::CellKey, std::int64_t> cell_ids_;
  std::map<RoutingKey, std::int64_t> routing_key_ids_;
  std::map<std::string, std::int64_t> lane_ids_;
  std::map<std::int64_t, std::string> lanes_;
  std::unordered_map<std::int64_t, Cell> cells_;
  std::unordered_map<std::int64_t, KnownKey> routing_keys_;
  cells::CellKey named_cell_;          ///< The last answer of `cell` from the database.
  RoutingKey named_routing_key_;       ///< The same of `routing_key`.
  std::int64_t last_cell_ = 0;         ///< The greatest id; its row stays.
  std::int64_t last_routing_key_ = 0;  ///< The same.
  // Ids of cells and routing keys that may no longer have jobs.
  std::set<std::int64_t> unused_cells_;
  std::set<std::int64_t> unused_routing_keys_;
  std::vector<Backlog*> dirty_;
  std::vector<Backlog*> unmerged_;
  std::size_t changes_ = 0;  ///< Rows of `route_changes`.
};

}  // namespace celld::store
