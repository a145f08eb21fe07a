// Lines, leases and ends: which jobs are runnable, and which reports count.
#include "tests/unit/src/store/contract.hpp"
#include "tests/unit/src/store/sqlite_under_test.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store::test;

TEST_CASE("only the first job of an entity's line is runnable") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto first = sketch_job({.id = 1});
    CHECK(client.ask(InsertJob{first}).runnable);
    CHECK_FALSE(client.ask(InsertJob{sketch_job({.id = 2})}).runnable);
    CHECK(client.ask(InsertJob{sketch_job({.id = 3, .entity = "other"})}).runnable);
    CHECK(runnable_ids(client) == Ids{1, 3});
    CHECK(client.ask(FindJob{2}).job->state == JobState::queued);
    CHECK(*client.ask(FindJob{1}).job == *first);
  });
}

TEST_CASE("entities differ by customer, product, type and id, and not by their subtype") {
  with_each_store([](Client& client, StoreUnderTest&) {
    CHECK(client.ask(InsertJob{sketch_job({.id = 1})}).runnable);
    CHECK(client.ask(InsertJob{sketch_job({.id = 2, .customer = "bolt"})}).runnable);
    CHECK(client.ask(InsertJob{sketch_job({.id = 3, .product = "mail"})}).runnable);
    CHECK(client.ask(InsertJob{sketch_job({.id = 4, .entity_type = "host"})}).runnable);
    const auto other_subtype = sketch_job({.id = 5});
    auto spec = std::make_shared<JobSpec>(*other_subtype->spec);
    spec->entity.subtype = "secondary";
    const auto job = changed(other_subtype, [&](Job& next) { next.spec = spec; });
    CHECK_FALSE(client.ask(InsertJob{job}).runnable);
  });
}

TEST_CASE("the end of a job promotes the next job of its line") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto first = sketch_job({.id = 1});
    const auto second = sketch_job({.id = 2, .cell = {"acme", "dns"}});
    client.ask(InsertJob{first});
    client.ask(InsertJob{second});
    client.ask(InsertJob{sketch_job({.id = 3})});
    const auto claimed = running(first, {1, 1});
    client.tell(ClaimJob{claimed});
    CHECK(runnable_ids(client).empty());
    const auto recorded = client.ask(RecordJob{{1, 1}, ended(claimed)});
    CHECK(recorded.applied);
    REQUIRE(recorded.promoted);
    CHECK(*recorded.promoted == *second);
    CHECK(runnable_ids(client).empty());
    CHECK(runnable_ids(client, {"acme", "dns"}) == Ids{2});
  });
}

TEST_CASE("a report under another lease changes nothing") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    const auto claimed = running(job, {1, 2});
    client.tell(ClaimJob{claimed});
    for (const Lease stale : {Lease{}, Lease{1, 1}, Lease{1, 3}, Lease{2, 2}}) {
      const auto recorded = client.ask(RecordJob{stale, ended(claimed)});
      CHECK_FALSE(recorded.applied);
      CHECK_FALSE(recorded.promoted);
    }
    CHECK(client.ask(RecordJob{{1, 2}, ended(claimed)}).applied);
    CHECK(client.ask(FindJob{1}).job->state == JobState::succeeded);
    CHECK_FALSE(client.ask(RecordJob{{1, 2}, ended(sketch_job({.id = 9}))}).applied);
  });
}

TEST_CASE("the first recorded end wins") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    const auto claimed = running(job, {1, 1});
    client.tell(ClaimJob{claimed});
    CHECK(client.ask(RecordJob{{1, 1}, ended(claimed, JobState::cancelled)}).applied);
    CHECK_FALSE(client.ask(RecordJob{{1, 1}, ended(claimed)}).applied);
    CHECK(client.ask(FindJob{1}).job->state == JobState::cancelled);
  });
}

