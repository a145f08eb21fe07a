#include "src/store/behind_list.hpp"

#include <algorithm>
#include <string>

namespace celld::store {

// A job may have been removed since it came.
BehindList::BehindList(Connection& connection, const char* table, const char* column,
                       const Generations& generations)
    : generations_(generations),
      insert_(connection, std::string{"INSERT OR IGNORE INTO "} + table +
                              " SELECT ?1, ?2 WHERE EXISTS (SELECT 1 FROM jobs WHERE id = ?2)"),
      delete_(connection,
              std::string{"DELETE FROM "} + table + " WHERE " + column + " = ?1 AND job = ?2") {}

void BehindList::add(std::int64_t property, std::int64_t job) {
  if (job > generations_.moving) {
    load(property, job);
  } else {
    run(insert_, property, job);
  }
}

void BehindList::remove(std::int64_t property, std::int64_t job) {
  if (job <= generations_.moving) run(delete_, property, job);
}

void BehindList::finish_loading() {
  std::sort(moving_.begin(), moving_.end());
}

void BehindList::start_move() {
  moving_.swap(recent_);
  std::sort(moving_.begin(), moving_.end());
  moved_ = 0;
}

std::size_t BehindList::move(std::size_t limit) {
  const auto end = std::min(moved_ + limit, moving_.size());
  const auto count = end - moved_;
  for (; moved_ < end; ++moved_) run(insert_, moving_[moved_].first, moving_[moved_].second);
  return count;
}

void BehindList::end_move() {
  moving_.clear();
}

void BehindList::run(Statement& statement, std::int64_t property, std::int64_t job) {
  statement.bind(1, property).bind(2, job).run();
}

}  // namespace celld::store
