// Reads of committed jobs on a connection of their own. Unless stated otherwise, the work for one
// read is bounded, whatever the filter and however many jobs there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cells/ports/job_store.hpp"
#include "src/json/json.hpp"
#include "src/store/read_limits.hpp"
#include "src/store/record.hpp"
#include "src/store/sqlite.hpp"

namespace celld::store {

/// Opens a read-only connection for use beside the writer's. Throws SqliteFailure.
Connection open_for_reading(const std::string& path);

/// Every member throws SqliteFailure if the database fails; a later call may succeed.
class SqliteReads {
 public:
  /// Opens a database that has been created and migrated.
  explicit SqliteReads(const std::string& path, const ReadLimits& limits = {});

  /// From when `stop` is true, reads that take long fail.
  void stop_when(std::shared_ptr<const std::atomic<bool>> stop) {
    connection_.stop_when(std::move(stop));
  }

  cells::JobFound read(const cells::FindJob& request);
  cells::JobsListed read(const cells::ListJobs& request);
  cells::OldestQueued read(const cells::FindOldestQueued& request);
  cells::BatchFound read(const cells::FindBatch& request);
  cells::BatchesListed read(const cells::ListBatches& request);
  /// Not bounded: reads every unfinished job.
  cells::NeedsCounted read(const cells::CountNeeds& request);

 private:
  /// Caches names, which never change.
  class CachedNames : public Names {
   public:
    CachedNames(Connection& connection, std::size_t names_max);
    const cells::CellKey& cell(std::int64_t id) override;
    const RoutingKey& routing_key(std::int64_t id) override;
    const std::string& lane(std::int64_t id) override;

   private:
    const std::size_t names_max_;
    Statement select_cell_;
    Statement select_routing_key_;
    Statement select_lane_;
    std::unordered_map<std::int64_t, cells::CellKey> cells_;
    std::unordered_map<std::int64_t, RoutingKey> routing_keys_;
    std::unordered_map<std::int64_t, std::string> lanes_;
  };

  cells::JobPtr find(cells::JobId id);
  std::map<std::string, std::uint64_t> count_needs(const json::Value& services,
                                                   const char* condition);
  std::vector<Statement> sources(const cells::JobFilter& filter, const IdRange& range);
  std::optional<std::vector<std::int64_t>> routing_keys(const cells::JobFilter& filter);
  bool may_match(const cells::JobFilter& filter, const Statement& row);
  std::optional<std::int64_t> cell_id(const cells::CellKey& key);
  std::int64_t oldest_indexed(std::int64_t cell);
  bool is_queued(std::int64_t job);
  std::int64_t indexed_id_now();

  const ReadLimits limits_;
  Connection connection_;
  CachedNames names_;
  Statement select_job_;
  Statement select_batch_;
  Statement select_indexed_id_;
  Statement select_cell_;
  Statement select_turns_;
  Statement select_state_;
  Statement select_recent_queued_;
};

}  // namespace celld::store
