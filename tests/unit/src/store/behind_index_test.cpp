// Indexes that are written behind the commits. The contract tests also run on a store that writes
// them after each third job; here, on what its tables hold meanwhile.
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "src/store/behind_index.hpp"
#include "src/store/job_indexes.hpp"
#include "src/store/schema.hpp"
#include "tests/unit/src/store/index_tables.hpp"
#include "tests/unit/src/store/keys_in_memory.hpp"
#include "tests/unit/src/store/sqlite_under_test.hpp"

using namespace cells;         // NOLINT: tests of the port.
using namespace celld::store;  // NOLINT
using namespace celld::store::test;

namespace {

constexpr std::int64_t id_max = std::numeric_limits<std::int64_t>::max();

std::int64_t query(const std::string& database, const std::string& sql) {
  return Connection{database, Connection::Access::read_only}.query_integer(sql.c_str());
}

std::int64_t setting(const std::string& database, const std::string& name) {
  return query(database, "SELECT value FROM settings WHERE name = '" + name + "'");
}

SqliteOptions generations_of(std::size_t jobs) {
  SqliteOptions options;
  options.writes.generation_jobs = jobs;
  options.writes.jobs_per_move = 1;
  options.writes.partition_jobs = 2 * jobs;
  options.writes.partitions_max = 3;
  options.writes.route_changes = 3;
  return options;
}

/// Clients of a store that do, at random, all that changes an index.
class Users {
 public:
  Users(Client& client, unsigned seed) : client_(client), random_(seed) {}

  void act() {
    switch (draw(8)) {
      case 0:
      case 1:
      case 2:
        return insert();
      case 3:
        return claim();
      case 4:
        return end();
      case 5:
        return hold_or_release();
      case 6:
        return move();
      default:
        return prune();
    }
  }

 private:
  std::size_t draw(std::size_t end) { return random_() % end; }

  void insert() {
    // Ids need not come in order.
    const auto id = ++last_ + (draw(4) == 0 ? 100 : 0);
    const auto job = sketch_job({.id = id,
                                 .entity = "e" + std::to_string(draw(5)),
                                 .customer = draw(2) == 0 ? "a" : "b",
                                 .priority = static_cast<int>(1 + draw(9)),
                                 .batch = id % 3});
    if (!used_.insert(id).second) return;
    client_.ask(InsertJob{job});
    jobs_[id] = job;
  }
  JobPtr some_job() {
    if (jobs_.empty()) return nullptr;
    return std::next(jobs_.begin(), static_cast<std::ptrdiff_t>(draw(jobs_.size())))->second;
  }
  void claim() {
    const auto job = some_job();
    if (!job || job->state != JobState::queued) return;
    jobs_[job->id] = running(job, {1, ++lease_});
    client_.tell(ClaimJob{jobs_[job->id]});
  }
  void end() {
    const auto job = some_job();
    if (!job || job->state != JobState::running) return;
    client_.ask(RecordJob{job->lease, draw(2) == 0 ? ended(job) : settling(job, at_ms(9))});
    jobs_.erase(job->id);
  }
  void hold_or_release() {
    if (draw(4) == 0) {
      client_.ask(ReleaseHolds{{draw(2) == 0 ? "acme" : "other", "*"}, 0, 3});
      return;
    }
    if (const auto job = some_job()) client_.tell(HoldJob{job->id});
  }
  void move() {
    if (const auto job = some_job()) {
      const CellKey other{"other", "*"};
      const bool back = draw(2) == 0;
      StoredBacklog from{back ? other : job->cell, job->spec->customer, job->spec->product};
      client_.ask(MoveJobs{from, back ? job->cell : other, 2, draw(2) == 0});
    }
    client_.ask(AdvanceDue{{draw(2) == 0 ? "acme" : "other", "*"}, at_ms(10), 1'000'000, 3});
  }
  void prune() { client_.ask(PruneEnded{at_ms(1'000'000), 2, std::chrono::hours{1}}); }

  Client& client_;
  std::mt19937 random_;
  std::map<JobId, JobPtr> jobs_;
  std::set<JobId> used_;
  JobId last_ = 0;
  std::uint64_t lease_ = 0;
};

}  // namespace

TEST_CASE("whatever happens to jobs, the tables of the indexes agree with their rows") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    INFO("seed " << seed);
    SqliteUnderTest under_test{generations_of(3 + seed)};
    Client client{under_test};
    Users users{client, seed};
    for (int i = 0; i < 40; ++i) {
      for (int j = 0; j < 5; ++j) users.act();
      client.ask(FlushStore{});
      check_indexes(under_test.database());
      if (i == 20) under_test.reopen();
    }
    CHECK(setting(under_test.database(), "indexed_id") > 0);
  }
}

