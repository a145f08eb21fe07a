// What the SQLite store forgets: counts, cells and routing keys without jobs, on disk, and those
// without open jobs, in memory.
#include <cstdint>
#include <string>

#include "src/store/backlogs.hpp"
#include "src/store/schema.hpp"
#include "tests/unit/src/store/index_tables.hpp"
#include "tests/unit/src/store/sqlite_under_test.hpp"

using namespace cells;         // NOLINT: tests of the port.
using namespace celld::store;  // NOLINT
using namespace celld::store::test;

namespace {

constexpr std::size_t changes_max = 4;

SqliteOptions merged_often() {
  SqliteOptions options;
  options.writes.route_changes = changes_max;
  return options;
}

std::int64_t query(const SqliteUnderTest& under_test, const std::string& sql) {
  return Connection{under_test.database(), Connection::Access::read_only}.query_integer(
      sql.c_str());
}

std::int64_t rows(const SqliteUnderTest& under_test, const std::string& table) {
  return query(under_test, "SELECT count(*) FROM " + table);
}

/// A job whose customer and cell have no other.
JobPtr lone_job(JobId id) {
  const auto customer = "c" + std::to_string(id);
  return sketch_job({.id = id, .customer = customer, .cell = {customer, "*"}});
}

JobPtr insert(Client& client, JobId id) {
  const auto job = lone_job(id);
  client.ask(InsertJob{job});
  return job;
}

void run(Client& client, const JobPtr& job) {
  const auto claimed = running(job, {1, job->id});
  client.tell(ClaimJob{claimed});
  client.ask(RecordJob{claimed->lease, ended(claimed)});
}

void prune(Client& client) {
  while (client.ask(PruneEnded{at_ms(1'000'000), 3, std::chrono::hours{1}}).more) {
  }
}

/// A database with the present schema, and its counts.
class Counts {
 public:
  Counts()
      : connection_((directory_.path() / "celld.db").string(), Connection::Access::read_write) {
    migrate(connection_);
    restart();
  }
  Backlogs& operator*() { return *backlogs_; }
  Backlogs* operator->() { return &*backlogs_; }
  void restart() { backlogs_.emplace(connection_, changes_max); }
  /// Stores a job, queued or ended, of a customer without other jobs.
  Standing add(std::int64_t customer, JobState state) {
    Standing job;
    job.cell = backlogs_->cell_id({"c" + std::to_string(customer), "*"});
    job.routing_key = backlogs_->routing_key_id({"c" + std::to_string(customer), "dns"});
    job.state = state;
    job.place = is_ended(state) ? 0 : 1;
    backlogs_->add_stored(job.cell, job.routing_key);
    backlogs_->add(job);
    backlogs_->save();
    return job;
  }

 private:
  TemporaryDirectory directory_;
  Connection connection_;
  std::optional<Backlogs> backlogs_;
};

}  // namespace

TEST_CASE("counts and names of customers whose jobs are all removed leave the database") {
  SqliteUnderTest under_test{merged_often()};
  Client client{under_test};
  for (JobId id = 1; id <= 60; ++id) {
    run(client, insert(client, id));
    if (id == 30) under_test.reopen();
    if (id % 10 == 0) prune(client);
  }
  CHECK(rows(under_test, "jobs") == 0);
  // The changes that wait to be merged, and the greatest id.
  const auto left = static_cast<std::int64_t>(changes_max) + 1;
  for (const auto* table : {"routes", "route_changes", "cells", "origins"}) {
    INFO(table);
    CHECK(rows(under_test, table) <= left);
  }
  check_indexes(under_test.database());
}

TEST_CASE("changes of counts are appended, and merged when there are more than allowed") {
  SqliteUnderTest under_test{merged_often()};
  Client client{under_test};
  for (JobId id = 1; id <= changes_max; ++id) {
    insert(client, id);
    CHECK(rows(under_test, "route_changes") == static_cast<std::int64_t>(id));
  }
  CHECK(rows(under_test, "routes") == 0);
  insert(client, changes_max + 1);
  CHECK(rows(under_test, "route_changes") == 0);
  CHECK(rows(under_test, "routes") == static_cast<std::int64_t>(changes_max) + 1);
}

TEST_CASE("names stay while a job has them, however long ago it ended") {
  SqliteUnderTest under_test{merged_often()};
  Client client{under_test};
  for (JobId id = 1; id <= 60; ++id) run(client, insert(client, id));
  under_test.reopen();
  for (JobId id = 61; id <= 70; ++id) insert(client, id);
  CHECK(rows(under_test, "cells") == 70);
  CHECK(rows(under_test, "origins") == 70);
  const auto oldest = client.ask(FindJob{1}).job;
  REQUIRE(oldest);
  CHECK(oldest->spec->customer == "c1");
  CHECK(oldest->cell == CellKey{"c1", "*"});
  check_indexes(under_test.database());
}

TEST_CASE("a cell with an override keeps its row until the override goes") {
  SqliteUnderTest under_test{merged_often()};
  Client client{under_test};
  const CellKey cell{"c1", "*"};
  CellOverride paused;
  paused.state = CellState::paused;
  client.ask(SetCellOverride{cell, paused});
  run(client, insert(client, 1));
  prune(client);
  for (JobId id = 2; id <= 20; ++id) insert(client, id);
  under_test.reopen();
  CHECK(client.ask(LoadCells{}).overrides.at(cell).state == CellState::paused);
  client.ask(SetCellOverride{cell, {}});
  for (JobId id = 21; id <= 40; ++id) insert(client, id);
  CHECK(query(under_test, "SELECT count(*) FROM cells WHERE customer = 'c1'") == 0);
}

