// The tables of an index that is written behind the commits (behind_index.hpp).
//
// If the keys of an index are random, each of them dirties a page of its own in a large table. Such
// an index has a second table, its buffer, which is small. Keys are inserted into the buffer, and a
// cursor that passes over it again and again, in the order of the keys, moves them to the table, so
// that many keys share each page that it writes: the rolling merge of P. O'Neil et al., "The
// Log-Structured Merge-Tree", 1996. Each key is in exactly one of the two tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "src/store/sqlite.hpp"

namespace celld::store {

/// The columns of a key; the last one that is in use is the job's id.
using IndexKey = std::array<std::int64_t, 5>;

struct KeyColumns {
  std::array<const char*, 5> names;  ///< Null where unused.
  std::size_t width;                 ///< The number of columns.
  std::size_t prefix;                ///< The number of columns that a scan fixes.
};

class KeyTable {
 public:
  KeyTable(Connection& connection, const std::string& name, const KeyColumns& columns);

  /// No effect if the table has the key.
  void insert(const IndexKey& key);
  /// Whether the table had the key.
  bool remove(const IndexKey& key);
  void note_emptiness();

  /// Steps through the keys of jobs up to `last_id`, in order: those that agree with `from` in the
  /// columns of the prefix and whose next column is at least that of `from` and less than `end`.
  class Scan {
   public:
    /// `table` null: no keys.
    Scan(KeyTable* table, const IndexKey& from, std::int64_t end, std::int64_t last_id);
    ~Scan();
    Scan(const Scan&) = delete;
    Scan& operator=(const Scan&) = delete;

    /// Null at the end.
    const IndexKey* key() const { return has_key_ ? &key_ : nullptr; }
    void advance();

   private:
    KeyTable* table_;
    IndexKey key_{};
    bool has_key_ = false;
  };

 private:
  Connection& connection_;
  const KeyColumns columns_;
  Statement insert_;
  Statement remove_;
  Statement scan_;
  Statement exists_;
  bool may_have_keys_ = false;  ///< False: the table is empty for certain.
};

class RollingMerge {
 public:
  /// A round, in which the cursor passes over the buffer once, begins after `round_keys` keys.
  RollingMerge(Connection& connection, const std::string& table, const std::string& buffer,
               const KeyColumns& columns, std::size_t round_keys);

  /// `keys` have been inserted into the buffer since the last call. Moves keys of jobs up to
  /// `last_id`, a few for each key that came, and few enough for one commit. Returns whether it
  /// touched the tables.
  bool advance(std::size_t keys, std::int64_t last_id);

 private:
  void pass(std::size_t keys);
  std::optional<IndexKey> key_after(std::size_t keys);
  Statement& bind_range(Statement& statement, const IndexKey& end);

  const std::size_t width_;
  const std::size_t round_keys_;
  Statement select_key_;
  Statement copy_;
  Statement remove_;
  std::size_t keys_;      ///< Inserted since the last round began.
  std::size_t owed_ = 0;  ///< Keys that the cursor has yet to pass for those that came.
  /// Of the round: the greatest id of a job whose keys it moves, and the last key that it passed.
  std::optional<std::int64_t> last_id_;
  IndexKey passed_{};
};

/// The table of an index, and its buffer, if it has one.
class IndexTables {
 public:
  struct Form {
    const char* table;
    const char* buffer;  ///< Null: none.
    KeyColumns columns;
  };
  IndexTables(Connection& connection, const Form& form, std::size_t round_keys);

  void insert(const IndexKey& key) {
    (buffer_ ? *buffer_ : table_).insert(key);
    ++inserted_;
  }
  void remove(const IndexKey& key) {
    if (!buffer_ || !buffer_->remove(key)) table_.remove(key);
  }
  KeyTable* table() { return &table_; }
  KeyTable* buffer() { return buffer_ ? &*buffer_ : nullptr; }
  void note_emptiness();
  /// Part of each commit. Moves keys of jobs up to `last_id` from the buffer to the table.
  void merge(std::int64_t last_id);

 private:
  KeyTable table_;
  std::optional<KeyTable> buffer_;
  std::optional<RollingMerge> merge_;
  std::size_t inserted_ = 0;  ///< Keys, since the last merge.
};

}  // namespace celld::store
