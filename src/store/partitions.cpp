#include "src/store/partitions.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace celld::store {
namespace {

/// The columns of a key after the prefix.
std::string rest(const KeyColumns& columns) {
  return join_names(columns, columns.prefix, columns.width);
}

/// Within the bounds of a scan, the first key of partition ?1 that has the same prefix as the given
/// one and comes after it.
std::string seek_sql(const std::string& table, const KeyColumns& columns) {
  const auto end = columns.width + 2;
  const std::string next = columns.names[columns.prefix];
  return "SELECT " + join_names(columns, 0, columns.width) + " FROM " + table +
         " WHERE part = ?1 AND " + equal(columns, columns.prefix, 2) + " AND (" + rest(columns) +
         ") > (" + parameters(2 + columns.prefix, columns.width - columns.prefix) + ") AND " +
         next + " < ?" + std::to_string(end) + " ORDER BY " + rest(columns) + " LIMIT 1";
}

/// The keys of partition ?1 after the given one.
std::string read_sql(const std::string& table, const KeyColumns& columns) {
  const auto all = join_names(columns, 0, columns.width);
  return "SELECT " + all + " FROM " + table + " WHERE part = ?1 AND (" + all + ") > (" +
         parameters(2, columns.width) + ") ORDER BY " + all + " LIMIT ?" +
         std::to_string(columns.width + 2);
}

constexpr auto least = std::numeric_limits<std::int64_t>::min();

}  // namespace

Partitions::Partitions(Connection& connection, const Form& form, const KeyColumns& columns,
                       const WriteLimits& limits)
    : connection_(connection),
      index_(form.index),
      columns_(columns),
      is_searched_(form.is_searched),
      limits_(limits),
      insert_(connection, std::string{"INSERT OR IGNORE INTO "} + form.table + " VALUES (" +
                              parameters(1, columns.width + 1) + ")"),
      remove_(connection, std::string{"DELETE FROM "} + form.table + " WHERE part = ?1 AND " +
                              equal(columns, columns.width, 2)),
      seek_(connection, seek_sql(form.table, columns)),
      read_(connection, read_sql(form.table, columns)),
      exists_(connection,
              std::string{"SELECT EXISTS (SELECT 1 FROM "} + form.table + " WHERE part = ?1)"),
      save_(connection, "INSERT OR REPLACE INTO index_partitions VALUES (?1, ?2, ?3, ?4)"),
      drop_(connection, "DELETE FROM index_partitions WHERE index_name = ?1 AND part = ?2") {
  load(connection);
}

void Partitions::load(Connection& connection) {
  Statement row{connection,
                "SELECT part, after_id, jobs FROM index_partitions WHERE index_name = ?1"
                " ORDER BY part"};
  for (row.bind(1, std::string_view{index_}); row.step();) {
    partitions_.push_back({row.integer(0), row.integer(1), row.integer(2), {}});
  }
}

// --- Keys ------------------------------------------------------------------------------------

/// A key is above an `after_id` if both its job and its first column after the prefix are.
Partitions::Partition* Partitions::find(const IndexKey& key) {
  const auto least_id = std::min(key[columns_.prefix], key[columns_.width - 1]);
  auto next = std::lower_bound(
      partitions_.begin(), partitions_.end(), least_id,
      [](const Partition& partition, std::int64_t id) { return partition.after_id < id; });
  return next == partitions_.begin() ? nullptr : &*std::prev(next);
}

bool Partitions::insert(const IndexKey& key) {
  auto* partition = find(key);
  if (partition == nullptr) return false;
  bind_key(insert_.bind(1, partition->number), 2, key, columns_.width);
  insert_.run();
  if (is_searched_ && partition->has_whole_filter && !partition->filter) {
    partition->filter.emplace(new_filter(*partition));
  }
  if (partition->filter) partition->filter->add(key[0]);
  return true;
}

bool Partitions::remove(const IndexKey& key) {
  const auto* partition = find(key);
  if (partition == nullptr) return false;
  bind_key(remove_.bind(1, partition->number), 2, key, columns_.width);
  remove_.run();
  return connection_.changes() != 0;
}

bool Partitions::may_have(const Partition& partition, std::int64_t first_column) const {
  if (!partition.has_whole_filter) return true;
  return partition.filter && partition.filter->may_contain(first_column);
}

// --- Partitions ------------------------------------------------------------------------------

void Partitions::start_generation(std::size_t jobs, std::int64_t after_id) {
  if (partitions_.empty() ||
      partitions_.back().jobs >= static_cast<std::int64_t>(limits_.partition_jobs)) {
    const auto number = partitions_.empty() ? 1 : partitions_.back().number + 1;
    auto& added = partitions_.emplace_back(Partition{number, after_id, 0, {}});
    added.has_whole_filter = is_searched_;
  }
  auto& newest = partitions_.back();
  newest.jobs += static_cast<std::int64_t>(jobs);
  save_.bind(1, std::string_view{index_}).bind(2, newest.number);
  save_.bind(3, newest.after_id).bind(4, newest.jobs).run();
}

