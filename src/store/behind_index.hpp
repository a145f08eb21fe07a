// An index of jobs that is written to its table behind the commits.
//
// A commit writes the row of a job, and nothing to the index: recent jobs are indexed in memory.
// When enough of them have come, they are moved to the index's table a few at a time, in the order
// of the keys, so that neighbours share pages, whatever keys users choose. A job that leaves the
// index before that is never written to the table. A log-structured merge tree has the same idea
// (P. O'Neil et al., "The Log-Structured Merge-Tree", 1996); here the rows of the jobs are the log.
//
// Two ids, which all indexes of a database share, divide the jobs into three generations:
//
//   id <= written            In the table alone.
//   written < id <= moving   In memory. Those that the move has reached are in the table as well,
//                            and every change goes to both.
//   moving < id              In memory alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "src/store/sqlite.hpp"

namespace celld::store {

/// Which jobs are indexed where; see above.
struct Generations {
  std::int64_t written = 0;
  std::int64_t moving = 0;
};

/// The columns of a key; the last one that is in use is the job's id.
using IndexKey = std::array<std::int64_t, 5>;

class BehindIndex {
 public:
  struct Table {
    const char* name;
    std::array<const char*, 5> columns;  ///< Null where unused.
    std::size_t width;                   ///< The number of columns.
    std::size_t prefix;                  ///< The number of columns that a scan fixes.
  };

  BehindIndex(Connection& connection, const Table& table, const Generations& generations);

  void add(const IndexKey& key);
  void remove(const IndexKey& key);

  /// Calls `visit` for the keys that agree with `from` in the columns of the prefix, in order,
  /// while the next column is at least that of `from` and less than `end`, until `visit` returns
  /// false. `visit` must not change the index.
  template <class Visit>
  void scan(const IndexKey& from, std::int64_t end, const Visit& visit);

  /// At a start: notes the key of a job that is not in the table alone.
  void load(const IndexKey& key) { memory_of(id_of(key)).insert(key); }

  /// Starts to move all jobs that are in memory alone. `generations.moving` must rise with it.
  void start_move();
  /// Moves up to `limit` keys; returns how many. Fewer than `limit`: the table has them all.
  std::size_t move(std::size_t limit);
  /// Forgets what was moved. `generations.written` must rise with it.
  void end_move();

 private:
  using Keys = std::set<IndexKey>;

  std::int64_t id_of(const IndexKey& key) const { return key[width_ - 1]; }
  Keys& memory_of(std::int64_t id) { return id <= generations_.moving ? moving_ : recent_; }
  bool in_scan(const IndexKey& key, const IndexKey& from, std::int64_t end) const;
  void run(Statement& statement, const IndexKey& key);
  IndexKey read_key() const;

  const Generations& generations_;
  const std::size_t width_;
  const std::size_t prefix_;
  Statement insert_;
  Statement delete_;
  Statement scan_;
  Statement exists_;
  Keys recent_;
  Keys moving_;
  IndexKey reached_{};      ///< The last key that was moved.
  bool has_moved_ = false;  ///< `reached_` is valid.
  bool table_has_rows_;     ///< False: the table is empty for certain.
};

template <class Visit>
void BehindIndex::scan(const IndexKey& from, std::int64_t end, const Visit& visit) {
  auto recent = recent_.lower_bound(from);
  auto moving = moving_.lower_bound(from);
  const ResetAtEnd reset{scan_};
  IndexKey stored{};
  const auto next_stored = [&] {
    if (!scan_.step()) return false;
    stored = read_key();
    return true;
  };
  bool has_stored = false;
  if (table_has_rows_) {
    const int last_bound = static_cast<int>(prefix_) + 1;
    for (int column = 0; column < last_bound; ++column) {
      scan_.bind(column + 1, from[static_cast<std::size_t>(column)]);
    }
    scan_.bind(last_bound + 1, end).bind(last_bound + 2, generations_.written);
    has_stored = next_stored();
  }
  for (;;) {
    const bool has_recent = recent != recent_.end() && in_scan(*recent, from, end);
    const bool has_moving = moving != moving_.end() && in_scan(*moving, from, end);
    if (!has_stored && !has_recent && !has_moving) return;
    if (has_stored && !(has_recent && *recent < stored) && !(has_moving && *moving < stored)) {
      if (!visit(stored)) return;
      has_stored = next_stored();
    } else if (has_recent && !(has_moving && *moving < *recent)) {
      if (!visit(*recent++)) return;
    } else {
      if (!visit(*moving++)) return;
    }
  }
}

}  // namespace celld::store
