// A table of the keys of an index, without order in time: see index_tables.hpp.
#pragma once

#include <cstdint>
#include <string>

#include "src/store/key_columns.hpp"
#include "src/store/sqlite.hpp"

namespace celld::store {

class KeyTable {
 public:
  KeyTable(Connection& connection, const std::string& name, const KeyColumns& columns);

  /// No effect if the table has the key.
  void insert(const IndexKey& key);
  /// Whether the table had the key.
  bool remove(const IndexKey& key);
  /// Looks whether the table is empty; if it is, it is not searched until a key comes.
  void note_emptiness();

  /// Steps through these keys in order: those that agree with `from` in the columns of the prefix,
  /// and whose next column is at least that of `from` and less than `end`.
  class Scan {
   public:
    Scan(KeyTable& table, const IndexKey& from, std::int64_t end);
    ~Scan();
    Scan(const Scan&) = delete;
    Scan& operator=(const Scan&) = delete;

    /// Null at the end.
    const IndexKey* key() const { return has_key_ ? &key_ : nullptr; }
    void advance();

   private:
    KeyTable& table_;
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

}  // namespace celld::store
