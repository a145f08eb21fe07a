#include "src/metrics/cell_tallies.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace celld::metrics {

using cells::CellKey;
using cells::Refusal;

bool is_of_a_cell(Refusal::Kind kind) {
  switch (kind) {
    case Refusal::Kind::timeout_too_long:
    case Refusal::Kind::queue_full:
    case Refusal::Kind::draining:
    case Refusal::Kind::key_reused:
    case Refusal::Kind::cell_bytes_full:
    case Refusal::Kind::memory_full:
    case Refusal::Kind::queue_rate:
    case Refusal::Kind::customer_jobs_full:
    case Refusal::Kind::customer_bytes_full:
    case Refusal::Kind::customer_rate:
    case Refusal::Kind::job_too_large:
      return true;
    case Refusal::Kind::no_cell:
    case Refusal::Kind::too_many_cells:
    case Refusal::Kind::shutting_down:
    case Refusal::Kind::service_removed:
    case Refusal::Kind::durability_differs:
      break;
  }
  return false;
}

std::size_t CellTallies::Hash::operator()(const CellKey& key) const {
  const std::hash<std::string_view> hash;
  return hash(key.customer) * 31 + hash(key.product);
}

// --- Counting ------------------------------------------------------------------------------------

template <class Change>
void CellTallies::count(const CellKey& cell, std::uint64_t activity, Change change) {
  const std::lock_guard lock(mutex_);
  Entry* entry = entry_of(cell);
  if (entry) entry->activity += activity;
  change(entry && entry->tally ? *entry->tally : others_);
}

void CellTallies::submitted(const CellKey& cell) {
  count(cell, 1, [](Tally& tally) { ++tally.submissions; });
}

/// A refusal without a cell holds names that a client may have made up: they must not become
/// labels.
void CellTallies::refused(const CellKey& cell, Refusal::Kind kind) {
  const auto change = [kind](Tally& tally) { ++tally.refusals[static_cast<std::size_t>(kind)]; };
  if (is_of_a_cell(kind)) return count(cell, 0, change);
  const std::lock_guard lock(mutex_);
  change(others_);
}

void CellTallies::attempt_ended(const CellKey& cell, bool lease_expired) {
  count(cell, 1, [lease_expired](Tally& tally) { tally.lease_expiries += lease_expired ? 1 : 0; });
}

void CellTallies::job_ended(const CellKey& cell, cells::JobState state) {
  count(cell, 0, [state](Tally& tally) { ++tally.finished[static_cast<std::size_t>(state)]; });
}

bool CellTallies::saw(const CellKey& cell, std::uint64_t unfinished) {
  const std::lock_guard lock(mutex_);
  // A new cell without jobs is remembered only while some label is unused.
  const auto found = entries_.find(cell);
  if (found == entries_.end() && unfinished == 0 && labels_ >= limits_.labels_max) return false;
  if (found == entries_.end() && entries_.size() >= limits_.cells_max) return false;
  Entry* entry = found == entries_.end() ? entry_of(cell) : &found->second;
  if (!entry) return false;
  entry->unfinished = unfinished;
  return entry->tally != nullptr;
}

CellTallies::Snapshot CellTallies::snapshot() const {
  Snapshot taken;
  {
    const std::lock_guard lock(mutex_);
    taken.others = others_;
    taken.labelled.reserve(labels_);
    for (const auto& [cell, entry] : entries_) {
      if (entry.tally) taken.labelled.emplace_back(cell, *entry.tally);
    }
  }
  std::sort(taken.labelled.begin(), taken.labelled.end(),
            [](const auto& left, const auto& right) { return left.first < right.first; });
  return taken;
}

// --- Labels --------------------------------------------------------------------------------------

CellTallies::Entry* CellTallies::entry_of(const CellKey& cell) {
  const auto found = entries_.find(cell);
  if (found != entries_.end()) return &found->second;
  if (entries_.size() >= limits_.cells_max && !make_room()) return nullptr;
  Entry& entry = entries_[cell];
  if (labels_ < limits_.labels_max) set_label(entry, true);
  return &entry;
}

/// Halves the activity of all cells without a label, and forgets those that have none left. This
/// takes long, so it happens once for many events that found no room.
bool CellTallies::make_room() {
  if (++turned_away_ < limits_.cells_max / 8) return false;
  turned_away_ = 0;
  for (auto& [cell, entry] : entries_) {
    if (!entry.tally) entry.activity /= 2;
  }
  std::erase_if(entries_, [](const auto& item) {
    const Entry& entry = item.second;
    return entry.activity == 0 && entry.unfinished == 0 && !entry.tally;
  });
  return entries_.size() < limits_.cells_max;
}

void CellTallies::set_label(Entry& entry, bool labelled) {
  if ((entry.tally != nullptr) == labelled) return;
  entry.tally = labelled ? std::make_unique<Tally>() : nullptr;
  labels_ += labelled ? 1 : -std::size_t{1};
}

void CellTallies::rank() {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::uint64_t, Entry*>> ranking;
  ranking.reserve(entries_.size());
  for (auto& [cell, entry] : entries_) {
    const std::uint64_t busy = entry.activity + entry.unfinished;
    ranking.emplace_back(entry.tally ? 2 * busy + 1 : busy, &entry);
  }
  const std::size_t winners = std::min(limits_.labels_max, ranking.size());
  const auto first_loser = ranking.begin() + static_cast<std::ptrdiff_t>(winners);
  std::nth_element(ranking.begin(), first_loser, ranking.end(), std::greater<>());
  for (auto it = first_loser; it != ranking.end(); ++it) set_label(*it->second, false);
  for (auto it = ranking.begin(); it != first_loser; ++it) set_label(*it->second, true);
  std::erase_if(entries_, [](const auto& item) {
    const Entry& entry = item.second;
    return entry.activity == 0 && entry.unfinished == 0 && !entry.tally;
  });
  for (auto& [cell, entry] : entries_) {
    entry.activity /= 2;
    entry.unfinished = 0;
  }
}

}  // namespace celld::metrics
