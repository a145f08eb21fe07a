// Batches: their counts are those of their jobs, whatever happens to the jobs.
#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store::test;

namespace {

constexpr BatchId batch_id = 77;
const BatchOwner portal{"portal", "acme"};

JobFilter of_batch(BatchId id) {
  JobFilter filter;
  filter.batch = id;
  return filter;
}

Batch find(Client& client, BatchId id = batch_id) {
  const auto found = client.ask(FindBatch{id}).batch;
  REQUIRE(found);
  return *found;
}

/// Inserts a job of the batch, claims it, and records that it ended at this time.
void insert_ended(Client& client, JobId id, JobState state, std::int64_t ended_ms) {
  const auto job = sketch_job({.id = id, .entity = std::to_string(id), .batch = batch_id});
  client.ask(InsertJob{job});
  const auto claimed = running(job, {1, id});
  client.tell(ClaimJob{claimed});
  const auto after =
      changed(ended(claimed, state), [&](Job& next) { next.finished_at = at_ms(ended_ms); });
  REQUIRE(client.ask(RecordJob{{1, id}, after}).applied);
}

}  // namespace

TEST_CASE("a batch counts its jobs by state through every change, also after a crash") {
  with_each_store_of_batches([](Client& client, StoreUnderTest& store) {
    CHECK(client.ask(OpenBatch{batch_id, portal, at_ms(5)}).added);
    CHECK_FALSE(client.ask(OpenBatch{batch_id, {}, at_ms(6)}).added);
    CHECK(find(client).owner == portal);
    CHECK(find(client).created_at == at_ms(5));
    CHECK(find(client).is_open);

    const auto first = sketch_job({.id = 1, .entity = "a", .batch = batch_id});
    client.ask(InsertJob{first});
    client.ask(InsertJob{sketch_job({.id = 2, .entity = "b", .batch = batch_id})});
    client.ask(InsertJob{sketch_job({.id = 3, .run_at = at_ms(900), .batch = batch_id})});
    client.ask(InsertJob{sketch_job({.id = 4, .entity = "alone"})});
    CHECK(find(client).counts[JobState::queued] == 2);
    CHECK(find(client).counts[JobState::scheduled] == 1);
    CHECK(client.ask(FindJob{1}).job->batch == batch_id);
    CHECK(client.ask(FindJob{4}).job->batch == 0);

    const auto claimed = running(first, {1, 1});
    client.tell(ClaimJob{claimed});
    client.ask(FlushStore{});
    CHECK(find(client).counts[JobState::running] == 1);
    client.ask(RecordJob{{1, 1}, retrying(claimed, at_ms(700))});
    CHECK(find(client).counts[JobState::retrying] == 1);
    client.ask(CancelWaiting{2, acme_cell, at_ms(600)});
    CHECK(find(client).counts[JobState::cancelled] == 1);
    client.ask(AdvanceDue{acme_cell, at_ms(1000), 100, 10});
    CHECK(find(client).counts[JobState::scheduled] == 0);
    store.reopen();
    CHECK(find(client).counts[JobState::queued] == 1);
    CHECK(total_of(find(client)) == 3);
    CHECK(find(client).stored == 3);
  });
}

TEST_CASE("a batch counts what is in memory, and a start what is forgotten of it") {
  with_each_store_of_batches([](Client& client, StoreUnderTest& store) {
    client.ask(OpenBatch{batch_id, portal, at_ms(5)});
    client.ask(InsertJob{sketch_job({.id = 1, .entity = "a", .batch = batch_id})});
    BatchInMemory jobs;
    jobs.stored = 5;
    jobs.counts[JobState::queued] = 3;
    jobs.counts[JobState::running] = 1;
    jobs.counts[JobState::failed] = 1;
    jobs.last_end = at_ms(70);
    client.ask(NoteInMemory{batch_id, jobs});
    client.ask(NoteInMemory{78, jobs});
    CHECK(find(client).counts[JobState::queued] == 4);
    CHECK(find(client).stored == 6);
    jobs.counts[JobState::queued] = 2;
    jobs.counts[JobState::failed] = 2;
    client.ask(NoteInMemory{batch_id, jobs});
    CHECK(find(client).counts[JobState::queued] == 3);
    CHECK(total_of(find(client)) == 6);
    CHECK(find(client).last_end == at_ms(70));
    store.reopen();
    CHECK(find(client).in_memory == jobs);

    BatchInMemory kept;
    kept.stored = 1;
    kept.counts[JobState::queued] = 1;
    client.ask(StartEpoch{at_ms(900), {{batch_id, kept}}});
    const auto batch = find(client);
    CHECK_FALSE(batch.is_open);
    CHECK(batch.forgotten == 2);
    CHECK(batch.counts[JobState::queued] == 2);
    CHECK(batch.counts[JobState::running] == 0);
    CHECK(batch.counts[JobState::failed] == 2);
    CHECK(batch.stored == 2);
    CHECK(batch.last_end == at_ms(900));
    CHECK(total_of(batch) == 6);
    client.ask(StartEpoch{at_ms(950)});
    CHECK(find(client).forgotten == 3);
    client.ask(StartEpoch{at_ms(960)});
    CHECK(find(client).forgotten == 3);
    CHECK_FALSE(client.ask(FindBatch{78}).batch);
  });
}

