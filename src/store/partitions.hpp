// The newer keys of an index whose keys are random, in partitions.
//
// Random keys would each dirty a page of their own in a large table. So the keys are divided, in
// the order in which their jobs arrived, into partitions of a limited size. The first column of the
// table is the number of the partition, so that each has its own part of the b-tree, and the keys
// of a generation (behind_index.hpp), which are inserted together, share the pages of the newest
// partition. This is a log-structured merge tree (P. O'Neil et al., "The Log-Structured
// Merge-Tree", 1996) whose components are never merged: filters tell a lookup which of them it must
// search, as in LevelDB and others.
//
// If the writer searches an index, it keeps a Bloom filter for each partition in memory, so that a
// lookup reads only the partitions that may have the key. After a start there are no filters: the
// writer searches all partitions at first, and builds the filters while it commits.
//
// A job's place, the column after the prefix, is never below its id. So partitions do not overlap:
// each has keys above its `after_id`, and no job ids above the `after_id` of the next partition. A
// job that falls due late, or is reopened, gets its key then, in the partition of its id. A key
// that is not above the first `after_id` is in no partition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/store/bloom_filter.hpp"
#include "src/store/key_columns.hpp"
#include "src/store/key_table.hpp"
#include "src/store/write_limits.hpp"

namespace celld::store {

class Partitions {
 public:
  struct Form {
    const char* index;  ///< In the table `index_partitions`.
    const char* table;
    bool is_searched;  ///< The writer searches it, with filters.
  };
  Partitions(Connection& connection, const Form& form, const KeyColumns& columns,
             const WriteLimits& limits);

  /// False: the key belongs to no partition. No effect if its partition has the key already.
  bool insert(const IndexKey& key);
  /// Whether a partition had the key.
  bool remove(const IndexKey& key);

  std::size_t count() const { return partitions_.size(); }

  /// The next keys to be inserted are of a generation of `jobs` jobs with ids above `after_id`.
  void start_generation(std::size_t jobs, std::int64_t after_id);
  /// Looks at a few partitions. Those that have no keys left lose their filters, and are dropped
  /// while there are more than `kept_max` partitions.
  void free_empty(std::size_t kept_max);
  /// Adds up to `limit` keys to filters that are not complete yet.
  void build_filters(std::size_t limit);
  /// Moves up to `limit` keys of the oldest partition to the table, and drops the partition if it
  /// has none left.
  void retire(std::size_t limit, KeyTable& to);

  /// As KeyTable::Scan.
  class Scan {
   public:
    Scan(Partitions& partitions, const IndexKey& from, std::int64_t end);

    /// Null at the end.
    const IndexKey* key() const { return open_.empty() ? nullptr : &open_.front().key; }
    void advance();

   private:
    /// A partition, and the next of its keys.
    struct Position {
      std::int64_t number;
      IndexKey key;
    };
    void open_next_ones();
    void put(std::int64_t number, const IndexKey& after);

    Partitions& partitions_;
    const IndexKey from_;
    const std::int64_t end_;
    std::size_t opened_ = 0;      ///< How many of the oldest partitions have been opened.
    std::vector<Position> open_;  ///< A heap: the least key first.
  };

 private:
  struct Partition {
    std::int64_t number;
    std::int64_t after_id;
    std::int64_t jobs;
    std::optional<BloomFilter> filter;  ///< None if it has not begun, or would be empty.
    bool has_whole_filter = false;
    IndexKey filtered_up_to{};  ///< The filter has the keys up to this one; see build_filter().
    bool has_begun_filter = false;
  };

  void load(Connection& connection);
  Partition* find(const IndexKey& key);
  bool may_have(const Partition& partition, std::int64_t first_column) const;
  bool is_empty(const Partition& partition);
  void drop(std::size_t at);
  BloomFilter new_filter(const Partition& partition) const;
  std::size_t build_filter(Partition& partition, std::size_t limit);
  std::vector<IndexKey> read_after(std::int64_t number, const IndexKey* after, std::size_t limit);

  Connection& connection_;
  const std::string index_;
  const KeyColumns columns_;
  const bool is_searched_;
  const WriteLimits limits_;
  Statement insert_;
  Statement remove_;
  Statement seek_;
  Statement read_;
  Statement exists_;
  Statement save_;
  Statement drop_;
  std::vector<Partition> partitions_;  ///< The oldest first.
  std::size_t looked_at_ = 0;          ///< By free_empty().
};

}  // namespace celld::store
