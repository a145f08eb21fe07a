// The requests of clients besides new jobs: repeated submissions, cancellations, reopenings.
#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store::test;

namespace {

const Idempotency key{"k-1", "digest"};

/// Inserts the job, claims it, and records its end.
JobPtr insert_ended(Client& client, const JobSketch& sketch, JobState state) {
  const auto job = sketch_job(sketch);
  client.ask(InsertJob{job});
  const Lease lease{1, job->id};
  const auto claimed = running(job, lease);
  client.tell(ClaimJob{claimed});
  const auto end = ended(claimed, state);
  CHECK(client.ask(RecordJob{lease, end}).applied);
  return end;
}

}  // namespace

// --- Idempotency keys ----------------------------------------------------------------------------

TEST_CASE("a job with a key in use is not added, and the answer has the job that holds the key") {
  with_each_store([](Client& client, StoreUnderTest& store) {
    const auto first = sketch_job({.id = 1});
    CHECK_FALSE(client.ask(InsertJob{first, key}).holder.job);
    const auto again = client.ask(InsertJob{sketch_job({.id = 2}), key});
    REQUIRE(again.holder.job);
    CHECK(*again.holder.job == *first);
    CHECK_FALSE(again.runnable);
    CHECK(again.holder.same_request);
    CHECK_FALSE(
        client.ask(InsertJob{sketch_job({.id = 3}), {{"k-1", "other"}}}).holder.same_request);
    CHECK_FALSE(client.ask(FindJob{2}).job);
    store.reopen();
    CHECK(client.ask(InsertJob{sketch_job({.id = 4}), key}).holder.job->id == 1);
    CHECK(client.ask(LoadCell{acme_cell}).counts[JobState::queued] == 1);
  });
}

TEST_CASE("a key belongs to one customer, across all products") {
  with_each_store([](Client& client, StoreUnderTest&) {
    client.ask(InsertJob{sketch_job({.id = 1}), key});
    CHECK_FALSE(client.ask(InsertJob{sketch_job({.id = 2, .customer = "bolt"}), key}).holder.job);
    CHECK(client.ask(InsertJob{sketch_job({.id = 3, .product = "mail"}), key}).holder.job->id == 1);
  });
}

TEST_CASE("the holder of a key is returned in its current version") {
  with_each_store([](Client& client, StoreUnderTest&) {
    CHECK_FALSE(client.ask(FindKeyHolder{"acme", key}).job);
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job, key});
    const auto claimed = running(job, {1, 1});
    client.tell(ClaimJob{claimed});
    CHECK(*client.ask(FindKeyHolder{"acme", key}).job == *claimed);
    client.ask(RecordJob{{1, 1}, ended(claimed)});
    CHECK(client.ask(FindKeyHolder{"acme", key}).job->state == JobState::succeeded);
    CHECK_FALSE(client.ask(FindKeyHolder{"bolt", key}).job);
  });
}

// --- Cancelling ----------------------------------------------------------------------------------

TEST_CASE("a waiting job is cancelled at once and promotes the next") {
  with_each_store([](Client& client, StoreUnderTest&) {
    client.ask(InsertJob{sketch_job({.id = 1})});
    client.ask(InsertJob{sketch_job({.id = 2})});
    const auto cancelled = client.ask(CancelWaiting{1, acme_cell, at_ms(50)});
    CHECK(cancelled.before->state == JobState::queued);
    REQUIRE(cancelled.after);
    CHECK(cancelled.after->state == JobState::cancelled);
    CHECK(cancelled.after->finished_at == at_ms(50));
    CHECK(cancelled.promoted->id == 2);
    CHECK(*client.ask(FindJob{1}).job == *cancelled.after);
    CHECK(runnable_ids(client) == Ids{2});
  });
}

TEST_CASE("a scheduled job can be cancelled before it is due") {
  with_each_store([](Client& client, StoreUnderTest&) {
    client.ask(InsertJob{sketch_job({.id = 1, .run_at = at_ms(500)})});
    CHECK(client.ask(CancelWaiting{1, acme_cell, at_ms(50)}).after);
    const auto done = client.ask(AdvanceDue{acme_cell, at_ms(600), 10, 5});
    CHECK(done.queued == 0);
    CHECK_FALSE(done.next_due);
  });
}

TEST_CASE("a job that runs, has ended, or waits in another cell is not cancelled") {
  with_each_store([](Client& client, StoreUnderTest&) {
    CHECK_FALSE(client.ask(CancelWaiting{1, acme_cell, at_ms(50)}).before);
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    CHECK_FALSE(client.ask(CancelWaiting{1, {"bolt", "*"}, at_ms(50)}).after);
    const auto claimed = running(job, {1, 1});
    client.tell(ClaimJob{claimed});
    const auto refused = client.ask(CancelWaiting{1, acme_cell, at_ms(50)});
    CHECK(*refused.before == *claimed);
    CHECK_FALSE(refused.after);
    client.ask(RecordJob{{1, 1}, ended(claimed)});
    CHECK_FALSE(client.ask(CancelWaiting{1, acme_cell, at_ms(50)}).after);
    CHECK(client.ask(FindJob{1}).job->state == JobState::succeeded);
  });
}

