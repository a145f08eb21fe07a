// The tables of an index: its table, and the partitions for its newer keys.
#include "src/store/index_tables.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/store/keys_in_memory.hpp"

using namespace celld::store;
using namespace celld::store::test;

namespace {

constexpr std::int64_t integer_max = std::numeric_limits<std::int64_t>::max();
constexpr IndexTables::Form form{"keys", "keys_by_part", true, key_columns};
constexpr IndexTables::Form form_without_partitions{"keys", nullptr, true, key_columns};

/// All keys of a hash, in the order of a scan.
std::vector<IndexKey> scanned(IndexTables& tables, std::int64_t hash) {
  std::vector<IndexKey> found;
  for (IndexTables::Scan scan{tables, {hash}, integer_max}; scan.key() != nullptr; scan.advance()) {
    found.push_back(*scan.key());
  }
  return found;
}

std::int64_t keys_in_both(KeysInMemory& database) {
  return database.count("(SELECT * FROM keys INTERSECT SELECT hash, place, job FROM keys_by_part)");
}

}  // namespace

TEST_CASE("whatever is inserted, removed and retired, a scan finds exactly the keys") {
  constexpr std::int64_t jobs_per_generation = 5;
  const WriteLimits limits{.partition_jobs = 8, .partitions_max = 3};
  for (unsigned seed = 0; seed < 5; ++seed) {
    INFO("seed " << seed);
    KeysInMemory database;
    std::optional<IndexTables> tables{std::in_place, database.connection, form, limits};
    std::mt19937_64 random{seed};
    std::set<IndexKey> expected;
    const auto draw = [&](std::int64_t end) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end));
    };
    const auto insert = [&](const IndexKey& key) {
      tables->insert(key);
      expected.insert(key);
    };
    // Before the first generation, as an older celld left them.
    for (std::int64_t job = 1; job <= 9; ++job) insert(make_key(job % 3, job, job));
    for (std::int64_t last_id = 9; last_id < 300;) {
      const auto after_id = last_id;
      last_id += jobs_per_generation;
      tables->start_generation(jobs_per_generation, after_id);
      for (auto job = after_id + 1; job <= last_id; ++job) insert(make_key(draw(12) - 6, job, job));
      for (int changes = 0; changes < 4; ++changes) {
        const auto at = std::next(expected.begin(), draw(std::ssize(expected)));
        auto changed = *at;
        tables->remove(changed);
        expected.erase(at);
        // The job takes a place again, perhaps below its id.
        changed[1] = 1 + draw(last_id);
        if (draw(3) == 0) insert(changed);
      }
      tables->end_generation();
      if (draw(10) == 0) tables.emplace(database.connection, form, limits);
      tables->tend(jobs_per_generation);
      CHECK(keys_in_both(database) == 0);
      CHECK(database.count("keys") + database.count("keys_by_part") == std::ssize(expected));
      CHECK(database.count("index_partitions") <= 5);
      for (std::int64_t hash = -6; hash < 6; ++hash) {
        const auto first = expected.lower_bound({hash, 0, 0});
        const auto end = expected.lower_bound({hash + 1, 0, 0});
        CHECK(scanned(*tables, hash) == std::vector(first, end));
      }
    }
    CHECK(database.count("keys") > 20);
    CHECK(database.count("keys_by_part") > 20);
  }
}

TEST_CASE("partitions are retired as fast as others begin, however few keys come") {
  KeysInMemory database;
  const WriteLimits limits{.partition_jobs = 100, .partitions_max = 2};
  IndexTables tables{database.connection, form, limits};
  std::int64_t job = 0;
  for (int generation = 0; generation < 20; ++generation) {
    tables.start_generation(100, job);
    // Only the first ones have keys that stay.
    const int keys = generation < 5 ? 100 : 1;
    for (int key = 1; key <= keys; ++key) tables.insert(make_key(key, job + key, job + key));
    job += 100;
    tables.end_generation();
    for (int commit = 0; commit < 10; ++commit) tables.tend(10);
    CHECK(database.count("index_partitions") <= 4);
  }
  CHECK(database.count("keys") + database.count("keys_by_part") == 515);
}

TEST_CASE("a commit retires two keys for each job that came, unless they are too few") {
  KeysInMemory database;
  const WriteLimits limits{.partition_jobs = 100'000, .partitions_max = 1};
  IndexTables tables{database.connection, form, limits};
  tables.start_generation(100'000, 0);
  for (std::int64_t job = 1; job <= 6000; ++job) tables.insert(make_key(job * 7919, job, job));
  tables.start_generation(1, 100'000);
  tables.tend(100);
  CHECK(database.count("keys") == 0);  // Too few to be worth it.
  tables.tend(1000);
  CHECK(database.count("keys") == 2200);
  tables.tend(3000);
  CHECK(database.count("keys") == 6000);
}

TEST_CASE("an index that the writer does not search keeps more partitions") {
  const auto partitions_without_retiring = [](bool is_searched) {
    KeysInMemory database;
    const WriteLimits limits{
        .partition_jobs = 10, .partitions_max = 2, .partitions_per_list = 3, .retired_min = 1};
    IndexTables tables{
        database.connection, {"keys", "keys_by_part", is_searched, key_columns}, limits};
    std::int64_t partitions = 0;
    for (std::int64_t job = 0; database.count("keys") == 0; ++partitions) {
      tables.start_generation(10, job);
      for (int key = 1; key <= 10; ++key) tables.insert(make_key(key, job + key, job + key));
      job += 10;
      tables.end_generation();
      tables.tend(10);
    }
    return partitions - 1;
  };
  CHECK(partitions_without_retiring(true) == 2);
  CHECK(partitions_without_retiring(false) == 6);
}

TEST_CASE("an index without partitions has all its keys in its table") {
  KeysInMemory database;
  IndexTables tables{database.connection, form_without_partitions, {}};
  tables.start_generation(1, 0);
  tables.insert(make_key(1, 2, 3));
  tables.end_generation();
  tables.tend(1);
  CHECK(database.count("keys") == 1);
  CHECK(database.count("index_partitions") == 0);
  CHECK(scanned(tables, 1) == std::vector{make_key(1, 2, 3)});
  tables.remove(make_key(1, 2, 3));
  CHECK(scanned(tables, 1).empty());
}
