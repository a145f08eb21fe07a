// PruneEnded: ended jobs are removed with everything that belongs to them.
#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store::test;

namespace {

const Idempotency key{"k-1", "digest"};

/// Inserts a job, claims it, and records the version that `end` makes of it.
template <class End>
JobPtr insert_with_end(Client& client, const JobSketch& sketch, End end,
                       const std::optional<Idempotency>& idempotency = std::nullopt) {
  const auto job = sketch_job(sketch);
  client.ask(InsertJob{job, idempotency});
  const Lease lease{1, job->id};
  const auto claimed = running(job, lease);
  client.tell(ClaimJob{claimed});
  const auto ended_job = end(claimed);
  CHECK(client.ask(RecordJob{lease, ended_job}).applied);
  return ended_job;
}

auto ended_at(std::int64_t ms, JobState state = JobState::succeeded) {
  return [=](const JobPtr& job) {
    return changed(ended(job, state), [&](Job& next) { next.finished_at = at_ms(ms); });
  };
}

Ids kept(Client& client) {
  return ids(client.ask(ListJobs{{}, 0, 1000}).jobs);
}

}  // namespace

TEST_CASE("jobs that ended before a time are pruned in steps, oldest end first") {
  with_each_store([](Client& client, StoreUnderTest& store) {
    insert_with_end(client, {.id = 1, .entity = "a"}, ended_at(300));
    insert_with_end(client, {.id = 2, .entity = "b"}, ended_at(100, JobState::failed));
    insert_with_end(client, {.id = 3, .entity = "c"}, ended_at(200, JobState::cancelled));
    insert_with_end(client, {.id = 4, .entity = "d"}, ended_at(400));
    client.ask(InsertJob{sketch_job({.id = 5, .entity = "e"})});

    const auto nothing = client.ask(PruneEnded{at_ms(100), 10, std::chrono::hours{1}});
    CHECK(nothing.pruned == 0);
    CHECK_FALSE(nothing.more);
    const auto first = client.ask(PruneEnded{at_ms(400), 2, std::chrono::hours{1}});
    CHECK(first.pruned == 2);
    CHECK(first.more);
    CHECK(kept(client) == Ids{5, 4, 1});
    const auto second = client.ask(PruneEnded{at_ms(400), 2, std::chrono::hours{1}});
    CHECK(second.pruned == 1);
    CHECK_FALSE(second.more);
    store.reopen();
    CHECK(kept(client) == Ids{5, 4});
    CHECK_FALSE(client.ask(FindJob{1}).job);
    CHECK(client.ask(PruneEnded{at_ms(400), 10, std::chrono::hours{1}}).pruned == 0);
  });
}

TEST_CASE("a settling job is not pruned before it releases its entity") {
  with_each_store([](Client& client, StoreUnderTest&) {
    insert_with_end(client, {.id = 1}, [](const JobPtr& job) {
      return changed(settling(job, at_ms(900)), [](Job& next) { next.finished_at = at_ms(100); });
    });
    client.ask(InsertJob{sketch_job({.id = 2})});
    CHECK(client.ask(PruneEnded{at_ms(800), 10, std::chrono::hours{1}}).pruned == 0);
    CHECK(runnable_ids(client).empty());
    client.ask(AdvanceDue{acme_cell, at_ms(900), 10});
    CHECK(runnable_ids(client) == Ids{2});
    CHECK(client.ask(PruneEnded{at_ms(800), 10, std::chrono::hours{1}}).pruned == 1);
    CHECK(kept(client) == Ids{2});
    CHECK(runnable_ids(client) == Ids{2});
  });
}

TEST_CASE("pruning a job frees its idempotency key, even within one commit") {
  with_each_store([](Client& client, StoreUnderTest& store) {
    insert_with_end(client, {.id = 1}, ended_at(100), key);
    insert_with_end(client, {.id = 2, .customer = "bolt"}, ended_at(500), key);
    CHECK(client.ask(InsertJob{sketch_job({.id = 3}), key}).holder.job->id == 1);
    caf::anon_send(store.store(), PruneEnded{at_ms(101), 10, std::chrono::hours{1}});
    CHECK_FALSE(client.ask(InsertJob{sketch_job({.id = 4}), key}).holder.job);
    store.reopen();
    CHECK(client.ask(FindKeyHolder{"acme", key}).job->id == 4);
    CHECK(client.ask(FindKeyHolder{"bolt", key}).job->id == 2);
  });
}

TEST_CASE("pruned jobs disappear from lists and labels, and an open cursor continues") {
  with_each_store([](Client& client, StoreUnderTest&) {
    for (JobId id = 1; id <= 6; ++id) {
      insert_with_end(client, {.id = id, .entity = std::to_string(id), .labels = {{"ticket", "T"}}},
                      ended_at(static_cast<std::int64_t>(id)));
    }
    ListJobs list;
    list.filter.labels["ticket"] = "T";
    list.limit = 2;
    const auto page = client.ask(list);
    CHECK(ids(page.jobs) == Ids{6, 5});
    CHECK(client.ask(PruneEnded{at_ms(4), 10, std::chrono::hours{1}}).pruned == 3);
    list.before = page.next;
    CHECK(ids(client.ask(list).jobs) == Ids{4});
    list.before = 3;
    CHECK(client.ask(list).jobs.empty());
  });
}

TEST_CASE("of a reopening and a pruning, the first wins") {
  with_each_store([](Client& client, StoreUnderTest&) {
    insert_with_end(client, {.id = 1, .entity = "a"}, ended_at(100, JobState::failed));
    insert_with_end(client, {.id = 2, .entity = "b"}, ended_at(100, JobState::failed));
    CHECK(client.ask(ReopenEnded{1, acme_cell, 10, at_ms(200)}).after);
    CHECK(client.ask(PruneEnded{at_ms(200), 10, std::chrono::hours{1}}).pruned == 1);
    CHECK(client.ask(FindJob{1}).job->state == JobState::queued);
    const auto late = client.ask(ReopenEnded{2, acme_cell, 11, at_ms(200)});
    CHECK_FALSE(late.before);
    CHECK_FALSE(late.after);
    CHECK_FALSE(client.ask(CancelWaiting{2, acme_cell, at_ms(200)}).before);
    CHECK_FALSE(client.ask(RecordJob{{1, 2}, sketch_job({.id = 2})}).applied);
  });
}

TEST_CASE("the id of a pruned job is never reused") {
  with_each_store([](Client& client, StoreUnderTest& store) {
    insert_with_end(client, {.id = 70}, ended_at(100));
    CHECK(client.ask(PruneEnded{at_ms(101), 10, std::chrono::hours{1}}).pruned == 1);
    store.reopen();
    CHECK(client.ask(StartEpoch{}).last_id == 70);
  });
}