TEST_CASE("a claim neither revives a finished job nor replaces another claim") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    client.tell(ClaimJob{running(job, {1, 1})});
    client.tell(ClaimJob{running(job, {1, 2})});
    CHECK_FALSE(client.ask(RecordJob{{1, 2}, ended(job)}).applied);
    CHECK(client.ask(RecordJob{{1, 1}, ended(running(job, {1, 1}))}).applied);
    client.tell(ClaimJob{running(job, {1, 3})});
    client.ask(FlushStore{});
    CHECK(client.ask(FindJob{1}).job->state == JobState::succeeded);
    CHECK(client.ask(LoadCell{acme_cell}).running.empty());
    CHECK(runnable_ids(client).empty());
  });
}

TEST_CASE("a claim takes effect for all later operations") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1, .expires_at = at_ms(10)});
    client.ask(InsertJob{job});
    const auto claimed = running(job, {1, 1});
    client.tell(ClaimJob{claimed});
    CHECK(runnable_ids(client).empty());
    const auto loaded = client.ask(LoadCell{acme_cell});
    CHECK(loaded.counts[JobState::running] == 1);
    CHECK(loaded.counts[JobState::queued] == 0);
    CHECK_FALSE(loaded.runnable);
    CHECK_FALSE(loaded.next_due);
    REQUIRE(loaded.running.size() == 1);
    CHECK(*loaded.running[0] == *claimed);
    CHECK(client.ask(AdvanceDue{acme_cell, at_ms(20), 100, 10}).expired.empty());
  });
}

TEST_CASE("a job handed back to the queue is runnable at once and keeps its place") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    client.ask(InsertJob{sketch_job({.id = 2})});
    const auto claimed = running(job, {1, 1});
    client.tell(ClaimJob{claimed});
    const auto back = changed(claimed, [](Job& next) { next.state = JobState::queued; });
    const auto recorded = client.ask(RecordJob{{1, 1}, back});
    CHECK(recorded.applied);
    CHECK_FALSE(recorded.promoted);
    CHECK(runnable_ids(client) == Ids{1});
    CHECK(*client.ask(FindJob{1}).job == *back);
  });
}

TEST_CASE("a job that ends gives up its place, even if the report still has one") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    const auto over = changed(job, [](Job& next) { next.state = JobState::cancelled; });
    CHECK(client.ask(RecordJob{{}, over}).applied);
    CHECK(client.ask(FindJob{1}).job->place == 0);
    CHECK(client.ask(LoadCells{}).with_jobs.empty());
  });
}

TEST_CASE("a report cannot change the cell or the place of a job") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1, .run_at = at_ms(10)});
    client.ask(InsertJob{job});
    client.ask(AdvanceDue{acme_cell, at_ms(10), 50, 10});
    client.ask(MoveJobs{{acme_cell, "acme", "dns"}, {"*", "*"}, 10});
    const auto old_version = changed(job, [](Job& next) { next.state = JobState::queued; });
    CHECK(client.ask(RecordJob{{}, old_version}).applied);
    const auto kept = client.ask(FindJob{1}).job;
    CHECK(kept->place == 50);
    CHECK(kept->cell == CellKey{"*", "*"});
  });
}

TEST_CASE("a held job is not runnable until a release, also across a restart") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    client.ask(InsertJob{sketch_job({.id = 1})});
    client.ask(InsertJob{sketch_job({.id = 2})});
    CHECK_FALSE(client.ask(LoadCell{acme_cell}).held);
    client.tell(HoldJob{1});
    client.tell(HoldJob{2});
    CHECK(runnable_ids(client).empty());
    CHECK(client.ask(LoadCell{acme_cell}).counts[JobState::queued] == 2);
    client.ask(FlushStore{});
    under_test.reopen();
    client.ask(StartEpoch{});
    CHECK_FALSE(client.ask(LoadCell{acme_cell}).runnable);
    CHECK(client.ask(LoadCell{acme_cell}).held);
    CHECK(runnable_ids(client).empty());
    CHECK(client.ask(ReleaseHolds{acme_cell}).released == 1);  // The other one is not the head.
    CHECK(runnable_ids(client) == Ids{1});
    CHECK_FALSE(client.ask(LoadCell{acme_cell}).held);
  });
}

