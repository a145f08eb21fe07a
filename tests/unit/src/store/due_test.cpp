// AdvanceDue: what happens to jobs as time passes.
#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store::test;

TEST_CASE("scheduled jobs enter their lines in order of due time") {
  with_each_store([](Client& client, StoreUnderTest&) {
    CHECK_FALSE(client.ask(InsertJob{sketch_job({.id = 1, .run_at = at_ms(30)})}).runnable);
    client.ask(InsertJob{sketch_job({.id = 2, .run_at = at_ms(20)})});
    client.ask(InsertJob{sketch_job({.id = 3, .entity = "other", .run_at = at_ms(40)})});
    CHECK(client.ask(LoadCell{acme_cell}).next_due == at_ms(20));
    auto done = client.ask(AdvanceDue{acme_cell, at_ms(19), 100, 10});
    CHECK(done.runnable.empty());
    CHECK(done.queued == 0);
    CHECK(done.next_due == at_ms(20));
    done = client.ask(AdvanceDue{acme_cell, at_ms(30), 100, 10});
    CHECK(ids(done.runnable) == Ids{2});
    CHECK(done.queued == 2);
    CHECK(done.next_due == at_ms(40));
    CHECK(done.runnable[0]->state == JobState::queued);
    CHECK(done.runnable[0]->place == 100);
    CHECK(client.ask(FindJob{1}).job->place == 101);
    CHECK(client.ask(FindJob{1}).job->state == JobState::queued);
    CHECK(client.ask(FindJob{3}).job->place == 0);
    CHECK(client.ask(StartEpoch{}).last_id == 101);
  });
}

TEST_CASE("a scheduled job enters its line behind the jobs already queued") {
  with_each_store([](Client& client, StoreUnderTest&) {
    client.ask(InsertJob{sketch_job({.id = 1, .run_at = at_ms(10)})});
    const auto first = sketch_job({.id = 2});
    client.ask(InsertJob{first});
    const auto done = client.ask(AdvanceDue{acme_cell, at_ms(10), 100, 10});
    CHECK(done.runnable.empty());
    CHECK(done.queued == 1);
    CHECK(client.ask(RecordJob{{}, ended(first)}).promoted->id == 1);
  });
}

TEST_CASE("a retrying job stays the head of its line and becomes runnable when its retry is due") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    client.ask(InsertJob{sketch_job({.id = 2})});
    const auto claimed = running(job, {1, 1});
    client.tell(ClaimJob{claimed});
    const auto waiting = retrying(claimed, at_ms(50));
    CHECK_FALSE(client.ask(RecordJob{{1, 1}, waiting}).promoted);
    CHECK(runnable_ids(client).empty());
    CHECK(client.ask(AdvanceDue{acme_cell, at_ms(49), 100, 10}).next_due == at_ms(50));
    CHECK(runnable_ids(client).empty());
    const auto done = client.ask(AdvanceDue{acme_cell, at_ms(50), 100, 10});
    REQUIRE(ids(done.runnable) == Ids{1});
    CHECK(*done.runnable[0] == *waiting);
    CHECK(done.queued == 0);
    CHECK_FALSE(done.next_due);
    CHECK(runnable_ids(client) == Ids{1});
    under_test.reopen();
    CHECK(runnable_ids(client) == Ids{1});
    client.tell(ClaimJob{running(waiting, {2, 1})});
    CHECK(client.ask(RecordJob{{2, 1}, retrying(waiting, at_ms(90))}).applied);
    CHECK(runnable_ids(client).empty());
  });
}

TEST_CASE("a settling job blocks its line until it has settled") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    const auto next = sketch_job({.id = 2});
    client.ask(InsertJob{next});
    client.ask(InsertJob{sketch_job({.id = 3, .cell = {"b", "*"}})});
    const auto claimed = running(job, {1, 1});
    client.tell(ClaimJob{claimed});
    const auto recorded = client.ask(RecordJob{{1, 1}, settling(claimed, at_ms(70))});
    CHECK(recorded.applied);
    CHECK_FALSE(recorded.promoted);
    under_test.reopen();
    CHECK(runnable_ids(client).empty());
    CHECK(client.ask(AdvanceDue{acme_cell, at_ms(69), 100, 10}).next_due == at_ms(70));
    const auto done = client.ask(AdvanceDue{acme_cell, at_ms(70), 100, 10});
    REQUIRE(ids(done.runnable) == Ids{2});
    CHECK(*done.runnable[0] == *changed(next, [](Job& marked) { marked.failed_ahead = 3; }));
    CHECK(done.promoted_elsewhere.empty());
    CHECK_FALSE(done.next_due);
    CHECK(client.ask(FindJob{1}).job->place == 0);
    CHECK(client.ask(FindJob{1}).job->settle_until == at_ms(70));
    CHECK_FALSE(client.ask(RecordJob{{1, 1}, ended(claimed)}).applied);
  });
}

