#include "src/store/behind_index.hpp"

namespace celld::store {

BehindIndex::BehindIndex(Connection& connection, const IndexTables::Form& form,
                         const Generations& generations, const WriteLimits& limits)
    : generations_(generations),
      width_(form.columns.width),
      prefix_(form.columns.prefix),
      tables_(connection, form, limits) {}

void BehindIndex::add(const IndexKey& key) {
  const auto id = id_of(key);
  if (id > generations_.written) memory_of(id).insert(key);
  if (id <= generations_.moving) tables_.insert(key);
}

void BehindIndex::remove(const IndexKey& key) {
  const auto id = id_of(key);
  if (id > generations_.written) memory_of(id).erase(key);
  if (id <= generations_.moving) tables_.remove(key);
}

void BehindIndex::start_move(std::size_t jobs) {
  tables_.start_generation(jobs, generations_.moving);
  moving_.swap(recent_);
  has_moved_ = false;
}

std::size_t BehindIndex::move(std::size_t limit) {
  auto next = has_moved_ ? moving_.upper_bound(reached_) : moving_.begin();
  std::size_t moved = 0;
  for (; moved < limit && next != moving_.end(); ++next, ++moved) {
    tables_.insert(*next);
    reached_ = *next;
    has_moved_ = true;
  }
  return moved;
}

void BehindIndex::end_move() {
  moving_.clear();
  tables_.end_generation();
}

bool BehindIndex::in_scan(const IndexKey& key, const IndexKey& from, std::int64_t end) const {
  for (std::size_t column = 0; column < prefix_; ++column) {
    if (key[column] != from[column]) return false;
  }
  return key[prefix_] < end;
}

}  // namespace celld::store
