// A table of the keys of an index.
#include "src/store/key_table.hpp"

#include <limits>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/store/keys_in_memory.hpp"

using namespace celld::store;
using namespace celld::store::test;

namespace {

constexpr std::int64_t id_max = std::numeric_limits<std::int64_t>::max();

std::vector<IndexKey> scanned(KeyTable& table, const IndexKey& from, std::int64_t end) {
  std::vector<IndexKey> found;
  for (KeyTable::Scan scan{table, from, end}; scan.key() != nullptr; scan.advance()) {
    found.push_back(*scan.key());
  }
  return found;
}

}  // namespace

TEST_CASE("a scan of a table is bounded by prefix and next column, and sorted") {
  KeysInMemory database;
  KeyTable table{database.connection, "keys", key_columns};
  for (std::int64_t job = 1; job <= 4; ++job) table.insert(make_key(7, 10 - job, job));
  table.insert(make_key(6, 8, 5));
  table.insert(make_key(8, 8, 6));
  CHECK(scanned(table, {7, 7}, 10) ==
        std::vector{make_key(7, 7, 3), make_key(7, 8, 2), make_key(7, 9, 1)});
  CHECK(scanned(table, {7, 7}, 9) == std::vector{make_key(7, 7, 3), make_key(7, 8, 2)});
  CHECK(scanned(table, {9, 0}, id_max).empty());
}

TEST_CASE("a table is known to be empty only while it is") {
  KeysInMemory database;
  KeyTable table{database.connection, "keys", key_columns};
  table.note_emptiness();
  CHECK(scanned(table, {1, 0}, id_max).empty());
  CHECK_FALSE(table.remove(make_key(1, 2, 3)));
  table.insert(make_key(1, 2, 3));
  table.insert(make_key(1, 2, 3));
  CHECK(scanned(table, {1, 0}, id_max) == std::vector{make_key(1, 2, 3)});
  CHECK(table.remove(make_key(1, 2, 3)));
  CHECK_FALSE(table.remove(make_key(1, 2, 3)));
  table.note_emptiness();
  database.connection.execute("INSERT INTO keys VALUES (1, 2, 3)");
  table.note_emptiness();
  CHECK(scanned(table, {1, 0}, id_max).size() == 1);
}