TEST_CASE("a kept job that has ended is counted once, however often the daemon starts") {
  with_each_store_of_batches([](Client& client, StoreUnderTest&) {
    client.ask(OpenBatch{batch_id, portal, at_ms(5)});
    BatchInMemory jobs;
    jobs.stored = 4;
    jobs.counts[JobState::running] = 2;
    jobs.counts[JobState::failed] = 2;
    client.ask(NoteInMemory{batch_id, jobs});
    BatchInMemory kept;
    kept.stored = 3;
    kept.counts[JobState::queued] = 1;
    kept.counts[JobState::failed] = 1;
    kept.counts[JobState::cancelled] = 1;  // It was running when it was last noted.
    for (int start = 0; start < 3; ++start) {
      client.ask(StartEpoch{at_ms(900), {{batch_id, kept}}});
      const auto batch = find(client);
      CHECK(batch.counts[JobState::failed] == 2);
      CHECK(batch.counts[JobState::cancelled] == 1);
      CHECK(batch.counts[JobState::queued] == 1);
      CHECK(batch.counts[JobState::running] == 0);
      CHECK(batch.forgotten == 0);
      CHECK(batch.stored == 3);
    }
  });
}

TEST_CASE("a start counts the kept jobs of a closed batch, although none was noted before") {
  with_each_store_of_batches([](Client& client, StoreUnderTest&) {
    client.ask(OpenBatch{batch_id, portal, at_ms(5)});
    client.ask(InsertJob{sketch_job({.id = 1, .entity = "a", .batch = batch_id})});
    client.ask(CloseBatch{batch_id, at_ms(9)});
    BatchInMemory kept;
    kept.stored = 1;
    kept.counts[JobState::queued] = 1;
    client.ask(StartEpoch{at_ms(900), {{batch_id, kept}}});
    CHECK(find(client).in_memory == kept);
    CHECK(find(client).counts[JobState::queued] == 2);
    CHECK(find(client).forgotten == 0);
  });
}

TEST_CASE("a closed batch goes with its last job in memory") {
  with_each_store_of_batches([](Client& client, StoreUnderTest&) {
    client.ask(OpenBatch{batch_id, portal, at_ms(5)});
    BatchInMemory jobs;
    jobs.counts[JobState::succeeded] = 1;
    client.ask(NoteInMemory{batch_id, jobs});
    CHECK(find(client).stored == 0);  // It is open.
    jobs.stored = 1;
    client.ask(NoteInMemory{batch_id, jobs});
    client.ask(CloseBatch{batch_id, at_ms(9)});
    jobs.stored = 0;
    client.ask(NoteInMemory{batch_id, jobs});
    CHECK_FALSE(client.ask(FindBatch{batch_id}).batch);
  });
}

