// The rows of batches before they are written.
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