TEST_CASE("recent jobs are in no table, and jobs that ended meanwhile never enter two of them") {
  SqliteUnderTest under_test{generations_of(10)};
  Client client{under_test};
  const auto rows = [&](const std::string& table) {
    return query(under_test.database(), "SELECT count(*) FROM " + table);
  };
  const auto insert = [&](JobId id) {
    const auto job = sketch_job({.id = id, .entity = "e" + std::to_string(id)});
    client.ask(InsertJob{job});
    return job;
  };
  for (JobId id = 1; id <= 9; ++id) {
    const auto claimed = running(insert(id), {1, id});
    client.tell(ClaimJob{claimed});
    client.ask(RecordJob{{1, id}, ended(claimed)});
  }
  for (const auto* table : {"lines", "lines_by_part", "turns", "jobs_of_origin", "jobs_of_entity",
                            "jobs_of_entity_by_part"}) {
    CHECK(rows(table) == 0);
  }
  for (JobId id = 10; id <= 40; ++id) insert(id);
  const auto indexed = setting(under_test.database(), "indexed_id");
  CHECK(indexed >= 20);
  CHECK(rows("jobs_of_origin") >= indexed);
  const auto lines = rows("lines") + rows("lines_by_part");
  CHECK(lines >= indexed - 9);
  CHECK(lines <= 31);
  check_indexes(under_test.database());
}

TEST_CASE("lives that are too short to move a generation move it together") {
  auto options = generations_of(100);
  SqliteUnderTest under_test{options};
  JobId last = 0;
  for (int life = 0; life < 40; ++life) {
    Client client{under_test};
    for (int i = 0; i < 5; ++i) {
      ++last;
      client.ask(InsertJob{sketch_job({.id = last, .entity = "e" + std::to_string(last)})});
    }
    client.ask(FlushStore{});
    under_test.reopen();
  }
  CHECK(setting(under_test.database(), "indexed_id") >= 100);
  check_indexes(under_test.database());
}

TEST_CASE("one commit moves the keys of a limited number of jobs, and the next one continues") {
  TemporaryDirectory directory;
  Connection connection{(directory.path() / "celld.db").string(), Connection::Access::read_write};
  migrate(connection);
  JobIndexes indexes{connection,
                     {.generation_jobs = 10, .jobs_per_move = 1, .jobs_per_commit_max = 3}};
  for (JobId id = 1; id <= 10; ++id) {
    Standing at;
    at.cell = at.routing_key = 1;
    at.place = id;
    at.turn = 5;
    indexes.add(id, at, {"zone", "", std::to_string(id)});
  }
  const auto indexed = [&] {
    return connection.query_integer("SELECT value FROM settings WHERE name = 'indexed_id'");
  };
  indexes.write_behind();
  CHECK(indexed() == 0);
  CHECK(connection.query_integer("SELECT count(*) FROM turns") > 0);
  indexes.write_behind();
  CHECK(indexed() == 10);
}

TEST_CASE("a job that is pruned while keys move is in no list, whatever its generation") {
  TemporaryDirectory directory;
  Connection connection{(directory.path() / "celld.db").string(), Connection::Access::read_write};
  migrate(connection);
  JobIndexes indexes{connection,
                     {.generation_jobs = 10, .jobs_per_move = 1, .jobs_per_commit_max = 1}};
  const auto entity = [](JobId id) { return "e" + std::to_string(id); };
  const auto add = [&](JobId first, JobId last) {
    for (JobId id = first; id <= last; ++id) {
      Standing at;
      at.cell = at.routing_key = 1;
      at.batch = 7;
      indexes.add(id, at, {"zone", "", entity(id)});
    }
  };
  const auto query = [&](const std::string& sql) { return connection.query_integer(sql.c_str()); };
  const auto write_until = [&](std::int64_t indexed_id) {
    const auto indexed = [&] {
      return query("SELECT value FROM settings WHERE name = 'indexed_id'");
    };
    for (int commits = 0; commits < 8 && indexed() < indexed_id; ++commits) indexes.write_behind();
    REQUIRE(indexed() == indexed_id);
  };
  const std::string lists[] = {"jobs_of_origin",
                               "(SELECT * FROM jobs_of_entity UNION SELECT hash, job FROM"
                               " jobs_of_entity_by_part)",
                               "jobs_of_batch"};
  add(1, 10);
  indexes.write_behind();
  add(11, 19);
  // The first ten jobs are moving: some of their keys are in the tables now. Two of the pruned jobs
  // came later, so that the next move must still know of them.
  for (const JobId pruned : {1, 2, 9, 10, 11, 15}) indexes.remove(pruned, 1, entity(pruned), 7);
  write_until(10);
  for (const auto& list : lists) CHECK(query("SELECT count(*) FROM " + list) == 6);
  add(20, 20);
  write_until(20);
  for (const auto& list : lists) {
    INFO(list);
    CHECK(query("SELECT count(*) FROM " + list) == 14);
    CHECK(query("SELECT count(*) FROM " + list + " WHERE job IN (1, 2, 9, 10, 11, 15)") == 0);
  }
}