TEST_CASE("a closed batch is finished when its last job has ended, until one is reopened") {
  with_each_store_of_batches([](Client& client, StoreUnderTest&) {
    client.ask(OpenBatch{batch_id, portal, at_ms(5)});
    insert_ended(client, 1, JobState::failed, 300);
    CHECK_FALSE(finished_at(find(client)));
    const auto closed = client.ask(CloseBatch{batch_id, at_ms(200)}).batch;
    REQUIRE(closed);
    CHECK(finished_at(*closed) == at_ms(300));
    CHECK(finished_at(find(client)) == at_ms(300));
    CHECK(client.ask(CloseBatch{batch_id, at_ms(400)}).batch->last_end == at_ms(300));
    client.ask(ReopenEnded{1, acme_cell, 50, at_ms(500)});
    CHECK_FALSE(finished_at(find(client)));
    CHECK(find(client).counts[JobState::failed] == 0);
    client.ask(CancelWaiting{1, acme_cell, at_ms(600)});
    CHECK(finished_at(find(client)) == at_ms(600));
    CHECK_FALSE(client.ask(CloseBatch{78, at_ms(1)}).batch);
  });
}

TEST_CASE("a job that retention removes stays counted, and the batch goes with its last job") {
  with_each_store_of_batches([](Client& client, StoreUnderTest& store) {
    client.ask(OpenBatch{batch_id, portal, at_ms(5)});
    insert_ended(client, 1, JobState::succeeded, 100);
    insert_ended(client, 2, JobState::failed, 200);
    client.ask(CloseBatch{batch_id, at_ms(10)});
    CHECK(client.ask(PruneEnded{at_ms(150), 10, std::chrono::hours{1}}).pruned == 1);
    CHECK(find(client).stored == 1);
    CHECK(find(client).counts[JobState::succeeded] == 1);
    CHECK(ids(client.ask(ListJobs{of_batch(batch_id)}).jobs) == Ids{2});
    store.reopen();
    CHECK(client.ask(PruneEnded{at_ms(300), 10, std::chrono::hours{1}}).pruned == 1);
    CHECK_FALSE(client.ask(FindBatch{batch_id}).batch);
    store.reopen();
    CHECK_FALSE(client.ask(FindBatch{batch_id}).batch);
    CHECK(client.ask(OpenBatch{batch_id, portal, at_ms(7)}).added);
  });
}

TEST_CASE("a batch without jobs is kept until retention reaches its end") {
  with_each_store_of_batches([](Client& client, StoreUnderTest&) {
    for (const BatchId id : {1, 2, 3, 4}) client.ask(OpenBatch{id, portal, at_ms(5)});
    for (const BatchId id : {1, 2, 3})
      client.ask(CloseBatch{id, at_ms(100 * static_cast<int>(id))});
    client.ask(PruneEnded{at_ms(100), 10, std::chrono::hours{1}});
    CHECK(client.ask(FindBatch{1}).batch);
    const auto first = client.ask(PruneEnded{at_ms(1000), 1});
    CHECK(first.pruned == 0);
    CHECK(first.more);
    CHECK(first.reached == at_ms(100));
    CHECK_FALSE(client.ask(FindBatch{1}).batch);
    CHECK(client.ask(FindBatch{2}).batch);
    CHECK_FALSE(client.ask(PruneEnded{at_ms(1000), 10, std::chrono::hours{1}}).more);
    CHECK_FALSE(client.ask(FindBatch{3}).batch);
    CHECK(client.ask(FindBatch{4}).batch);  // Still open.
  });
}

TEST_CASE("an open batch whose jobs are all gone stays until it is closed") {
  with_each_store_of_batches([](Client& client, StoreUnderTest&) {
    client.ask(OpenBatch{batch_id, portal, at_ms(5)});
    insert_ended(client, 1, JobState::succeeded, 100);
    client.ask(PruneEnded{at_ms(200), 10, std::chrono::hours{1}});
    CHECK(find(client).stored == 0);
    client.ask(CloseBatch{batch_id, at_ms(300)});
    CHECK(finished_at(find(client)) == at_ms(300));
    client.ask(PruneEnded{at_ms(400), 10, std::chrono::hours{1}});
    CHECK_FALSE(client.ask(FindBatch{batch_id}).batch);
  });
}

TEST_CASE("a replayed submission keeps its first batch") {
  with_each_store_of_batches([](Client& client, StoreUnderTest&) {
    const Idempotency key{"k", "digest"};
    client.ask(OpenBatch{1, portal, at_ms(5)});
    client.ask(OpenBatch{2, portal, at_ms(5)});
    client.ask(InsertJob{sketch_job({.id = 10, .batch = 1}), key});
    const auto again = client.ask(InsertJob{sketch_job({.id = 11, .batch = 2}), key});
    CHECK(again.holder.job->batch == 1);
    CHECK(total_of(find(client, 1)) == 1);
    CHECK(total_of(find(client, 2)) == 0);
  });
}

