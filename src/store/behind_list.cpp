#include "src/store/behind_list.hpp"

#include <algorithm>

namespace celld::store {

BehindList::BehindList(Connection& connection, const Form& form, const Generations& generations,
                       const WriteLimits& limits)
    : generations_(generations),
      tables_(connection, {form.table, form.partitions, false, {{form.column, "job"}, 2, 1}},
              limits) {}

void BehindList::add(std::int64_t property, std::int64_t job) {
  if (job > generations_.moving) {
    load(property, job);
  } else {
    tables_.insert({property, job});
  }
}

void BehindList::remove(std::int64_t property, std::int64_t job) {
  if (job <= generations_.moving) tables_.remove({property, job});
  if (job > generations_.written) removed_.insert(job);
}

void BehindList::finish_loading() {
  std::sort(moving_.begin(), moving_.end());
}

void BehindList::start_move(std::size_t jobs) {
  tables_.start_generation(jobs, generations_.moving);
  moving_.swap(recent_);
  std::sort(moving_.begin(), moving_.end());
  moved_ = 0;
}

std::size_t BehindList::move(std::size_t limit) {
  const auto end = std::min(moved_ + limit, moving_.size());
  const auto count = end - moved_;
  for (; moved_ < end; ++moved_) {
    const auto [property, job] = moving_[moved_];
    if (!removed_.contains(job)) tables_.insert({property, job});
  }
  return count;
}

void BehindList::end_move() {
  moving_.clear();
  std::erase_if(removed_, [this](std::int64_t job) { return job <= generations_.moving; });
  tables_.end_generation();
}

}  // namespace celld::store
