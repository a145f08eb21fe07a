#include "cells/model/guarantees.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace cells {

void Guarantees::set(const CellKey& cell, const Demand& demand) {
  const auto [found, added] = cells_.try_emplace(cell);
  Entry& entry = found->second;
  if (!added && entry.demand == demand) return;
  if (added) {
    entry.number = ++last_number_;
  } else {
    leave(entry);
  }
  const std::uint32_t before = entry.demand.reserved + entry.extra;
  entry.demand = demand;
  // The cell keeps what it has, up to what it wants now.
  entry.extra = std::min(before, demand.wanted) - std::min(before, demand.reserved);
  enter(cell, entry);
  changed_.insert(cell);
}

void Guarantees::remove(const CellKey& cell) {
  const auto found = cells_.find(cell);
  if (found == cells_.end()) return;
  leave(found->second);
  cells_.erase(found);
  changed_.erase(cell);
}

std::vector<CellKey> Guarantees::divide() {
  while (free() < 0 && !beyond_.empty()) {
    const CellKey last = std::prev(beyond_.end())->second;
    change_extra(last, -std::min<std::int64_t>(cells_.at(last).extra, -free()));
  }
  while (free() > 0 && !short_.empty()) {
    const CellKey first = short_.begin()->second;
    change_extra(first, std::min<std::int64_t>(cells_.at(first).missing(), free()));
  }
  const auto changed = std::exchange(changed_, {});
  return {changed.begin(), changed.end()};
}

std::uint32_t Guarantees::of(const CellKey& cell) const {
  const auto found = cells_.find(cell);
  return found == cells_.end() ? 0 : found->second.demand.reserved + found->second.extra;
}

bool Guarantees::has_room_for(const CellKey& cell, const Demand& demand) const {
  return static_cast<std::int64_t>(demand.wanted) - of(cell) <= free();
}

std::int64_t Guarantees::free() const {
  if (!total_) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(*total_) - static_cast<std::int64_t>(given_);
}

void Guarantees::enter(const CellKey& cell, const Entry& entry) {
  given_ += entry.demand.reserved + entry.extra;
  if (entry.missing() > 0) short_.emplace(entry.number, cell);
  if (entry.extra > 0) beyond_.emplace(entry.number, cell);
}

void Guarantees::leave(const Entry& entry) {
  given_ -= entry.demand.reserved + entry.extra;
  short_.erase(entry.number);
  beyond_.erase(entry.number);
}

void Guarantees::change_extra(const CellKey& cell, std::int64_t by) {
  Entry& entry = cells_.at(cell);
  leave(entry);
  entry.extra = static_cast<std::uint32_t>(entry.extra + by);
  enter(cell, entry);
  changed_.insert(cell);
}

}  // namespace cells
