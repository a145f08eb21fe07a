// Opens celld's store on a disk that a power cut left behind, and checks it against the promises.
#pragma once

#include <array>
#include <cstddef>
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
  /// Writes each state to `scratch`, whose other content it removes; `data` is the store's
  /// directory in it. Retention keeps ended jobs for `retention_ms`.
  StateCheck(std::string scratch, const std::string& data, std::int64_t retention_ms);

  /// The beginnings of the faults that report something acknowledged as missing.
  static constexpr std::array<std::string_view, 8> losses{"lost: job ",
                                                          "lost: the end of job ",
                                                          "lost: the reopening of job ",
                                                          "lost: the cancellation of job ",
                                                          "lost: a step of job ",
                                                          "lost: the idempotency key of job ",
                                                          "lost: the pool size of cell ",
                                                          "lost: the state of cell "};

  /// Returns the faults. `complete`: the disk has lost nothing, so retention must have removed an
  /// ended job that is missing; the promises then forget it.
  std::vector<std::string> check(const DiskState& state, Promises& promises, bool complete,
                                 std::int64_t wall_ms);

  /// Writes the state without checking it.
  void write(const DiskState& state);

 private:
  struct Row {
    std::string state;
    std::int64_t finished_ms = 0;  ///< 0: it has not ended.
    bool cancel_requested = false;
    std::size_t steps_done = 0;
    std::string key;
    std::string spec;
  };
  using Rows = std::unordered_map<cells::JobId, Row>;

  Rows read_rows() const;
  void check_jobs(const Rows& rows, Promises& promises, bool complete, std::int64_t wall_ms);
  void check_spec(cells::JobId id, const Row& row, const PromisedJob& promised);
  void check_progress(cells::JobId id, const Row& row, const PromisedJob& promised);
  void check_cells(const Promises& promises);
  void expect(bool condition, std::size_t loss, const std::string& what);
  void check_integrity();

  std::string scratch_;
  std::string data_;
  std::string database_;
  std::int64_t retention_ms_;
  /// Specifications that were found to be the promised ones. They never change, so that later rows
  /// need only be compared with these, which is fast.
  std::unordered_map<cells::JobId, std::string> known_specs_;
  std::optional<store::SqliteReads> reads_;  ///< Of the current disk, opened when needed.
  std::vector<std::string> faults_;
};

}  // namespace celld::disk