TEST_CASE("while the keys of a long line move, a scan meets each once, and passes over none") {
  KeysInMemory database;
  Generations generations;
  BehindIndex index{database.connection,
                    {"keys", "keys_by_part", true, key_columns},
                    generations,
                    {.partition_jobs = 10'000}};
  std::vector<std::int64_t> all;
  for (std::int64_t job = 1; job <= 9000; ++job) {
    index.add(make_key(1, job, job));
    all.push_back(job);
  }
  index.start_move(9000);
  generations.moving = 9000;
  index.move(8000);
  for (std::int64_t job = 9001; job <= 9010; ++job) {
    index.add(make_key(1, job, job));
    all.push_back(job);
  }
  std::vector<std::int64_t> found;
  index.scan({1, 0, 0}, id_max, [&](const IndexKey& key) {
    found.push_back(key[2]);
    return true;
  });
  CHECK(found == all);

  // Each call of this handler stands for a thousand instructions. To pass over the keys that have
  // moved takes about forty thousand, a hundred times.
  int thousands = 0;
  sqlite3_progress_handler(
      database.connection.handle(), 1000,
      [](void* count) {
        ++*static_cast<int*>(count);
        return 0;
      },
      &thousands);
  for (std::int64_t job = 1; job <= 100; ++job) {
    std::int64_t head = 0;
    index.scan({1, 0, 0}, id_max, [&](const IndexKey& key) {
      head = key[2];
      return false;
    });
    CHECK(head == job);
    index.remove(make_key(1, job, job));
  }
  CHECK(thousands < 40);
}

// Found by a search for two ids whose line_hash is equal for type "zone" of the first routing key.
TEST_CASE("two entities whose hashes are equal have lines of their own") {
  const std::string one = "kcodipenggfinena";
  const std::string other = "gaigaoephdihnpco";
  REQUIRE(line_hash(1, "zone", one) == line_hash(1, "zone", other));
  for (const std::size_t generation : {2, 1000}) {
    SqliteUnderTest under_test{generations_of(generation)};
    Client client{under_test};
    const auto first = sketch_job({.id = 1, .entity = one});
    REQUIRE(first->spec->entity.type == "zone");
    CHECK(client.ask(InsertJob{first}).runnable);
    CHECK(client.ask(InsertJob{sketch_job({.id = 2, .entity = other})}).runnable);
    CHECK_FALSE(client.ask(InsertJob{sketch_job({.id = 3, .entity = other})}).runnable);
    CHECK_FALSE(client.ask(InsertJob{sketch_job({.id = 4, .entity = one})}).runnable);
    client.tell(ClaimJob{running(first, {1, 1})});
    const auto recorded = client.ask(RecordJob{{1, 1}, ended(running(first, {1, 1}))});
    REQUIRE(recorded.promoted);
    CHECK(recorded.promoted->id == 4);
  }
}

TEST_CASE("a list of an entity's jobs ends with them, although another entity has its hash") {
  const std::string one = "8yn0iYCKYHlIj4-BwPqk";
  const std::string other = "GReLUrM4wMqfg9yzV3KQ";
  REQUIRE(entity_hash(one) == entity_hash(other));
  SqliteUnderTest under_test{generations_of(2)};
  Client client{under_test};
  client.ask(InsertJob{sketch_job({.id = 1, .entity = other})});
  client.ask(InsertJob{sketch_job({.id = 2, .entity = one})});
  for (JobId id = 3; id <= 10; ++id) client.ask(InsertJob{sketch_job({.id = id})});
  REQUIRE(setting(under_test.database(), "indexed_id") >= 2);
  JobFilter filter;
  filter.entity_id = one;
  const auto page = client.ask(ListJobs{filter, 0, 1});
  CHECK(ids(page.jobs) == Ids{2});
  CHECK(page.next == 0);
}

// Keys of stored tables: these values must never change.
TEST_CASE("the hashes of entities are FNV-1a") {
  CHECK(entity_hash("") == static_cast<std::int64_t>(0xcbf29ce484222325));
  CHECK(entity_hash("foobar") == static_cast<std::int64_t>(0x85944171f73967e8));
  CHECK(line_hash(1, "zone", "a") != line_hash(1, "zonea", ""));
  CHECK(line_hash(1, "zone", "a") != line_hash(11, "zone", "a"));
}
