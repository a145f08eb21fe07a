#include "cells/model/batch.hpp"
#include "tests/unit/catch.hpp"

using namespace cells;  // NOLINT: tests of the model.

namespace {

Job in_state(JobState state) {
  Job job;
  job.state = state;
  return job;
}

WallTime at_ms(std::int64_t ms) {
  return WallTime{milliseconds{ms}};
}

}  // namespace

TEST_CASE("only a finished batch has a progress of 1") {
  Batch batch;
  CHECK(progress_of(batch) == 0);
  for (int i = 0; i < 100'000; ++i) add_job(batch, in_state(JobState::queued));
  for (int i = 0; i < 99'999; ++i)
    change_job(batch, JobState::queued, JobState::succeeded, at_ms(i));
  CHECK(progress_of(batch) == 0.9999);
  change_job(batch, JobState::queued, JobState::failed, at_ms(5));
  CHECK(progress_of(batch) < 1);
  close(batch, at_ms(7));
  CHECK(progress_of(batch) == 1);
  CHECK(finished_at(batch) == at_ms(99'998));
  CHECK(total_of(batch) == 100'000);
}

TEST_CASE("a batch that ends without jobs is finished and deserted") {
  Batch batch;
  CHECK_FALSE(is_deserted(batch));
  close(batch, at_ms(7));
  CHECK(finished_at(batch) == at_ms(7));
  CHECK(progress_of(batch) == 1);
  CHECK(is_deserted(batch));
}

TEST_CASE("a clock that jumps back does not move the end of a batch back") {
  Batch batch;
  add_job(batch, in_state(JobState::queued));
  add_job(batch, in_state(JobState::queued));
  change_job(batch, JobState::queued, JobState::succeeded, at_ms(500));
  change_job(batch, JobState::queued, JobState::failed, at_ms(100));
  close(batch, at_ms(90));
  CHECK(finished_at(batch) == at_ms(500));
}

TEST_CASE("a restart forgets the unfinished jobs in memory that were not kept") {
  Batch batch;
  add_job(batch, in_state(JobState::queued));  // On disk.
  BatchInMemory before;
  before.stored = 4;
  before.counts[JobState::queued] = 3;
  before.counts[JobState::succeeded] = 1;
  count_in_memory(batch, before);
  close(batch, at_ms(7));
  BatchInMemory kept;
  kept.stored = 2;
  kept.counts[JobState::queued] = 2;
  forget_memory(batch, kept, at_ms(9));
  CHECK(batch.in_memory == kept);
  CHECK(batch.counts[JobState::queued] == 3);
  CHECK(batch.counts[JobState::succeeded] == 1);
  CHECK(batch.stored == 3);
  CHECK(batch.forgotten == 1);
}

TEST_CASE("a job in memory that ended after it was last counted is not forgotten if it is kept") {
  Batch batch;
  BatchInMemory before;
  before.stored = 2;
  before.counts[JobState::queued] = 2;
  count_in_memory(batch, before);
  BatchInMemory kept;
  kept.stored = 1;
  kept.counts[JobState::succeeded] = 1;
  forget_memory(batch, kept, at_ms(9));
  CHECK(batch.forgotten == 1);
  CHECK(total_of(batch) == 2);
}
