#include "cells/model/max_min_shares.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cells {

std::uint32_t MaxMinShares::Entry::guaranteed() const {
  return std::min(demand.jobs, demand.guarantee);
}

std::uint32_t MaxMinShares::Entry::extra_max() const {
  const std::uint32_t most = std::min(demand.jobs, demand.burst);
  return most > demand.guarantee ? most - demand.guarantee : 0;
}

bool MaxMinShares::Level::operator<(const Level& other) const {
  const auto mine = slots * other.weight;
  const auto others = other.slots * weight;
  if (mine != others) return mine < others;
  if (weight != other.weight) return weight > other.weight;
  return cell < other.cell;
}

void MaxMinShares::limit(std::uint64_t total) {
  total_ = total;
  rebalance();
}

void MaxMinShares::set(Id cell, const Demand& demand) {
  const auto [found, added] = cells_.try_emplace(cell);
  Entry& entry = found->second;
  if (!added) leave(cell, entry);
  entry.demand = demand;
  entry.extra = std::min(entry.extra, entry.extra_max());
  enter(cell, entry);
  changed_.insert(cell);
  rebalance();
}

void MaxMinShares::remove(Id cell) {
  const auto found = cells_.find(cell);
  if (found == cells_.end()) return;
  leave(cell, found->second);
  cells_.erase(found);
  changed_.insert(cell);
  rebalance();
}

std::uint32_t MaxMinShares::share(Id cell) const {
  const auto found = cells_.find(cell);
  return found == cells_.end() ? 0 : found->second.guaranteed() + found->second.extra;
}

std::vector<MaxMinShares::Id> MaxMinShares::take_changed() {
  const auto changed = std::exchange(changed_, {});
  return {changed.begin(), changed.end()};
}

void MaxMinShares::enter(Id cell, const Entry& entry) {
  guaranteed_ += entry.guaranteed();
  extra_ += entry.extra;
  if (entry.extra < entry.extra_max()) growing_.insert({entry.extra, entry.demand.weight, cell});
  if (entry.extra > 0) giving_.insert({entry.extra - 1, entry.demand.weight, cell});
}

void MaxMinShares::leave(Id cell, const Entry& entry) {
  guaranteed_ -= entry.guaranteed();
  extra_ -= entry.extra;
  growing_.erase({entry.extra, entry.demand.weight, cell});
  if (entry.extra > 0) giving_.erase({entry.extra - 1, entry.demand.weight, cell});
}

void MaxMinShares::change_extra(Id cell, std::int32_t by) {
  Entry& entry = cells_.at(cell);
  leave(cell, entry);
  entry.extra += static_cast<std::uint32_t>(by);
  enter(cell, entry);
  changed_.insert(cell);
}

/// The last slot of the cell that has the most is the first to go; the next slot goes to the cell
/// that has the least.
void MaxMinShares::rebalance() {
  while (extra_ > room()) change_extra(giving_.rbegin()->cell, -1);
  while (extra_ < room() && !growing_.empty()) change_extra(growing_.begin()->cell, 1);
  while (!giving_.empty() && !growing_.empty() && giving_.rbegin()->is_above(*growing_.begin())) {
    const Id from = giving_.rbegin()->cell;
    const Id to = growing_.begin()->cell;
    change_extra(from, -1);
    change_extra(to, 1);
  }
}

}  // namespace cells
