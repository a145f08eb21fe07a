// The partitions of an index with random keys. What commits do with them, see
// index_tables_test.cpp.
#include "src/store/partitions.hpp"

#include <limits>
#include <string>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/store/keys_in_memory.hpp"

using namespace celld::store;
using namespace celld::store::test;

namespace {

constexpr std::int64_t integer_max = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t jobs_per_partition = 10;

class Index {
 public:
  explicit Index(KeysInMemory& database, bool is_searched = true)
      : partitions(database.connection, {"keys", "keys_by_part", is_searched}, key_columns,
                   {.generation_jobs = 1, .partition_jobs = jobs_per_partition}) {}

  /// A generation of ten jobs, whose ids and places are above `after_id`.
  void add_generation(std::int64_t after_id) {
    partitions.start_generation(jobs_per_partition, after_id);
    for (std::int64_t job = after_id + 1; job <= after_id + 10; ++job) {
      CHECK(partitions.insert(make_key(job % 3, job, job)));
    }
  }
  /// The jobs of a hash, in the order of the scan.
  std::vector<std::int64_t> scan(std::int64_t hash, std::int64_t place = 0,
                                 std::int64_t end = integer_max) {
    std::vector<std::int64_t> jobs;
    for (Partitions::Scan scan{partitions, {hash, place}, end}; scan.key() != nullptr;
         scan.advance()) {
      CHECK((*scan.key())[0] == hash);
      jobs.push_back((*scan.key())[2]);
    }
    return jobs;
  }

  Partitions partitions;
};

using Jobs = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a partition has the generations of so many jobs") {
  KeysInMemory database;
  Index index{database};
  for (int generation = 0; generation < 5; ++generation) {
    index.partitions.start_generation(4, generation * 100);
  }
  CHECK(index.partitions.count() == 2);
  CHECK(database.count("index_partitions WHERE after_id = 0 AND jobs = 12") == 1);
  CHECK(database.count("index_partitions WHERE after_id = 300 AND jobs = 8") == 1);
}

TEST_CASE("after a start, the newest partition counts the jobs that it has had before") {
  KeysInMemory database;
  for (int generation = 0; generation < 5; ++generation) {
    Index{database}.partitions.start_generation(4, generation * 100);
  }
  CHECK(database.count("index_partitions WHERE after_id = 0 AND jobs = 12") == 1);
  CHECK(database.count("index_partitions WHERE after_id = 300 AND jobs = 8") == 1);
}

TEST_CASE("a key goes to the newest partition that begins before its job and its place") {
  KeysInMemory database;
  Index index{database};
  CHECK_FALSE(index.partitions.insert(make_key(1, 5, 5)));
  for (const auto after_id : {100, 110, 120}) index.add_generation(after_id);
  CHECK_FALSE(index.partitions.insert(make_key(1, 500, 100)));
  CHECK_FALSE(index.partitions.insert(make_key(1, 100, 500)));
  CHECK_FALSE(index.partitions.remove(make_key(1, 500, 100)));
  const auto part_of = [&](const IndexKey& key) {
    CHECK(index.partitions.insert(key));
    const auto where = " WHERE hash = " + std::to_string(key[0]);
    const auto part =
        database.connection.query_integer(("SELECT part FROM keys_by_part" + where).c_str());
    CHECK(index.partitions.remove(key));
    CHECK_FALSE(index.partitions.remove(key));
    return part;
  };
  CHECK(part_of(make_key(7, 500, 110)) == 1);
  CHECK(part_of(make_key(7, 500, 111)) == 2);
  CHECK(part_of(make_key(7, 110, 500)) == 1);
  CHECK(part_of(make_key(7, 111, 500)) == 2);
  CHECK(part_of(make_key(7, 500, 500)) == 3);
}

TEST_CASE("a scan of partitions is sorted, and bounded by prefix, next column and job") {
  KeysInMemory database;
  Index index{database};
  for (const auto after_id : {0, 10, 20}) index.add_generation(after_id);
  CHECK(index.scan(1) == Jobs{1, 4, 7, 10, 13, 16, 19, 22, 25, 28});
  CHECK(index.scan(1, 13) == Jobs{13, 16, 19, 22, 25, 28});
  CHECK(index.scan(1, 13, 22) == Jobs{13, 16, 19});
  CHECK(index.scan(3).empty());
  // A job of the first partition that took its place late.
  CHECK(index.partitions.remove(make_key(1, 4, 4)));
  CHECK(index.partitions.insert(make_key(1, 26, 4)));
  CHECK(index.scan(1) == Jobs{1, 7, 10, 13, 16, 19, 22, 25, 4, 28});
  CHECK(index.partitions.insert(make_key(1, 1000, 2)));
  CHECK(index.scan(1, 28) == Jobs{28, 2});
}

TEST_CASE("a lookup reads those partitions alone that may have the key") {
  KeysInMemory database;
  Index index{database};
  for (const auto after_id : {0, 10, 20}) index.add_generation(after_id);
  CHECK(index.partitions.insert(make_key(77, 25, 25)));
  // What was deleted behind the back of the index can be found only by reading the tables.
  database.connection.execute("DELETE FROM keys_by_part WHERE part < 3");
  database.connection.execute("INSERT INTO keys_by_part VALUES (1, 77, 5, 5), (3, 78, 26, 26)");
  CHECK(index.scan(77) == Jobs{25});
  CHECK(index.scan(78).empty());
}

