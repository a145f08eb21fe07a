// What batches count of jobs in memory, and when the disk hears of it.
#include "src/store/batches_in_memory.hpp"

#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of jobs.
using namespace celld::store;
using namespace celld::store::test;

namespace {

constexpr BatchId batch_id = 77;

JobPtr queued(JobId id, BatchId batch = batch_id) {
  return sketch_job({.id = id, .entity = std::to_string(id), .batch = batch});
}

JobPtr ended_at(const JobPtr& job, std::int64_t ms) {
  return changed(ended(job), [&](Job& next) { next.finished_at = at_ms(ms); });
}

/// Of the only batch.
BatchInMemory only(const std::vector<BatchesInMemory::Noted>& noted) {
  REQUIRE(noted.size() == 1);
  CHECK(noted[0].first == batch_id);
  return noted[0].second;
}

}  // namespace

TEST_CASE("a batch counts its jobs in memory by state, removed ones as they ended") {
  BatchesInMemory batches;
  batches.changed(nullptr, queued(1).get());
  batches.changed(nullptr, queued(2).get());
  batches.changed(nullptr, queued(3, 0).get());
  const auto end = ended_at(queued(1), 500);
  batches.changed(queued(1).get(), end.get());
  auto jobs = batches.find(batch_id);
  REQUIRE(jobs);
  CHECK(jobs->stored == 2);
  CHECK(jobs->counts[JobState::queued] == 1);
  CHECK(jobs->counts[JobState::succeeded] == 1);
  CHECK(jobs->last_end == at_ms(500));
  batches.changed(end.get(), nullptr);
  jobs = batches.find(batch_id);
  CHECK(jobs->stored == 1);
  CHECK(jobs->counts[JobState::succeeded] == 1);
  CHECK_FALSE(batches.find(78));
  CHECK(batches.all().size() == 1);
}

TEST_CASE("the disk hears of the first job, of many changes, of the close and of the last end") {
  BatchesInMemory batches{3};
  batches.changed(nullptr, queued(1).get());
  CHECK(only(batches.take_due()).stored == 1);
  batches.changed(nullptr, queued(2).get());
  batches.changed(nullptr, queued(3).get());
  CHECK(batches.take_due().empty());
  batches.changed(nullptr, queued(4).get());
  CHECK(only(batches.take_due()).stored == 4);
  CHECK(batches.take_due().empty());
  CHECK(batches.close(batch_id));
  CHECK(only(batches.take_due()).stored == 4);
  CHECK_FALSE(batches.close(78));
  for (const JobId id : {1, 2}) batches.changed(queued(id).get(), ended_at(queued(id), 9).get());
  CHECK(batches.take_due().empty());
  for (const JobId id : {3, 4}) batches.changed(queued(id).get(), ended_at(queued(id), 9).get());
  CHECK(only(batches.take_due()).counts.unfinished() == 0);
  for (const JobId id : {1, 2}) batches.changed(ended_at(queued(id), 9).get(), nullptr);
  CHECK(batches.take_due().empty());  // Each job that makes room for another is no reason.
}

TEST_CASE("a stop says what the disk does not know") {
  BatchesInMemory batches;
  batches.changed(nullptr, queued(1).get());
  batches.take_due();
  CHECK(batches.take_unnoted().empty());
  batches.changed(nullptr, queued(2).get());
  CHECK(only(batches.take_unnoted()).stored == 2);
  CHECK(batches.take_unnoted().empty());
}

TEST_CASE("a closed batch without jobs is forgotten once the disk knows") {
  BatchesInMemory batches;
  const auto end = ended_at(queued(1), 9);
  batches.changed(nullptr, end.get());
  batches.changed(end.get(), nullptr);
  const auto open = batches.take_due();
  batches.noted(open.at(0));
  CHECK(batches.find(batch_id));  // More jobs may come.
  batches.close(batch_id);
  const auto closed = batches.take_due();
  REQUIRE(closed.size() == 1);
  batches.noted({batch_id, {}});  // An earlier state.
  CHECK(batches.find(batch_id));
  batches.noted(closed[0]);
  CHECK_FALSE(batches.find(batch_id));
}
