#include "src/store/index_tables.hpp"

#include <algorithm>
#include <utility>

namespace celld::store {

IndexTables::IndexTables(Connection& connection, const Form& form, const WriteLimits& limits)
    : limits_(limits),
      partitions_max_(std::max<std::size_t>(limits.partitions_max, 1) *
                      (form.is_searched ? 1 : limits.partitions_per_list)),
      // A job without a key may fall due later, or be reopened. Then its key goes to its partition.
      kept_max_(form.is_searched ? partitions_max_ * 3 / 4 : 0),
      retired_min_(std::min(limits.retired_min, limits.partition_jobs)),
      table_(connection, form.table, form.columns) {
  if (form.partitions == nullptr) return;
  partitions_.emplace(connection, Partitions::Form{form.table, form.partitions, form.is_searched},
                      form.columns, limits);
}

void IndexTables::insert(const IndexKey& key) {
  if (!partitions_ || !partitions_->insert(key)) table_.insert(key);
}

void IndexTables::remove(const IndexKey& key) {
  if (!partitions_ || !partitions_->remove(key)) table_.remove(key);
}

void IndexTables::start_generation(std::size_t jobs, std::int64_t after_id) {
  if (partitions_) partitions_->start_generation(jobs, after_id);
}

void IndexTables::end_generation() {
  table_.note_emptiness();
  if (partitions_) partitions_->free_empty(kept_max_);
}

void IndexTables::tend(std::size_t jobs) {
  if (!partitions_) return;
  partitions_->build_filters(
      std::clamp(jobs * limits_.filtered_per_job, limits_.filtered_min, limits_.filtered_max));
  if (partitions_->count() <= partitions_max_) {
    to_retire_ = 0;
    return;
  }
  to_retire_ += jobs * limits_.retired_per_job;
  if (to_retire_ < retired_min_) return;
  partitions_->retire(std::exchange(to_retire_, 0), table_);
}

IndexTables::Scan::Scan(IndexTables& tables, const IndexKey& from, std::int64_t end)
    : older_(tables.table_, from, end) {
  if (tables.partitions_) newer_.emplace(*tables.partitions_, from, end);
}

const IndexKey* IndexTables::Scan::key() const {
  const auto* older = older_.key();
  const auto* newer = in_partition();
  return older == nullptr || (newer != nullptr && *newer < *older) ? newer : older;
}

void IndexTables::Scan::advance() {
  if (key() == older_.key()) {
    older_.advance();
  } else {
    newer_->advance();
  }
}

}  // namespace celld::store
