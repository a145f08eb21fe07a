// The promises that celld's answers made to its clients. Every disk after a power cut must keep
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cells/model/ids.hpp"
#include "src/json/json.hpp"
#include "tests/torture/disk/log_file.hpp"

namespace celld::disk {

/// The end of a job.
struct End {
  std::string state;
  std::int64_t finished_ms = 0;  ///< Tells the ends of a job that is reopened apart.
};

/// A job that was answered with 202.
struct PromisedJob {
  json::Value spec;  ///< The specification, as in the answer.
  std::string key;   ///< The idempotency key, which is also a label; empty: none.
  // What answers have reported since the last answered reopening.
  std::optional<End> end;
  bool cancel_requested = false;

  std::size_t steps_done = 0;    ///< These have succeeded.
  std::int64_t reopened_ms = 0;  ///< Ends until then were undone by an answered reopening.
  std::size_t retries_left = 0;  ///< Reopenings that are not answered yet; may be on disk.
  bool seen_ended = false;       ///< Ended on a disk that had lost nothing.
};

/// What an administrator set for a cell, as its answer shows it.
struct CellSetting {
  std::optional<std::int64_t> pool_size;  ///< None: as configured.
  std::string state;

  auto operator<=>(const CellSetting&) const = default;
};

/// (Customer, product) of a cell.
using CellName = std::pair<std::string, std::string>;

class Promises {
 public:
  /// Scans the whole log for reopenings and settings of cells: either may be on disk before it is
  /// answered. `retried`: ids of jobs that clients also tried to reopen without an answer.
  Promises(const std::vector<Record>& log, const std::set<std::string>& retried);

  /// Adds the promise of an answer. Call this in log order.
  void take(const Record& answer);

  const std::map<cells::JobId, PromisedJob>& jobs() const { return jobs_; }
  void see(cells::JobId id, bool ended) { jobs_.at(id).seen_ended = ended; }
  /// From now on, the job may be missing.
  void forget(cells::JobId id) { jobs_.erase(id); }
  /// The settings that each cell may have now.
  std::map<CellName, std::set<CellSetting>> cells() const;

 private:
  struct Settings {
    std::vector<CellSetting> all;  ///< Of the whole log, in the order of the answers.
    std::size_t answered = 0;      ///< How many of them are answered by now.
  };
  void take_job(const json::Value& document, bool accepted);

  std::map<cells::JobId, PromisedJob> jobs_;
  std::map<std::string, std::size_t> retries_;  ///< By id: how often the log reopens the job.
  std::map<CellName, Settings> cells_;
};

/// The members of a job that celld never changes.
json::Value spec_of(const json::Value& job);

}  // namespace celld::disk