TEST_CASE("a start finds every key, before the filters are complete and after") {
  KeysInMemory database;
  {
    Index index{database};
    for (const auto after_id : {0, 10, 20}) index.add_generation(after_id);
    CHECK(index.partitions.insert(make_key(77, 25, 25)));
  }
  Index index{database};
  CHECK(index.partitions.count() == 3);
  for (int limit = 1; limit < 20; ++limit) {
    INFO("limit " << limit);
    CHECK(index.scan(1) == Jobs{1, 4, 7, 10, 13, 16, 19, 22, 25, 28});
    CHECK(index.scan(77) == Jobs{25});
    // Keys before and behind those that are in the filters.
    for (const std::int64_t hash : {-100 - limit, 100 + limit}) {
      CHECK(index.partitions.insert(make_key(hash, 15, 15)));
      CHECK(index.scan(hash) == Jobs{15});
    }
    index.partitions.build_filters(static_cast<std::size_t>(limit));
  }
  // The filters are complete: what comes behind the back of the index is not found.
  database.connection.execute(
      "INSERT INTO keys_by_part VALUES (1, 999, 5, 5), (2, 999, 15, 15), (3, 999, 25, 25)");
  CHECK(index.scan(999).empty());
  for (int limit = 1; limit < 20; ++limit) {
    CHECK(index.scan(-100 - limit) == Jobs{15});
    CHECK(index.scan(100 + limit) == Jobs{15});
  }
}

TEST_CASE("an index that the writer does not search keeps no filters in memory") {
  KeysInMemory database;
  const auto has_no_filters = [&](Index& index) {
    index.partitions.build_filters(1000);
    // A filter would not have this key, so that it would not be found.
    database.connection.execute(
        "INSERT INTO keys_by_part VALUES (1, 999, 5, 5), (2, 999, 15, 15), (3, 999, 25, 25)");
    CHECK(index.scan(999) == Jobs{5, 15, 25});
    database.connection.execute("DELETE FROM keys_by_part WHERE hash = 999");
  };
  {
    Index index{database, false};
    for (const auto after_id : {0, 10, 20}) index.add_generation(after_id);
    has_no_filters(index);
  }
  Index index{database, false};
  has_no_filters(index);
}

TEST_CASE("partitions without keys are dropped, but not the newest") {
  KeysInMemory database;
  Index index{database};
  for (std::int64_t after_id = 0; after_id < 80; after_id += 10) index.add_generation(after_id);
  database.connection.execute("DELETE FROM keys_by_part WHERE part <> 6");
  for (int generation = 0; generation < 4; ++generation) index.partitions.free_empty(0);
  CHECK(index.partitions.count() == 2);
  CHECK(database.count("index_partitions WHERE part IN (6, 8)") == 2);
  // The keys of a partition that was dropped go to the one before.
  CHECK_FALSE(index.partitions.insert(make_key(7, 50, 50)));
  CHECK(index.partitions.insert(make_key(7, 65, 65)));
  CHECK(database.count("keys_by_part WHERE part = 6 AND job = 65") == 1);
  index.partitions.start_generation(jobs_per_partition, 80);
  CHECK(database.count("index_partitions WHERE part = 9") == 1);
}

TEST_CASE("empty partitions are kept for late keys, up to a number") {
  KeysInMemory database;
  Index index{database};
  for (std::int64_t after_id = 0; after_id < 80; after_id += 10) index.add_generation(after_id);
  const auto remove_all = [&] {
    for (std::int64_t job = 1; job <= 70; ++job) {
      index.partitions.remove(make_key(job % 3, job, job));
    }
  };
  remove_all();
  for (int generation = 0; generation < 4; ++generation) index.partitions.free_empty(5);
  CHECK(index.partitions.count() == 5);
  CHECK(database.count("index_partitions WHERE part IN (4, 5, 6, 7, 8)") == 5);
  // Empty partitions are not searched: a key behind the back of the index is not found.
  database.connection.execute("INSERT INTO keys_by_part VALUES (5, 9, 45, 45)");
  CHECK(index.scan(9).empty());
  database.connection.execute("DELETE FROM keys_by_part WHERE job = 45");
  // Their filters are gone, too: those would have this hash.
  database.connection.execute(
      "INSERT INTO keys_by_part VALUES (5, 1, 45, 45), (6, 1, 55, 55), (7, 1, 65, 65)");
  CHECK(index.scan(1) == Jobs{73, 76, 79});
  database.connection.execute("DELETE FROM keys_by_part WHERE job IN (45, 55, 65)");
  // A late key goes to the partition of its job, and is found there, like those that follow it.
  CHECK(index.partitions.insert(make_key(7, 500, 45)));
  CHECK(index.partitions.insert(make_key(8, 501, 46)));
  CHECK(database.count("keys_by_part WHERE part = 5") == 2);
  CHECK(index.scan(7) == Jobs{45});
  CHECK(index.scan(8) == Jobs{46});
}

TEST_CASE("the oldest partition moves to a table, a few keys at a time") {
  KeysInMemory database;
  Index index{database};
  KeyTable table{database.connection, "keys", key_columns};
  for (const auto after_id : {0, 10}) index.add_generation(after_id);
  index.partitions.retire(4, table);
  CHECK(database.count("keys") == 4);
  CHECK(database.count("keys_by_part WHERE part = 1") == 6);
  CHECK(index.partitions.count() == 2);
  CHECK_FALSE(index.partitions.remove(make_key(0, 3, 3)));  // It has moved.
  for (int times = 0; times < 5; ++times) index.partitions.retire(4, table);
  CHECK(database.count("keys") == 10);
  CHECK(index.partitions.count() == 1);
  CHECK(database.count("index_partitions WHERE part = 2") == 1);
  CHECK(database.count("keys_by_part WHERE part = 2") == 10);
}
