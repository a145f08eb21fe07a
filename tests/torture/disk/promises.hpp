// What celld has told its clients, and so must be true of every disk that a power cut leaves
// behind.
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
  json::Value spec;                  ///< What was asked for, as the answer had it.
  std::optional<std::string> ended;  ///< The state at its end, once that was told.
  bool seen_ended = false;           ///< On a disk that had lost nothing.
};

/// Cell by (customer, product), and the size that an administrator gave its pool.
using CellName = std::pair<std::string, std::string>;

class Promises {
 public:
  /// Looks at the whole log first: what will be retried may be so before that is answered, and so
  /// may a size that is given later.
  explicit Promises(const std::vector<Record>& log);

  /// Takes in an answer, at its place in the log.
  void take(const Record& answer);

  const std::map<cells::JobId, PromisedJob>& jobs() const { return jobs_; }
  std::size_t accepted() const { return accepted_; }
  void see(cells::JobId id, bool ended) { jobs_.at(id).seen_ended = ended; }
  /// The job need not be there any more, from here on.
  void forget(cells::JobId id) { jobs_.erase(id); }
  /// Whether the pool of this cell may have that size now.
  std::map<CellName, std::set<std::int64_t>> sizes() const;

 private:
  struct Sizes {
    std::vector<std::int64_t> all;  ///< Of the whole log, as they were answered.
    std::size_t answered = 0;       ///< So many of them, by now.
  };
  void take_job(const json::Value& job, bool accepted);

  std::map<cells::JobId, PromisedJob> jobs_;
  std::set<std::string> retried_;  ///< Ids of the jobs that are, somewhere in the log.
  std::map<CellName, Sizes> sizes_;
  std::size_t accepted_ = 0;
};

/// The members of a job that celld never changes.
json::Value spec_of(const json::Value& job);

}  // namespace celld::disk