TEST_CASE("a job cancelled while it settles blocks its line until it has settled") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    client.ask(InsertJob{sketch_job({.id = 2})});
    const auto claimed = running(job, {1, 1});
    client.tell(ClaimJob{claimed});
    const auto kept =
        changed(retrying(claimed, at_ms(900)), [](Job& next) { next.settle_until = at_ms(900); });
    client.ask(RecordJob{{1, 1}, kept});
    const auto cancelled = client.ask(CancelWaiting{1, acme_cell, at_ms(50)});
    CHECK(cancelled.after->place == 1);
    CHECK_FALSE(cancelled.promoted);
    CHECK(runnable_ids(client).empty());
    CHECK(ids(client.ask(AdvanceDue{acme_cell, at_ms(900), 10, 5}).runnable) == Ids{2});
  });
}

// --- Reopening -----------------------------------------------------------------------------------

TEST_CASE("a failed job is reopened at the end of its line") {
  with_each_store([](Client& client, StoreUnderTest& store) {
    const auto end = insert_ended(client, {.id = 1}, JobState::failed);
    client.ask(InsertJob{sketch_job({.id = 2})});
    const auto reopened = client.ask(ReopenEnded{1, acme_cell, 50, at_ms(70)});
    CHECK(*reopened.before == *end);
    REQUIRE(reopened.after);
    CHECK(reopened.after->state == JobState::queued);
    CHECK(reopened.after->place == 50);
    CHECK_FALSE(reopened.runnable);
    CHECK(runnable_ids(client) == Ids{2});
    CHECK(client.ask(LoadCell{acme_cell}).counts[JobState::queued] == 2);
    store.reopen();
    CHECK(*client.ask(FindJob{1}).job == *reopened.after);
    CHECK(client.ask(StartEpoch{}).last_id == 50);
    CHECK(client.ask(CancelWaiting{2, acme_cell, at_ms(80)}).promoted->id == 1);
  });
}

TEST_CASE("a job is reopened in the cell of the request") {
  with_each_store([](Client& client, StoreUnderTest&) {
    insert_ended(client, {.id = 1}, JobState::cancelled);
    const CellKey other{"acme", "dns"};
    const auto reopened = client.ask(ReopenEnded{1, other, 50, at_ms(70)});
    CHECK(reopened.runnable);
    CHECK(reopened.after->cell == other);
    CHECK(runnable_ids(client, other) == Ids{1});
    CHECK(client.ask(LoadCell{acme_cell}).counts.unfinished() == 0);
    CHECK(client.ask(LoadCell{other}).counts[JobState::queued] == 1);
  });
}

TEST_CASE("a job reopened while it settles waits at its place until it has settled") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    client.ask(InsertJob{sketch_job({.id = 2})});
    const auto claimed = running(job, {1, 1});
    client.tell(ClaimJob{claimed});
    client.ask(RecordJob{{1, 1}, changed(settling(claimed, at_ms(900)), [](Job& next) {
                           next.state = JobState::failed;
                         })});
    const auto reopened = client.ask(ReopenEnded{1, acme_cell, 50, at_ms(70)});
    CHECK(reopened.after->state == JobState::retrying);
    CHECK(reopened.after->place == 1);
    CHECK_FALSE(reopened.runnable);
    CHECK(client.ask(AdvanceDue{acme_cell, at_ms(899), 60, 5}).runnable.empty());
    CHECK(ids(client.ask(AdvanceDue{acme_cell, at_ms(900), 70, 5}).runnable) == Ids{1});
  });
}

TEST_CASE("a job that has not ended or has succeeded cannot be reopened") {
  with_each_store([](Client& client, StoreUnderTest&) {
    CHECK_FALSE(client.ask(ReopenEnded{1, acme_cell, 50, at_ms(70)}).before);
    client.ask(InsertJob{sketch_job({.id = 1})});
    CHECK_FALSE(client.ask(ReopenEnded{1, acme_cell, 50, at_ms(70)}).after);
    insert_ended(client, {.id = 2, .entity = "other"}, JobState::succeeded);
    CHECK_FALSE(client.ask(ReopenEnded{2, acme_cell, 50, at_ms(70)}).after);
    CHECK(client.ask(FindJob{2}).job->state == JobState::succeeded);
  });
}

TEST_CASE("a job that was cancelled when its poll was due waits until it has settled if reopened") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    const auto claimed = running(job, {1, 1});
    client.tell(ClaimJob{claimed});
    const auto polled = changed(retrying(claimed, at_ms(100)), [](Job& next) {
      next.steps[0].operation = R"({"id":7})";
      next.settle_until = at_ms(900);
    });
    CHECK(client.ask(RecordJob{{1, 1}, polled}).applied);
    REQUIRE(ids(client.ask(AdvanceDue{acme_cell, at_ms(100), 10, 5}).runnable) == Ids{1});
    const auto cancelled = client.ask(CancelWaiting{1, acme_cell, at_ms(150)});
    REQUIRE(cancelled.after);
    CHECK(cancelled.after->settle_until == at_ms(950));
    const auto reopened = client.ask(ReopenEnded{1, acme_cell, 50, at_ms(200)});
    REQUIRE(reopened.after);
    CHECK(reopened.after->state == JobState::retrying);
    CHECK_FALSE(reopened.runnable);
    CHECK(runnable_ids(client).empty());
    CHECK(ids(client.ask(AdvanceDue{acme_cell, at_ms(950), 60, 5}).runnable) == Ids{1});
  });
}
