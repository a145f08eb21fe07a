// The promises that celld's answers made to its clients. Every disk after a power cut must keep
// them.
#pragma once

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

/// A job that was answered with 202.
struct PromisedJob {
  json::Value spec;                  ///< The specification, as in the answer.
  std::optional<std::string> ended;  ///< The final state, once an answer reported it.
  bool seen_ended = false;           ///< Ended on a disk that had lost nothing.
};

/// (Customer, product) of a cell.
using CellName = std::pair<std::string, std::string>;

class Promises {
 public:
  /// Scans the whole log for retries and pool sizes: either may be on disk before it is answered.
  explicit Promises(const std::vector<Record>& log);

  /// Adds the promise of an answer. Call this in log order.
  void take(const Record& answer);

  const std::map<cells::JobId, PromisedJob>& jobs() const { return jobs_; }
  std::size_t accepted() const { return accepted_; }
  void see(cells::JobId id, bool ended) { jobs_.at(id).seen_ended = ended; }
  /// From now on, the job may be missing.
  void forget(cells::JobId id) { jobs_.erase(id); }
  /// The pool sizes that each cell may have now.
  std::map<CellName, std::set<std::int64_t>> sizes() const;

 private:
  struct Sizes {
    std::vector<std::int64_t> all;  ///< Of the whole log, in the order of the answers.
    std::size_t answered = 0;       ///< How many of them are answered by now.
  };
  void take_job(const json::Value& job, bool accepted);

  std::map<cells::JobId, PromisedJob> jobs_;
  std::set<std::string> retried_;  ///< Ids of jobs that are retried anywhere in the log.
  std::map<CellName, Sizes> sizes_;
  std::size_t accepted_ = 0;
};

/// The members of a job that celld never changes.
json::Value spec_of(const json::Value& job);

}  // namespace celld::disk
