// An index of jobs that is written to its table behind the commits.
//
// A commit writes the row of a job, and nothing to the index: recent jobs are indexed in memory.
// When enough of them have come, they are moved to the index's table a few at a time, in the order
// of the keys, so that neighbours share pages, whatever keys users choose. A job that leaves the
// index before that is never written to the table. A log-structured merge tree works in the same
// way (P. O'Neil et al., "The Log-Structured Merge-Tree", 1996); here the rows of the jobs are the
// log.
//
// Two ids, which all indexes of a database share, divide the jobs into three generations:
//
//   id <= written            In the tables alone (index_tables.hpp).
//   written < id <= moving   In memory. Those that the move has reached are in the tables as well,
//                            and every change goes to both. A scan meets them twice, and passes
//                            both at once.
//   moving < id              In memory alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>

#include "src/store/index_tables.hpp"

namespace celld::store {

/// Which jobs are indexed where; see above.
struct Generations {
  std::int64_t written = 0;
  std::int64_t moving = 0;
};

class BehindIndex {
 public:
  BehindIndex(Connection& connection, const IndexTables::Form& form, const Generations& generations,
              const WriteLimits& limits);

  void add(const IndexKey& key);
  void remove(const IndexKey& key);

  /// Calls `visit` for the keys that agree with `from` in the columns of the prefix, in order,
  /// while the next column is at least that of `from` and less than `end`, until `visit` returns
  /// false. `visit` must not change the index.
  template <class Visit>
  void scan(const IndexKey& from, std::int64_t end, const Visit& visit);

  /// At a start: takes the key of a job that belongs in memory.
  void load(const IndexKey& key) { memory_of(id_of(key)).insert(key); }

  /// Starts to move all jobs that are in memory alone, `jobs` of them. The caller must raise
  /// `generations.moving` at the same time.
  void start_move(std::size_t jobs);
  /// Moves up to `limit` keys; returns how many. Fewer than `limit`: the table has them all.
  std::size_t move(std::size_t limit);
  /// Forgets what was moved. The caller must raise `generations.written` at the same time.
  void end_move();
  /// As IndexTables::tend.
  void tend(std::size_t jobs) { tables_.tend(jobs); }

 private:
  using Keys = std::set<IndexKey>;

  std::int64_t id_of(const IndexKey& key) const { return key[width_ - 1]; }
  Keys& memory_of(std::int64_t id) { return id <= generations_.moving ? moving_ : recent_; }
  bool in_scan(const IndexKey& key, const IndexKey& from, std::int64_t end) const;

  const Generations& generations_;
  const std::size_t width_;
  const std::size_t prefix_;
  IndexTables tables_;
  Keys recent_;
  Keys moving_;
  IndexKey reached_{};      ///< The last key that was moved.
  bool has_moved_ = false;  ///< `reached_` is valid.
};

template <class Visit>
void BehindIndex::scan(const IndexKey& from, std::int64_t end, const Visit& visit) {
  auto recent = recent_.lower_bound(from);
  auto moving = moving_.lower_bound(from);
  IndexTables::Scan stored{tables_, from, end};
  for (;;) {
    const IndexKey* next = nullptr;
    const auto consider = [&next](const IndexKey* key) {
      if (key != nullptr && (next == nullptr || *key < *next)) next = key;
    };
    const auto in_memory = [&](const Keys& keys, const Keys::iterator& at) {
      return at != keys.end() && in_scan(*at, from, end) ? &*at : nullptr;
    };
    const auto* recent_key = in_memory(recent_, recent);
    const auto* moving_key = in_memory(moving_, moving);
    consider(recent_key);
    consider(moving_key);
    consider(stored.key());
    if (next == nullptr || !visit(*next)) return;
    const bool is_moving = moving_key != nullptr && *moving_key == *next;
    if (next == recent_key) ++recent;
    if (stored.key() != nullptr && *stored.key() == *next) stored.advance();
    if (is_moving) ++moving;
  }
}

}  // namespace celld::store