TEST_CASE("a cell with a quota alone keeps its row") {
  SqliteUnderTest under_test{merged_often()};
  Client client{under_test};
  const CellKey cell{"c1", "*"};
  CellOverride change;
  change.quota[QuotaLimit::queue_jobs] = 7;
  client.ask(SetCellOverride{cell, change});
  run(client, insert(client, 1));
  prune(client);
  for (JobId id = 2; id <= 20; ++id) insert(client, id);
  under_test.reopen();
  CHECK(client.ask(LoadCells{}).overrides.at(cell) == change);
}

TEST_CASE("an id is never assigned again, so that a name can be remembered by its id") {
  SqliteUnderTest under_test{merged_often()};
  Client client{under_test};
  std::int64_t last_cell = 0;
  std::int64_t last_origin = 0;
  for (JobId id = 1; id <= 40; ++id) {
    run(client, insert(client, id));
    const auto cell = query(under_test, "SELECT max(id) FROM cells");
    const auto origin = query(under_test, "SELECT max(id) FROM origins");
    CHECK(cell > last_cell);
    CHECK(origin > last_origin);
    last_cell = cell;
    last_origin = origin;
    prune(client);
    if (id % 7 == 0) under_test.reopen();
  }
}

TEST_CASE("a name that stays because its id is the greatest goes when another one is greater") {
  SqliteUnderTest under_test{merged_often()};
  Client client{under_test};
  JobId id = 0;
  // So many changes that the counts are merged, and what is unused is removed.
  const auto insert_jobs_of = [&](const std::string& customer) {
    for (std::size_t change = 0; change <= changes_max; ++change) {
      client.ask(InsertJob{sketch_job({.id = ++id,
                                       .entity = std::to_string(id),
                                       .customer = customer,
                                       .cell = {customer, "*"}})});
    }
  };
  insert_jobs_of("a");
  run(client, insert(client, 100));
  prune(client);
  insert_jobs_of("a");
  const bool restarts = GENERATE(false, true);
  if (restarts) under_test.reopen();
  for (const std::string table : {"cells", "origins"}) {
    CHECK(rows(under_test, table + " WHERE customer = 'c100'") == 1);
  }
  insert_jobs_of("b");
  for (const std::string table : {"cells", "origins"}) {
    INFO(table);
    CHECK(rows(under_test, table + " WHERE customer = 'c100'") == 0);
  }
}

TEST_CASE("a reopened job counts again for a customer without others") {
  SqliteUnderTest under_test{merged_often()};
  Client client{under_test};
  const auto first = running(insert(client, 1), {1, 1});
  client.tell(ClaimJob{first});
  client.ask(RecordJob{first->lease, ended(first, JobState::failed)});
  for (JobId id = 2; id <= 20; ++id) run(client, insert(client, id));  // Evicts customer 1.
  const auto reopened = client.ask(ReopenEnded{1, first->cell, 21, at_ms(5)});
  REQUIRE(reopened.after);
  CHECK(reopened.after->spec->customer == "c1");
  client.ask(FlushStore{});
  CHECK(client.ask(LoadCell{first->cell}).counts[JobState::queued] == 1);
  FetchRunnable fetch;
  fetch.cell = first->cell;
  fetch.customers_max = 10;
  fetch.jobs_max = 10;
  const auto fetched = client.ask(fetch);
  REQUIRE(fetched.customers.size() == 1);
  CHECK(fetched.customers[0].jobs.size() == 1);
  check_indexes(under_test.database());
}

TEST_CASE("a job that moves is stored in its new cell alone") {
  SqliteUnderTest under_test{merged_often()};
  Client client{under_test};
  const auto job = insert(client, 1);
  client.ask(MoveJobs{{job->cell, "c1", "dns"}, {"other", "*"}, 10, false});
  for (JobId id = 2; id <= 20; ++id) insert(client, id);
  CHECK(query(under_test, "SELECT count(*) FROM cells WHERE customer = 'c1'") == 0);
  CHECK(query(under_test, "SELECT count(*) FROM cells WHERE customer = 'other'") == 1);
  check_indexes(under_test.database());
}

TEST_CASE("the cells with open jobs stay in memory, and a bounded number of others") {
  Counts counts;
  counts.add(1, JobState::queued);
  for (std::int64_t customer = 2; customer <= 100; ++customer) {
    counts.add(customer, JobState::succeeded);
    CHECK(counts->cells().size() <= 1 + changes_max + 1);
  }
  counts.restart();
  CHECK(counts->cells().size() <= 1 + changes_max + 1);
  const auto* cell = counts->find_cell({"c1", "*"});
  REQUIRE(cell);
  CHECK(cell->open == 1);
  CHECK(cell->counts[JobState::queued] == 1);
}

TEST_CASE("a customer without open jobs is forgotten") {
  Counts counts;
  const auto job = counts.add(1, JobState::queued);
  counts->add_bytes(job, 90);
  REQUIRE(counts->find_customer({"c1", "*"}, "c1"));
  CHECK(counts->find_customer({"c1", "*"}, "c1")->jobs == 1);
  CHECK(counts->find_customer({"c1", "*"}, "c1")->bytes == 90);
  counts->remove_bytes(job, 90);
  counts->remove(job);
  counts->save();
  for (std::int64_t customer = 2; customer <= 10; ++customer) {
    counts.add(customer, JobState::succeeded);
  }
  CHECK(counts->find_customer({"c1", "*"}, "c1") == nullptr);
  counts->add(job);
  CHECK(counts->find_customer({"c1", "*"}, "c1")->jobs == 1);
}
