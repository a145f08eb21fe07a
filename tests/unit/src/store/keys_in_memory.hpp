// A database in memory with the tables of one index: `keys`, and `keys_by_part`.
#pragma once

#include <cstdint>
#include <string>

#include "src/store/key_columns.hpp"
#include "src/store/sqlite.hpp"

namespace celld::store::test {

constexpr KeyColumns key_columns{{"hash", "place", "job"}, 3, 1};

inline IndexKey make_key(std::int64_t hash, std::int64_t place, std::int64_t job) {
  return {hash, place, job};
}

class KeysInMemory {
 public:
  KeysInMemory() {
    connection.execute(
        "CREATE TABLE keys (hash INTEGER, place INTEGER, job INTEGER,"
        " PRIMARY KEY (hash, place, job)) WITHOUT ROWID;"
        "CREATE TABLE keys_by_part (part INTEGER, hash INTEGER, place INTEGER, job INTEGER,"
        " PRIMARY KEY (part, hash, place, job)) WITHOUT ROWID;"
        "CREATE TABLE index_partitions (index_name TEXT, part INTEGER, after_id INTEGER,"
        " jobs INTEGER, PRIMARY KEY (index_name, part)) WITHOUT ROWID;");
  }
  /// Of the rows of a table, perhaps with a condition.
  std::int64_t count(const std::string& what) {
    return connection.query_integer(("SELECT count(*) FROM " + what).c_str());
  }

  Connection connection{":memory:", Connection::Access::read_write};
};

}  // namespace celld::store::test
