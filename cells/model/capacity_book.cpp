#include "cells/model/capacity_book.hpp"

#include <algorithm>

namespace cells {

void CapacityBook::open() {
  is_open_ = true;
  for (const auto& [id, entry] : cells_) orders_.push_back({entry.key, 0});
  rebalance();
}

void CapacityBook::limit(std::optional<std::uint64_t> total) {
  for (auto& [id, entry] : cells_) erase_notes(id, entry);  // The limit decides which slots count.
  limit_ = total;
  for (auto& [id, entry] : cells_) note(id, entry);
  rebalance();
}

void CapacityBook::join(const CellKey& cell, const SlotTerms& terms, std::uint32_t running) {
  drop(cell);
  const Id id = ++last_id_;
  ids_.emplace(cell, id);
  Entry& entry = cells_[id];
  entry.key = cell;
  entry.held = running;
  held_ += running;
  change(id, terms, running);
  const std::size_t before = orders_.size();
  rebalance();
  if (!is_open_) return;
  const bool granted =
      std::any_of(orders_.begin() + static_cast<std::ptrdiff_t>(before), orders_.end(),
                  [&](const Order& order) { return order.cell == cell && order.grant; });
  if (!granted) orders_.insert(orders_.begin() + static_cast<std::ptrdiff_t>(before), {cell, 0});
}

bool CapacityBook::report(const CellKey& cell, const SlotTerms& terms, std::uint32_t need,
                          std::uint32_t returned) {
  const auto found = ids_.find(cell);
  if (found == ids_.end()) return false;
  const Id id = found->second;
  Entry& entry = cells_.at(id);
  erase_notes(id, entry);
  returned = std::min(returned, entry.held);
  entry.held -= returned;
  held_ -= returned;
  // A cell answers a recall of slots of its guarantee at once, and then forgets the recall.
  if (entry.recall_to && (*entry.recall_to < terms.guarantee || *entry.recall_to >= entry.held)) {
    entry.recall_to.reset();
  }
  entry.has_answered = true;
  note(id, entry);
  change(id, terms, need);
  rebalance();
  return true;
}

void CapacityBook::leave(const CellKey& cell) {
  drop(cell);
  rebalance();
}

void CapacityBook::drop(const CellKey& cell) {
  const auto found = ids_.find(cell);
  if (found == ids_.end()) return;
  const Id id = found->second;
  Entry& entry = cells_.at(id);
  erase_notes(id, entry);
  guarantees_ -= entry.terms.guarantee;
  held_ -= entry.held;
  within_ -= entry.within;
  shares_.remove(id);
  cells_.erase(id);
  ids_.erase(found);
}

SlotLoans CapacityBook::loans(const CellKey& cell) const {
  const auto found = ids_.find(cell);
  if (found == ids_.end()) return {};
  const Entry& entry = cells_.at(found->second);
  const auto guarantee = entry.terms.guarantee;
  const auto held = std::min(entry.held, entry.terms.burst);
  if (held > guarantee) return {held - guarantee, 0};
  return {0, guarantee - held};
}

void CapacityBook::change(Id id, const SlotTerms& terms, std::uint32_t need) {
  Entry& entry = cells_.at(id);
  guarantees_ += terms.guarantee;
  guarantees_ -= entry.terms.guarantee;
  entry.terms = terms;
  entry.need = need;
  count_within(entry);
  shares_.set(id, {terms.guarantee, terms.burst, terms.weight, need});
}

/// Slots that the cells may have beyond what they hold; negative after the total has fallen.
std::int64_t CapacityBook::free() const {
  const std::uint64_t taken = limit_ ? held_ : within_;
  return static_cast<std::int64_t>(total()) - static_cast<std::int64_t>(taken);
}

/// How many of these slots of the cell count against the total.
std::uint32_t CapacityBook::counted(const Entry& entry, std::uint32_t slots) const {
  return limit_ ? slots : std::min(slots, entry.terms.burst);
}

void CapacityBook::count_within(Entry& entry) {
  within_ -= entry.within;
  entry.within = std::min(entry.held, entry.terms.burst);
  within_ += entry.within;
}

void CapacityBook::rebalance() {
  shares_.limit(total());
  for (const Id id : shares_.take_changed()) refresh(id);
  if (!is_open_) return;
  grant_wanted();
  recall_missing();
  restore();
}

void CapacityBook::refresh(Id id) {
  const auto found = cells_.find(id);
  if (found == cells_.end()) return;
  Entry& entry = found->second;
  erase_notes(id, entry);
  note(id, entry);
  const auto share = std::min(shares_.share(id), entry.held);
  if (!entry.recall_to || *entry.recall_to >= share) return;
  share < entry.held ? recall(id, share) : grant(id, 0);
}

void CapacityBook::grant_wanted() {
  while (free() > 0 && !wanting_.empty()) {
    const Id id = wanting_.begin()->second;
    const Entry& entry = cells_.at(id);
    // What others lack of their guarantees goes before what this cell may borrow.
    const bool lacks_guarantee = entry.held < entry.terms.guarantee;
    const auto share = shares_.share(id);
    const auto up_to = lacks_guarantee ? std::min(share, entry.terms.guarantee) : share;
    const auto lacks = up_to - entry.held;
    grant(id, static_cast<std::uint32_t>(std::min<std::int64_t>(lacks, free())));
  }
}

/// Recalls idle slots of guarantees before slots that may be in use.
void CapacityBook::recall_missing() {
  for (;;) {
    const auto missing =
        static_cast<std::int64_t>(wanted_) - free() - static_cast<std::int64_t>(recalled_);
    if (missing <= 0 || surplus_.empty()) return;
    const Id id = surplus_.begin()->second;
    const Entry& entry = cells_.at(id);
    const auto expected = counted(entry, entry.expected());
    const auto spare = expected - shares_.share(id);
    recall(id, expected - static_cast<std::uint32_t>(std::min<std::int64_t>(spare, missing)));
  }
}

/// Returns free slots that no cell wants to the guarantees that lack them.
void CapacityBook::restore() {
  while (free() > 0 && !lacking_.empty()) {
    const Id id = *lacking_.begin();
    const Entry& entry = cells_.at(id);
    const auto lacks = entry.terms.guarantee - entry.held;
    grant(id, static_cast<std::uint32_t>(std::min<std::int64_t>(lacks, free())));
  }
}

void CapacityBook::note(Id id, Entry& entry) {
  const auto share = shares_.share(id);
  // After the answer, the slots still to come are in use until their jobs end; meanwhile another
  // cell may have an idle one.
  entry.recalled =
      entry.has_answered ? 0 : counted(entry, entry.held) - counted(entry, entry.expected());
  recalled_ += entry.recalled;
  if (entry.held < entry.terms.guarantee) lacking_.insert(id);
  if (counted(entry, entry.expected()) > share)
    surplus_.insert({entry.held > entry.terms.guarantee, id});
  if (entry.held >= share) {
    entry.wants_since = 0;
    return;
  }
  if (entry.wants_since == 0) entry.wants_since = ++last_want_;
  entry.lacks = share - entry.held;
  wanted_ += entry.lacks;
  wanting_.emplace(Priority{entry.held >= entry.terms.guarantee, entry.wants_since}, id);
}

void CapacityBook::erase_notes(Id id, Entry& entry) {
  recalled_ -= std::exchange(entry.recalled, 0);
  wanted_ -= std::exchange(entry.lacks, 0);
  lacking_.erase(id);
  surplus_.erase({false, id});
  surplus_.erase({true, id});
  for (const bool beyond : {false, true}) {
    wanting_.erase(Priority{beyond, entry.wants_since});
  }
}

void CapacityBook::grant(Id id, std::uint32_t count) {
  Entry& entry = cells_.at(id);
  erase_notes(id, entry);
  entry.recall_to.reset();
  entry.held += count;
  held_ += count;
  count_within(entry);
  note(id, entry);
  orders_.push_back({entry.key, count});
}

void CapacityBook::recall(Id id, std::uint32_t to) {
  Entry& entry = cells_.at(id);
  erase_notes(id, entry);
  entry.recall_to = to;
  entry.has_answered = false;
  note(id, entry);
  orders_.push_back({entry.key, std::nullopt, to});
}

}  // namespace cells
