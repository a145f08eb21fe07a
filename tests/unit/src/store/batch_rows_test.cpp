// The rows of batches in memory.
#include "src/store/batch_rows.hpp"

#include "src/store/schema.hpp"
#include "tests/unit/src/store/contract.hpp"

using namespace cells;         // NOLINT: tests of the port.
using namespace celld::store;  // NOLINT
using namespace celld::store::test;

TEST_CASE("a start forgets jobs in memory that were counted in the same commit") {
  Connection connection{":memory:", Connection::Access::read_write};
  migrate(connection);
  BatchRows rows{connection, 1};
  REQUIRE(rows.open(7, {}, at_ms(1)));
  REQUIRE(rows.close(7, at_ms(2)));
  rows.save();

  BatchInMemory jobs;
  jobs.stored = 2;
  jobs.counts[JobState::queued] = 2;
  rows.count_in_memory(7, jobs);
  rows.start({}, at_ms(3));
  const auto batch = rows.close(7, at_ms(4));
  REQUIRE(batch);
  CHECK(batch->forgotten == 2);
  CHECK(batch->stored == 0);
  CHECK(batch->in_memory == BatchInMemory{});
}

TEST_CASE("after a commit, no more rows stay in memory than allowed") {
  Connection connection{":memory:", Connection::Access::read_write};
  migrate(connection);
  BatchRows rows{connection, 2};
  for (BatchId id = 1; id <= 3; ++id) {
    REQUIRE(rows.open(id, {}, at_ms(1)));
    REQUIRE(rows.close(id, at_ms(2)));
  }
  rows.save();

  connection.execute("UPDATE batches SET forgotten = 9");  // A row in memory does not show this.
  int in_memory = 0;
  for (BatchId id = 1; id <= 3; ++id) {
    const auto batch = rows.close(id, at_ms(3));
    REQUIRE(batch);
    if (batch->forgotten != 9) ++in_memory;
  }
  CHECK(in_memory <= 2);
}

TEST_CASE("a job that changes without changing its state does not write the row of its batch") {
  Connection connection{":memory:", Connection::Access::read_write};
  migrate(connection);
  BatchRows rows{connection, 1};
  REQUIRE(rows.open(7, {}, at_ms(1)));
  rows.add(*sketch_job({.id = 1, .batch = 7}));
  rows.save();

  const auto rows_written_by = [&](JobState after) {
    Standing queued;
    queued.batch = 7;
    const auto before = sqlite3_total_changes(connection.handle());
    rows.change(queued, after, std::nullopt);
    rows.save();
    return sqlite3_total_changes(connection.handle()) - before;
  };
  CHECK(rows_written_by(JobState::queued) == 0);
  CHECK(rows_written_by(JobState::running) == 1);
}

TEST_CASE("a stored batch with a value that celld does not write is an error") {
  for (const char* assignment : {"stored = -1", "queued = -1", "marks = 4, in_memory = '[]'",
                                 "marks = 4, in_memory = '[1]'", "marks = 4, in_memory = '{}'"}) {
    INFO(assignment);
    Connection connection{":memory:", Connection::Access::read_write};
    migrate(connection);
    {
      BatchRows rows{connection, 1};
      REQUIRE(rows.open(7, {}, at_ms(1)));
      rows.save();
    }
    connection.execute((std::string{"UPDATE batches SET "} + assignment).c_str());
    BatchRows rows{connection, 1};
    CHECK_THROWS_AS(rows.close(7, at_ms(2)), SqliteFailure);
  }
}