TEST_CASE("a settled job can promote a job of another cell") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1});
    client.ask(InsertJob{job});
    client.ask(InsertJob{sketch_job({.id = 2, .cell = {"b", "*"}})});
    client.ask(RecordJob{{}, settling(job, at_ms(70))});
    CHECK(client.ask(LoadCells{}).with_jobs.size() == 2);
    const auto done = client.ask(AdvanceDue{acme_cell, at_ms(80), 100, 10});
    CHECK(done.runnable.empty());
    CHECK(ids(done.promoted_elsewhere) == Ids{2});
    CHECK(client.ask(LoadCells{}).with_jobs == std::vector<CellKey>{{"b", "*"}});
  });
}

TEST_CASE("AdvanceDue lists expired jobs in every waiting state but does not change them") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto at = at_ms(60);
    client.ask(
        InsertJob{sketch_job({.id = 1, .entity = "a", .run_at = at_ms(50), .expires_at = at})});
    client.ask(InsertJob{sketch_job({.id = 2, .entity = "b", .expires_at = at})});
    client.ask(InsertJob{sketch_job({.id = 3, .entity = "b", .expires_at = at})});
    const auto tried = sketch_job({.id = 4, .entity = "c", .expires_at = at});
    client.ask(InsertJob{tried});
    client.ask(RecordJob{{}, retrying(tried, at_ms(100))});
    const auto busy = sketch_job({.id = 5, .entity = "d", .expires_at = at});
    client.ask(InsertJob{busy});
    client.tell(ClaimJob{running(busy, {1, 1})});
    client.ask(InsertJob{sketch_job({.id = 6, .entity = "f", .expires_at = at_ms(61)})});

    auto done = client.ask(AdvanceDue{acme_cell, at, 100, 10});
    CHECK(ids(done.expired) == Ids{1, 2, 3, 4});
    CHECK(done.queued == 0);
    CHECK(done.next_due == at_ms(61));
    CHECK(client.ask(FindJob{1}).job->state == JobState::scheduled);
    CHECK(client.ask(AdvanceDue{acme_cell, at, 100, 10}).expired.size() == 4);
    const auto recorded = client.ask(RecordJob{{}, ended(done.expired[1], JobState::failed)});
    CHECK(recorded.promoted->id == 3);
    CHECK(ids(client.ask(AdvanceDue{acme_cell, at, 100, 10}).expired) == Ids{1, 3, 4});
  });
}

TEST_CASE("a scheduled job that can expire is queued at its time, and expires only later") {
  with_each_store([](Client& client, StoreUnderTest&) {
    client.ask(InsertJob{sketch_job({.id = 1, .run_at = at_ms(50), .expires_at = at_ms(60)})});
    CHECK(client.ask(LoadCell{acme_cell}).next_due == at_ms(50));
    const auto done = client.ask(AdvanceDue{acme_cell, at_ms(50), 100, 10});
    CHECK(ids(done.runnable) == Ids{1});
    CHECK(done.expired.empty());
    CHECK(done.next_due == at_ms(60));
  });
}

TEST_CASE("a limit cuts the work short, and next_due shows it") {
  with_each_store([](Client& client, StoreUnderTest&) {
    for (JobId id = 1; id <= 5; ++id) {
      const auto run_at = at_ms(static_cast<std::int64_t>(10 * id));
      client.ask(InsertJob{sketch_job({.id = id, .entity = std::to_string(id), .run_at = run_at})});
    }
    auto done = client.ask(AdvanceDue{acme_cell, at_ms(45), 100, 3});
    CHECK(ids(done.runnable) == Ids{1, 2, 3});
    CHECK(done.next_due == at_ms(40));
    done = client.ask(AdvanceDue{acme_cell, at_ms(45), 103, 3});
    CHECK(ids(done.runnable) == Ids{4});
    CHECK(done.runnable[0]->place == 103);
    CHECK(done.next_due == at_ms(50));
    CHECK_FALSE(client.ask(AdvanceDue{{"nobody", "*"}, at_ms(45), 200, 3}).next_due);
  });
}