TEST_CASE("a start closes every open batch and remembers which are being cancelled") {
  with_each_store_of_batches([](Client& client, StoreUnderTest& store) {
    for (const BatchId id : {1, 2, 3}) client.ask(OpenBatch{id, portal, at_ms(5)});
    CHECK(client.ask(MarkCancelled{2, true}).found);
    CHECK(client.ask(MarkCancelled{3, true}).found);
    CHECK(client.ask(MarkCancelled{3, false}).found);
    CHECK_FALSE(client.ask(MarkCancelled{4, true}).found);
    store.reopen();
    client.ask(StartEpoch{at_ms(900)});
    CHECK(finished_at(find(client, 1)) == at_ms(900));
    ListBatches cancelled;
    cancelled.only_cancelled = true;
    const auto listed = client.ask(cancelled).batches;
    REQUIRE(listed.size() == 1);
    CHECK(listed[0].id == 2);
    cancelled.owner = BatchOwner{"other", ""};
    CHECK(client.ask(cancelled).batches.empty());
  });
}

TEST_CASE("batches are listed newest first, by pages and by owner") {
  with_each_store_of_batches([](Client& client, StoreUnderTest&) {
    for (BatchId id = 1; id <= 7; ++id) {
      client.ask(OpenBatch{id, id % 2 == 0 ? portal : BatchOwner{}, at_ms(5)});
    }
    const auto ids_of = [](const BatchesListed& page) {
      std::vector<BatchId> found;
      for (const auto& batch : page.batches) found.push_back(batch.id);
      return found;
    };
    ListBatches list;
    list.limit = 3;
    auto page = client.ask(list);
    CHECK(ids_of(page) == std::vector<BatchId>{7, 6, 5});
    list.before = page.next;
    list.limit = 4;
    page = client.ask(list);
    CHECK(ids_of(page) == std::vector<BatchId>{4, 3, 2, 1});
    CHECK(page.next == 0);
    list = {};
    list.owner = portal;
    CHECK(ids_of(client.ask(list)) == std::vector<BatchId>{6, 4, 2});
    list.owner = BatchOwner{"portal", ""};
    CHECK(client.ask(list).batches.empty());
  });
}

TEST_CASE(
    "jobs are listed by batch, alone and with other filters, and by whether they have ended") {
  with_each_store_of_batches([](Client& client, StoreUnderTest& store) {
    client.ask(OpenBatch{1, portal, at_ms(5)});
    client.ask(OpenBatch{2, portal, at_ms(5)});
    for (JobId id = 1; id <= 30; ++id) {
      client.ask(InsertJob{sketch_job({.id = id,
                                       .entity = "e" + std::to_string(id),
                                       .customer = id % 3 == 0 ? "bolt" : "acme",
                                       .batch = id % 5 == 0 ? BatchId{0} : 1 + id % 2})});
    }
    client.ask(CancelWaiting{7, acme_cell, at_ms(600)});
    for (const bool again : {false, true}) {
      if (again) store.reopen();
      ListJobs list{of_batch(2), 0, 1000};
      CHECK(ids(client.ask(list).jobs) == Ids{29, 27, 23, 21, 19, 17, 13, 11, 9, 7, 3, 1});
      list.filter.unfinished = true;
      CHECK(ids(client.ask(list).jobs) == Ids{29, 27, 23, 21, 19, 17, 13, 11, 9, 3, 1});
      list.filter.customer = "bolt";
      CHECK(ids(client.ask(list).jobs) == Ids{27, 21, 9, 3});
      list.filter.entity_id = "e9";
      CHECK(ids(client.ask(list).jobs) == Ids{9});
      CHECK(client.ask(ListJobs{of_batch(3)}).jobs.empty());
      list = {of_batch(1), 0, 2};
      auto page = client.ask(list);
      CHECK(ids(page.jobs) == Ids{28, 26});
      list.before = page.next;
      CHECK(ids(client.ask(list).jobs) == Ids{24, 22});
    }
  });
}
