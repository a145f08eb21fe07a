#include "src/store/index_tables.hpp"

#include <algorithm>

namespace celld::store {
namespace {

/// An index that the writer does not search may have this many times as many partitions: only the
/// lists of readers search them.
constexpr std::size_t partitions_per_list = 8;
/// After a start, each commit adds this many keys to filters.
constexpr std::size_t filtered_per_commit = 512;
/// While there are too many partitions, this many keys leave the oldest one for each new job. A
/// partition begins with every `partition_jobs` jobs, so another one must be gone by then.
constexpr std::size_t retired_per_job = 2;
/// Bounds for one commit: enough keys to be worth the pages that they touch, and not too many.
constexpr std::size_t retired_min = 256;
constexpr std::size_t retired_max = 4096;

}  // namespace

IndexTables::IndexTables(Connection& connection, const Form& form, const PageSizes& pages)
    : partitions_max_(std::max<std::size_t>(pages.partitions_max, 1) *
                      (form.is_searched ? 1 : partitions_per_list)),
      retired_min_(std::min(retired_min, pages.partition_jobs)),
      table_(connection, form.table, form.columns) {
  if (form.partitions == nullptr) return;
  partitions_.emplace(connection, Partitions::Form{form.table, form.partitions, form.is_searched},
                      form.columns, pages.partition_jobs);
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
  if (partitions_) partitions_->drop_empty();
}

void IndexTables::tend(std::size_t jobs) {
  if (!partitions_) return;
  partitions_->build_filters(filtered_per_commit);
  if (partitions_->count() <= partitions_max_) {
    to_retire_ = 0;
    return;
  }
  to_retire_ += jobs * retired_per_job;
  if (to_retire_ < retired_min_) return;
  const auto now = std::min(to_retire_, retired_max);
  partitions_->retire(now, table_);
  to_retire_ -= now;
}

IndexTables::Scan::Scan(IndexTables& tables, const IndexKey& from, std::int64_t end,
                        std::int64_t last_id)
    : older_(tables.table_, from, end, last_id) {
  if (tables.partitions_) newer_.emplace(*tables.partitions_, from, end, last_id);
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
