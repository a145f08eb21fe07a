// The tables of an index with random keys: the buffer, the table, and the merge between them.
#include "src/store/key_table.hpp"

#include <limits>
#include <random>
#include <set>
#include <vector>

#include "tests/unit/catch.hpp"

using namespace celld::store;

namespace {

constexpr std::int64_t id_max = std::numeric_limits<std::int64_t>::max();
constexpr KeyColumns columns{{"hash", "place", "job"}, 3, 1};
constexpr IndexTables::Form form{"keys", "buffer", columns};

IndexKey key(std::int64_t hash, std::int64_t place, std::int64_t job) {
  return {hash, place, job};
}

class Database {
 public:
  Database() {
    for (const std::string name : {"keys", "buffer"}) {
      connection.execute(("CREATE TABLE " + name +
                          " (hash INTEGER, place INTEGER, job INTEGER,"
                          " PRIMARY KEY (hash, place, job)) WITHOUT ROWID")
                             .c_str());
    }
  }
  std::int64_t count(const std::string& what) {
    return connection.query_integer(("SELECT count(*) FROM " + what).c_str());
  }
  std::int64_t in_both() { return count("(SELECT * FROM keys INTERSECT SELECT * FROM buffer)"); }

  Connection connection{":memory:", Connection::Access::read_write};
};

std::vector<IndexKey> scanned(KeyTable* table, const IndexKey& from, std::int64_t end,
                              std::int64_t last_id = id_max) {
  std::vector<IndexKey> found;
  for (KeyTable::Scan scan{table, from, end, last_id}; scan.key() != nullptr; scan.advance()) {
    found.push_back(*scan.key());
  }
  return found;
}

}  // namespace

TEST_CASE("a scan of a table is bounded by prefix, next column and job, and sorted") {
  Database database;
  KeyTable table{database.connection, "keys", columns};
  for (std::int64_t job = 1; job <= 4; ++job) table.insert(key(7, 10 - job, job));
  table.insert(key(6, 8, 5));
  table.insert(key(8, 8, 6));
  CHECK(scanned(&table, {7, 7}, 10) == std::vector{key(7, 7, 3), key(7, 8, 2), key(7, 9, 1)});
  CHECK(scanned(&table, {7, 7}, 9) == std::vector{key(7, 7, 3), key(7, 8, 2)});
  CHECK(scanned(&table, {7, 7}, 10, 2) == std::vector{key(7, 8, 2), key(7, 9, 1)});
  CHECK(scanned(&table, {9, 0}, id_max).empty());
  CHECK(scanned(nullptr, {7, 7}, 10).empty());
}

TEST_CASE("a table is known to be empty only while it is") {
  Database database;
  KeyTable table{database.connection, "keys", columns};
  table.note_emptiness();
  CHECK(scanned(&table, {1, 0}, id_max).empty());
  CHECK_FALSE(table.remove(key(1, 2, 3)));
  table.insert(key(1, 2, 3));
  table.insert(key(1, 2, 3));
  CHECK(scanned(&table, {1, 0}, id_max) == std::vector{key(1, 2, 3)});
  CHECK(table.remove(key(1, 2, 3)));
  CHECK_FALSE(table.remove(key(1, 2, 3)));
  table.note_emptiness();
  database.connection.execute("INSERT INTO keys VALUES (1, 2, 3)");
  table.note_emptiness();
  CHECK(scanned(&table, {1, 0}, id_max).size() == 1);
}

TEST_CASE("whatever is inserted, removed and merged, each key is in one of the tables") {
  constexpr std::size_t round_keys = 40;
  for (unsigned seed = 0; seed < 3; ++seed) {
    INFO("seed " << seed);
    Database database;
    IndexTables tables{database.connection, form, round_keys};
    std::mt19937_64 random{seed};
    std::set<IndexKey> expected;
    for (std::int64_t job = 1; job <= 300; ++job) {
      const auto added = key(static_cast<std::int64_t>(random() % 50) - 25, job, job);
      tables.insert(added);
      expected.insert(added);
      if (random() % 3 == 0) {
        const auto gone =
            std::next(expected.begin(), static_cast<std::ptrdiff_t>(random() % expected.size()));
        tables.remove(*gone);
        expected.erase(gone);
      }
      // Keys that are not written for good, as those of a generation that still moves, stay.
      const auto last_id = job - 5;
      tables.merge(last_id);
      CHECK(database.count("keys WHERE job > " + std::to_string(last_id)) == 0);
      CHECK(database.in_both() == 0);
      CHECK(database.count("keys") + database.count("buffer") ==
            static_cast<std::int64_t>(expected.size()));
      // The keys of a round, those that came during it, and those that it may not move.
      CHECK(database.count("buffer") <= static_cast<std::int64_t>(2 * round_keys + 5));
      const auto hash = (*expected.begin())[0];
      std::set<IndexKey> found;
      for (auto* table : {tables.table(), tables.buffer()}) {
        for (const auto& each : scanned(table, {hash}, id_max)) found.insert(each);
      }
      CHECK(found == std::set<IndexKey>(expected.begin(), expected.lower_bound({hash + 1})));
    }
    CHECK(database.count("keys") > 100);
  }
}

TEST_CASE("a round of the merge begins after so many keys") {
  Database database;
  IndexTables tables{database.connection, form, 10};
  const auto insert = [&](std::int64_t first, std::int64_t last) {
    for (auto job = first; job <= last; ++job) tables.insert(key(job * 7 % 11, job, job));
  };
  insert(1, 6);
  tables.merge(6);  // The first begins at once.
  CHECK(database.count("keys") == 6);
  insert(7, 9);
  tables.merge(9);
  CHECK(database.count("buffer") == 3);
  insert(10, 16);
  tables.merge(16);
  CHECK(database.count("buffer") == 0);
}

TEST_CASE("what comes at once is merged in several commits, even if nothing else comes") {
  Database database;
  IndexTables tables{database.connection, form, 1000};
  for (std::int64_t job = 1; job <= 5000; ++job) tables.insert(key(job * 7919 % 5003, job, job));
  tables.merge(5000);
  const auto first = database.count("keys");
  CHECK(first > 0);
  CHECK(first < 5000);
  for (int commit = 0; commit < 20; ++commit) tables.merge(5000);
  CHECK(database.count("keys") == 5000);
  CHECK(database.count("buffer") == 0);
}

TEST_CASE("an index without a buffer is merged by doing nothing") {
  Database database;
  IndexTables tables{database.connection, {"keys", nullptr, columns}, 1};
  tables.insert(key(1, 2, 3));
  tables.merge(3);
  CHECK(database.count("keys") == 1);
  CHECK(tables.buffer() == nullptr);
  tables.remove(key(1, 2, 3));
  CHECK(database.count("keys") == 0);
}