bool Partitions::is_empty(const Partition& partition) {
  const ResetAtEnd reset{exists_};
  return exists_.bind(1, partition.number).step() && exists_.integer(0) == 0;
}

/// The newest partition stays as it is, for the next keys.
void Partitions::free_empty(std::size_t kept_max) {
  const auto looks = std::min(limits_.partitions_looked_at, partitions_.size());
  for (std::size_t look = 0; look < looks; ++look) {
    if (looked_at_ + 1 >= partitions_.size()) looked_at_ = 0;
    if (partitions_.size() < 2) return;
    if (!is_empty(partitions_[looked_at_])) {
      ++looked_at_;
    } else if (partitions_.size() > kept_max) {
      drop(looked_at_);
    } else {
      partitions_[looked_at_].filter.reset();
      partitions_[looked_at_].has_whole_filter = is_searched_;
      ++looked_at_;
    }
  }
}

void Partitions::drop(std::size_t at) {
  drop_.bind(1, std::string_view{index_}).bind(2, partitions_[at].number).run();
  partitions_.erase(partitions_.begin() + static_cast<std::ptrdiff_t>(at));
}

void Partitions::retire(std::size_t limit, KeyTable& to) {
  if (partitions_.size() < 2) return;
  const auto number = partitions_.front().number;
  const auto keys = read_after(number, nullptr, limit);
  for (const auto& key : keys) {
    to.insert(key);
    bind_key(remove_.bind(1, number), 2, key, columns_.width);
    remove_.run();
  }
  if (keys.size() < limit) drop(0);
}

/// `after` null: from the first key on.
std::vector<IndexKey> Partitions::read_after(std::int64_t number, const IndexKey* after,
                                             std::size_t limit) {
  static constexpr IndexKey first{least, least, least, least, least};
  const ResetAtEnd reset{read_};
  bind_key(read_.bind(1, number), 2, after == nullptr ? first : *after, columns_.width);
  read_.bind(static_cast<int>(columns_.width) + 2, static_cast<std::int64_t>(limit));
  std::vector<IndexKey> keys;
  while (read_.step()) keys.push_back(read_key(read_, columns_.width));
  return keys;
}

// --- Filters ---------------------------------------------------------------------------------

void Partitions::build_filters(std::size_t limit) {
  if (!is_searched_) return;
  for (auto& partition : partitions_) {
    if (partition.has_whole_filter) continue;
    limit -= build_filter(partition, limit);
    if (limit == 0) return;
  }
}

BloomFilter Partitions::new_filter(const Partition& partition) const {
  const auto jobs = std::max(limits_.partition_jobs, static_cast<std::size_t>(partition.jobs));
  return BloomFilter{jobs + limits_.generation_jobs};
}

/// Returns how many keys it has added. Keys that are inserted meanwhile are added at once.
std::size_t Partitions::build_filter(Partition& partition, std::size_t limit) {
  if (!partition.filter) partition.filter.emplace(new_filter(partition));
  const auto* after = partition.has_begun_filter ? &partition.filtered_up_to : nullptr;
  const auto keys = read_after(partition.number, after, limit);
  for (const auto& key : keys) partition.filter->add(key[0]);
  partition.has_whole_filter = keys.size() < limit;
  if (!keys.empty()) partition.filtered_up_to = keys.back();
  partition.has_begun_filter = true;
  return keys.size();
}

// --- Scanning --------------------------------------------------------------------------------

namespace {

/// For a heap with the least key first.
constexpr auto is_behind = [](const auto& a, const auto& b) { return b.key < a.key; };

}  // namespace

Partitions::Scan::Scan(Partitions& partitions, const IndexKey& from, std::int64_t end)
    : partitions_(partitions), from_(from), end_(end) {
  open_next_ones();
}

/// Opens partitions, the oldest first, until the rest can have no key before the least key found.
void Partitions::Scan::open_next_ones() {
  const auto& all = partitions_.partitions_;
  const auto next_column = partitions_.columns_.prefix;
  for (; opened_ < all.size(); ++opened_) {
    const auto& partition = all[opened_];
    if (!open_.empty() && open_.front().key[next_column] <= partition.after_id) return;
    if (partitions_.may_have(partition, from_[0])) put(partition.number, from_);
  }
}

/// Puts the partition's first key after this one on the heap.
void Partitions::Scan::put(std::int64_t number, const IndexKey& after) {
  auto& seek = partitions_.seek_;
  const auto width = partitions_.columns_.width;
  const ResetAtEnd reset{seek};
  bind_key(seek.bind(1, number), 2, after, width);
  seek.bind(static_cast<int>(width) + 2, end_);
  if (!seek.step()) return;
  open_.push_back({number, read_key(seek, width)});
  std::push_heap(open_.begin(), open_.end(), is_behind);
}

void Partitions::Scan::advance() {
  std::pop_heap(open_.begin(), open_.end(), is_behind);
  const auto passed = open_.back();
  open_.pop_back();
  put(passed.number, passed.key);
  open_next_ones();
}

}  // namespace celld::store
