// Counts per cell, for a bounded number of cells.
//
// Each event is counted in exactly one series, at the moment when it happens: in its cell's series
// if the cell has a label, else in the sum of the others. So no series ever decreases when labels
// move: a cell that gets a label starts at 0 and leaves its past in the sum; a cell that loses its
// label loses its series and is counted in the sum from then on. Rates over all series are
// therefore exact, and nothing is counted twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cells/model/cell_key.hpp"
#include "cells/model/job.hpp"
#include "cells/model/submission.hpp"

namespace celld::metrics {

struct Tally {
  std::uint64_t submissions = 0;
  std::array<std::uint64_t, cells::Refusal::kind_count> refusals{};  ///< By Refusal::Kind.
  std::array<std::uint64_t, cells::job_state_count> finished{};      ///< By JobState, ends only.
  std::uint64_t lease_expiries = 0;
};

/// Whether a refusal of this kind names an existing cell.
bool is_of_a_cell(cells::Refusal::Kind kind);

/// Thread-safe.
class CellTallies {
 public:
  struct Limits {
    std::size_t labels_max = 1000;
    std::size_t cells_max = 8192;  ///< Candidates for labels.
  };

  CellTallies() : CellTallies(Limits{}) {}
  explicit CellTallies(Limits limits) : limits_(limits) {}

  void submitted(const cells::CellKey& cell);
  void refused(const cells::CellKey& cell, cells::Refusal::Kind kind);
  void attempt_ended(const cells::CellKey& cell, bool lease_expired);
  void job_ended(const cells::CellKey& cell, cells::JobState state);

  /// Records that a cell exists, with this many unfinished jobs. True when it has a label.
  bool saw(const cells::CellKey& cell, std::uint64_t unfinished);

  /// Gives the labels to the busiest cells. Submissions, attempts and unfinished jobs make a cell
  /// busy; each ranking halves the first two. To take the label of another cell, a cell must be
  /// more than twice as busy.
  void rank();

  struct Snapshot {
    std::vector<std::pair<cells::CellKey, Tally>> labelled;  ///< Ordered by key.
    Tally others;
  };
  Snapshot snapshot() const;

 private:
  struct Hash {
    std::size_t operator()(const cells::CellKey& key) const;
  };
  struct Entry {
    std::uint64_t activity = 0;
    std::uint64_t unfinished = 0;  ///< As last seen since the last ranking.
    std::unique_ptr<Tally> tally;  ///< Null without a label.
  };
  using Entries = std::unordered_map<cells::CellKey, Entry, Hash>;

  /// Null when there are too many cells.
  Entry* entry_of(const cells::CellKey& cell);
  bool make_room();
  template <class Change>
  void count(const cells::CellKey& cell, std::uint64_t activity, Change change);
  void set_label(Entry& entry, bool labelled);

  const Limits limits_;
  mutable std::mutex mutex_;
  Entries entries_;
  std::size_t labels_ = 0;
  std::size_t turned_away_ = 0;  ///< Events that found no room since room was last made.
  Tally others_;
};

}  // namespace celld::metrics
