// The cells and routing keys that the SQLite store knows, and the number of jobs that each cell has
// of each routing key. All of this is in memory, in proportion to the number of (cell, routing key)
// pairs and never to the number of jobs, and also on disk, in step with the jobs. No request about
// a whole cell has to read the cell's jobs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  };
  struct Backlog {
    std::int64_t cell = 0;
    std::int64_t routing_key = 0;
    Customer* customer = nullptr;
    cells::JobCounts counts;  ///< Of unfinished jobs.
    std::uint64_t settling = 0;
    /// The number of runnable jobs by lane; no zeros.
    std::vector<std::pair<std::int64_t, std::uint64_t>> runnable;
    bool dirty = false;     ///< It changed since the last commit.
    bool unmerged = false;  ///< `route_changes` has a row of it.

    bool open() const { return counts.unfinished() + settling != 0; }
    std::uint64_t runnable_in(std::int64_t lane) const;
  };
  /// Backlogs with runnable jobs; no empty lists.
  using ByCustomer = std::map<std::string, std::vector<Backlog*>>;
  struct Cell {
    cells::CellKey key;
    std::map<RoutingKey, Backlog*> backlogs;
    std::map<std::string, Customer> customers;
    std::map<std::int64_t, ByCustomer> runnable;  ///< By lane; no empty maps.
    cells::JobCounts counts;                      ///< Of unfinished jobs.
    std::uint64_t open = 0;                       ///< Unfinished and settling jobs.
  };

  /// Loads everything from the database. After a commit, `route_changes` has at most `changes_max`
  /// rows.
  Backlogs(Connection& connection, std::size_t changes_max);

  const cells::CellKey& cell(std::int64_t id) override;
  const RoutingKey& routing_key(std::int64_t id) override;
  const std::string& lane(std::int64_t id) override;

  // The database id of a cell, routing key or lane, assigned at first use.
  std::int64_t cell_id(const cells::CellKey& key);
  std::int64_t routing_key_id(const RoutingKey& routing_key);
  std::int64_t lane_id(const std::string& lane);
  /// Null if no job and no override ever named the cell.
  const Cell* find_cell(const cells::CellKey& key) const;
  std::optional<std::int64_t> find_cell_id(const cells::CellKey& key) const;
  std::optional<std::int64_t> find_routing_key_id(const RoutingKey& routing_key) const;
  std::optional<std::int64_t> find_lane_id(const std::string& lane) const;

  /// Ordered by key.
  const std::map<cells::CellKey, std::int64_t>& cells() const { return cell_ids_; }

  void add(const Standing& job) { count(job, 1); }
  void remove(const Standing& job) { count(job, -1); }
  /// The queued_bytes of an unfinished job have come or gone.
  void add_bytes(const Standing& job, std::uint64_t bytes);
  void remove_bytes(const Standing& job, std::uint64_t bytes) { add_bytes(job, 0 - bytes); }
  /// Null if no job of the customer was ever in the cell.
  const Customer* find_customer(const cells::CellKey& key, const std::string& customer) const;

  /// Writes the counts that changed. The rows of `routes` have as many keys as users have pairs of
  /// cell and routing key, so a commit appends to `route_changes`, whose last row for a pair is the
  /// valid one; when there are many changes, they go into `routes` in the order of its keys.
  void save();

 private:
  Backlog& backlog(std::int64_t cell, std::int64_t routing_key);
  void count(const Standing& job, int one);
  void count_runnable(Cell& in, Backlog& backlog, std::int64_t lane, std::int64_t by);
  void load_backlogs(Connection& connection);
  void save(Statement& statement, const Backlog& backlog);
  void merge_changes();

  Statement insert_cell_;
  Statement insert_routing_key_;
  Statement insert_lane_;
  Statement save_backlog_;
  Statement append_change_;
  Statement drop_changes_;
  const std::size_t changes_max_;
  std::map<cells::CellKey, std::int64_t> cell_ids_;
  std::map<RoutingKey, std::int64_t> routing_key_ids_;
  std::map<std::string, std::int64_t> lane_ids_;
  std::map<std::int64_t, std::string> lanes_;
  std::unordered_map<std::int64_t, Cell> cells_;
  std::unordered_map<std::int64_t, RoutingKey> routing_keys_;
  std::unordered_map<std::uint64_t, Backlog> backlogs_;  ///< By both ids.
  std::vector<Backlog*> dirty_;
  std::vector<Backlog*> unmerged_;
  std::size_t changes_ = 0;  ///< Rows of `route_changes`.
};

}  // namespace celld::store
