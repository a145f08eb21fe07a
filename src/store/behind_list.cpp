#include "src/store/behind_list.hpp"

#include <algorithm>

namespace celld::store {

BehindList::BehindList(Connection& connection, const Form& form, const Generations& generations,
                       std::size_t merged_keys)
    : generations_(generations),
      tables_(connection, {form.table, form.buffer, {{form.column, "job"}, 2, 1}}, merged_keys),
      find_job_(connection, "SELECT 1 FROM jobs WHERE id = ?1") {}

void BehindList::add(std::int64_t property, std::int64_t job) {
  if (job > generations_.moving) {
    load(property, job);
  } else {
    insert(property, job);
  }
}

void BehindList::remove(std::int64_t property, std::int64_t job) {
  if (job <= generations_.moving) tables_.remove({property, job});
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
  for (; moved_ < end; ++moved_) insert(moving_[moved_].first, moving_[moved_].second);
  return count;
}

void BehindList::end_move() {
  moving_.clear();
}

/// No effect if the job has been removed meanwhile.
void BehindList::insert(std::int64_t property, std::int64_t job) {
  const ResetAtEnd reset{find_job_};
  if (find_job_.bind(1, job).step()) tables_.insert({property, job});
}

}  // namespace celld::store
