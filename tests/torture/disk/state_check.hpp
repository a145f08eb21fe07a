// Opens celld's store on a disk that a power cut left behind, and holds it to what was promised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/store/sqlite_reads.hpp"
#include "tests/torture/disk/promises.hpp"
#include "tests/torture/disk/simulated_disk.hpp"

namespace celld::disk {

class StateCheck {
 public:
  /// States are written below `scratch`, which is emptied; the store is at `data` in each.
  /// Ended jobs are kept for `retention_ms`.
  StateCheck(std::string scratch, const std::string& data, std::int64_t retention_ms);

  /// How the fault begins that an accepted job is not there.
  static constexpr std::string_view lost_job = "lost: job ";

  /// What is wrong. `complete`: nothing was lost, so that jobs that were seen to have ended, and
  /// are not there, have been removed for their age; they are forgotten.
  std::vector<std::string> check(const DiskState& state, Promises& promises, bool complete,
                                 std::int64_t wall_ms);

  /// Only puts the state there.
  void write(const DiskState& state);

 private:
  struct Row {
    int state = 0;
    std::string spec;
  };
  using Rows = std::unordered_map<cells::JobId, Row>;

  Rows read_rows() const;
  void check_jobs(const Rows& rows, Promises& promises, bool complete, std::int64_t wall_ms);
  void check_spec(cells::JobId id, const Row& row, const PromisedJob& promised);
  void check_sizes(const Promises& promises);
  void check_integrity();

  std::string scratch_;
  std::string data_;
  std::string database_;
  std::int64_t retention_ms_;
  /// Rows whose specification was found to be the promised one: as it is never changed, others are
  /// compared with them, which is quick.
  std::unordered_map<cells::JobId, std::string> known_specs_;
  std::optional<store::SqliteReads> reads_;  ///< Of the disk that is looked at, when needed.
  std::vector<std::string> faults_;
};

}  // namespace celld::disk