TEST_CASE("holds are released cell by cell, in the order of ids, up to a limit") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const CellKey other{"*", "*"};
    for (const JobId id : Ids{5, 3, 1, 4, 2}) {
      client.ask(InsertJob{sketch_job({.id = id, .entity = std::to_string(id)})});
      client.tell(HoldJob{id});
    }
    client.ask(InsertJob{sketch_job({.id = 6, .entity = "6", .cell = other})});
    client.tell(HoldJob{6});

    auto answer = client.ask(ReleaseHolds{acme_cell, 0, 2});
    CHECK(answer.released == 2);
    CHECK(answer.last == 2);
    CHECK(runnable_ids(client) == Ids{1, 2});
    client.tell(HoldJob{1});  // Behind `after`: the steps that follow do not reach it.
    answer = client.ask(ReleaseHolds{acme_cell, 2, 2});
    CHECK(answer.released == 2);
    CHECK(answer.last == 4);
    answer = client.ask(ReleaseHolds{acme_cell, 4, 2});
    CHECK(answer.released == 1);
    CHECK(answer.last == 5);
    CHECK(runnable_ids(client) == Ids{2, 3, 4, 5});
    answer = client.ask(ReleaseHolds{acme_cell, 5, 2});
    CHECK(answer.released == 0);
    CHECK(answer.last == 0);
    CHECK(client.ask(LoadCell{acme_cell}).held);
    CHECK(client.ask(LoadCell{other}).held);
    CHECK(client.ask(ReleaseHolds{{"nobody", "*"}}).released == 0);
  });
}

TEST_CASE("a job keeps its hold as it moves to another cell, and is released there") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const CellKey other{"*", "*"};
    client.ask(InsertJob{sketch_job({.id = 1})});
    client.tell(HoldJob{1});
    client.ask(MoveJobs{{acme_cell, "acme", "dns"}, other, 10});
    CHECK_FALSE(client.ask(LoadCell{acme_cell}).held);
    CHECK(client.ask(LoadCell{other}).held);
    CHECK(client.ask(ReleaseHolds{acme_cell}).released == 0);
    CHECK(client.ask(ReleaseHolds{other}).released == 1);
    CHECK(client.ask(LoadCell{other}).runnable);
  });
}

TEST_CASE("a queued version ends a hold") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    client.tell(HoldJob{1});
    CHECK(client.ask(RecordJob{{}, job}).applied);
    CHECK(runnable_ids(client) == Ids{1});
  });
}

TEST_CASE("an id in use is refused and changes nothing") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    client.ask(InsertJob{sketch_job({.id = 1})});
    caf::scoped_actor self{under_test.system()};
    bool refused = false;
    self->request(under_test.store(), std::chrono::seconds{60},
                  InsertJob{sketch_job({.id = 1, .entity = "other"}), {}, 1 << 30})
        .receive([](const JobInserted&) {}, [&](const caf::error&) { refused = true; });
    CHECK(refused);
    CHECK(client.ask(FindJob{1}).job->spec->entity.id == "e");
    CHECK(client.ask(LoadCell{acme_cell}).counts.unfinished() == 1);
  });
}

TEST_CASE("a held job that is cancelled and reopened is runnable") {
  with_each_store([](Client& client, StoreUnderTest&) {
    client.ask(InsertJob{sketch_job({.id = 1})});
    client.tell(HoldJob{1});
    REQUIRE(client.ask(CancelWaiting{1, acme_cell, at_ms(9)}).after);
    CHECK_FALSE(client.ask(LoadCell{acme_cell}).held);
    CHECK(client.ask(ReopenEnded{1, acme_cell, 20, at_ms(10)}).runnable);
    CHECK(runnable_ids(client) == Ids{1});
  });
}
