// Which jobs have a certain property, such as an entity, for readers. Like a BehindIndex, it is
// written to its table behind the commits, by generations of jobs; but the writer never looks
// anything up in it. To find entries that are not written yet, a reader reads the rows of all jobs
// with an id above Generations::written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "src/store/behind_index.hpp"

namespace celld::store {

class BehindList {
 public:
  struct Form {
    const char* table;       ///< Its columns are `column` and `job`.
    const char* partitions;  ///< As IndexTables::Form::partitions.
    const char* column;
  };
  BehindList(Connection& connection, const Form& form, const Generations& generations,
             const WriteLimits& limits);

  void add(std::int64_t property, std::int64_t job);
  /// The row of the job must be removed in the same transaction.
  void remove(std::int64_t property, std::int64_t job);

  // As in BehindIndex; after the last `load` comes `finish_loading`.
  void load(std::int64_t property, std::int64_t job) {
    (job <= generations_.moving ? moving_ : recent_).emplace_back(property, job);
  }
  void finish_loading();
  void start_move(std::size_t jobs);
  std::size_t move(std::size_t limit);
  void end_move();
  /// As IndexTables::tend.
  void tend(std::size_t jobs) { tables_.tend(jobs); }

 private:
  using Entries = std::vector<std::pair<std::int64_t, std::int64_t>>;

  const Generations& generations_;
  IndexTables tables_;
  Entries recent_;
  Entries moving_;  ///< Sorted.
  std::size_t moved_ = 0;
  std::unordered_set<std::int64_t> removed_;  ///< Of the jobs in `recent_` and `moving_`.
};

}  // namespace celld::store
