// Compensation and followers: which jobs are runnable, and what the end of a job leaves behind.
#include "tests/unit/src/store/contract.hpp"
#include "tests/unit/src/store/sqlite_under_test.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store::test;

namespace {

/// A job of three services whose second one has failed.
JobPtr to_undo(const JobSketch& sketch) {
  auto full = sketch;
  full.services = {"dns", "billing", "mail"};
  return changed(sketch_job(full), [](Job& job) {
    auto spec = std::make_shared<JobSpec>(*job.spec);
    spec->on_failure = OnFailure::compensate;
    job.spec = std::move(spec);
    job.step = 1;
    job.steps[0].state = StepState::succeeded;
    job.steps[0].attempts = 2;
  });
}

JobPtr compensating(const JobPtr& job, std::optional<WallTime> next_attempt_at = {}) {
  return changed(job, [&](Job& next) {
    next.state = JobState::compensating;
    next.error = JobError{"refused", "no", "billing"};
    next.step = 0;
    next.steps[1].state = StepState::failed;
    next.steps[1].in_doubt = true;
    next.next_attempt_at = next_attempt_at;
  });
}

/// The job as claimed for its undo.
JobPtr undoing(const JobPtr& job, Lease lease) {
  return changed(running(job, lease), [](Job& next) {
    --next.steps[0].attempts;
    ++next.steps[0].undo_attempts;
  });
}

JobPtr insert_and_claim(Client& client, const JobPtr& job, Lease lease) {
  client.ask(InsertJob{job});
  const auto claimed = running(job, lease);
  client.tell(ClaimJob{claimed});
  return claimed;
}

JobPtr failed(const JobPtr& job) {
  return ended(job, JobState::failed);
}

}  // namespace

TEST_CASE("a compensating job without a wait is runnable at once") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const auto claimed = insert_and_claim(client, to_undo({.id = 1}), {1, 1});
    const auto recorded = client.ask(RecordJob{{1, 1}, compensating(claimed)});
    CHECK(recorded.applied);
    CHECK(recorded.runnable);
    CHECK(runnable_ids(client) == Ids{1});
    CHECK(client.ask(LoadCell{acme_cell}).counts[JobState::compensating] == 1);
    if (under_test.durability() == Durability::disk) {
      under_test.reopen();
      CHECK(runnable_ids(client) == Ids{1});
    }
    CHECK(*client.ask(FindJob{1}).job == *compensating(claimed));
  });
}

TEST_CASE("a compensating job with a wait is runnable when it is over") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto claimed = insert_and_claim(client, to_undo({.id = 1}), {1, 1});
    const auto waiting = compensating(claimed, at_ms(9000));
    CHECK_FALSE(client.ask(RecordJob{{1, 1}, waiting}).runnable);
    CHECK(runnable_ids(client).empty());
    CHECK(client.ask(AdvanceDue{acme_cell, at_ms(8999), 100}).next_due == at_ms(9000));
    CHECK(ids(client.ask(AdvanceDue{acme_cell, at_ms(9000), 100}).runnable) == Ids{1});
    CHECK(runnable_ids(client) == Ids{1});
  });
}

TEST_CASE("a compensating job does not expire, and is not cancelled") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto claimed =
        insert_and_claim(client, to_undo({.id = 1, .expires_at = at_ms(7000)}), {1, 1});
    client.ask(RecordJob{{1, 1}, compensating(claimed)});
    const auto advanced = client.ask(AdvanceDue{acme_cell, at_ms(8000), 100});
    CHECK(advanced.expired.empty());
    CHECK_FALSE(advanced.next_due);
    const auto cancelled = client.ask(CancelWaiting{1, acme_cell, at_ms(8000)});
    CHECK(cancelled.before);
    CHECK_FALSE(cancelled.after);
  });
}

TEST_CASE("an undo runs under its lease, and counts as running") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto claimed = insert_and_claim(client, to_undo({.id = 1}), {1, 1});
    const auto job = compensating(claimed);
    client.ask(RecordJob{{1, 1}, job});
    const auto undo = undoing(job, {1, 2});
    client.tell(ClaimJob{undo});
    CHECK(runnable_ids(client).empty());
    const auto loaded = client.ask(LoadCell{acme_cell});
    CHECK(loaded.counts[JobState::running] == 1);
    CHECK(loaded.counts[JobState::compensating] == 0);
    CHECK(ids(loaded.running) == Ids{1});
    client.ask(FlushStore{});
    const auto listed = [&](JobState state) {
      ListJobs question;
      question.filter.state = state;
      return ids(client.ask(question).jobs);
    };
    CHECK(listed(JobState::compensating) == Ids{1});  // As clients see it.
    CHECK(listed(JobState::running).empty());
    CHECK_FALSE(client.ask(RecordJob{{1, 1}, failed(undo)}).applied);
    CHECK(client.ask(RecordJob{{1, 2}, failed(undo)}).applied);
  });
}

TEST_CASE("a compensating job holds its line, and its end promotes the next one") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto claimed = insert_and_claim(client, to_undo({.id = 1}), {1, 1});
    client.ask(InsertJob{sketch_job({.id = 2})});
    const auto job = compensating(claimed);
    CHECK_FALSE(client.ask(RecordJob{{1, 1}, job}).promoted);
    CHECK(runnable_ids(client) == Ids{1});
    client.tell(ClaimJob{undoing(job, {1, 2})});
    const auto recorded = client.ask(RecordJob{{1, 2}, failed(job)});
    REQUIRE(recorded.promoted);
    CHECK(recorded.promoted->id == 2);
  });
}

TEST_CASE("a follower that compensates is runnable once it heads its line") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto first = insert_and_claim(client, sketch_job({.id = 1}), {1, 1});
    const auto second = to_undo({.id = 2});
    client.ask(InsertJob{second});
    CHECK_FALSE(client.ask(RecordJob{{}, compensating(second)}).runnable);
    const auto recorded = client.ask(RecordJob{{1, 1}, ended(first)});
    REQUIRE(recorded.promoted);
    CHECK(recorded.promoted->id == 2);
    CHECK(runnable_ids(client) == Ids{2});
  });
}

TEST_CASE("a held job that begins its compensation is released") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = to_undo({.id = 1});
    client.ask(InsertJob{job});
    client.tell(HoldJob{1});
    CHECK(client.ask(RecordJob{{}, compensating(job)}).runnable);
    client.tell(HoldJob{1});
    CHECK(runnable_ids(client).empty());
    client.ask(ReleaseHolds{acme_cell});
    CHECK(runnable_ids(client) == Ids{1});
  });
}

TEST_CASE("a job that compensates needs its services and their undos") {
  with_each_store([](Client& client, StoreUnderTest&) {
    using Needs = std::map<std::string, std::uint64_t>;
    const auto count = [&] {
      const auto every = ActionSet::all();
      return client.ask(CountNeeds{{"dns", "billing", "mail"},
                                   {{"dns", every}, {"billing", every}, {"mail", every}}});
    };
    const auto job = to_undo({.id = 1});
    client.ask(InsertJob{job});
    client.ask(InsertJob{sketch_job({.id = 2, .entity = "other", .services = {"mail"}})});
    CHECK(count().jobs == Needs{{"dns", 1}, {"billing", 1}, {"mail", 2}});
    CHECK(count().undos == Needs{{"dns", 1}, {"billing", 1}, {"mail", 1}});
    client.ask(RecordJob{{}, compensating(job)});
    CHECK(count().jobs == Needs{{"dns", 1}, {"mail", 1}});
    CHECK(count().undos == Needs{{"dns", 1}});
    CHECK(client.ask(CountNeeds{{"mail"}}).undos.empty());
  });
}

TEST_CASE("a job that compensates needs the undo of its own action") {
  with_each_store([](Client& client, StoreUnderTest&) {
    client.ask(InsertJob{to_undo({.id = 1})});
    const auto action = to_undo({.id = 1})->spec->action;
    const auto needs = [&](const ActionSet& actions) {
      return client.ask(CountNeeds{{}, {{"mail", actions}}}).undos.contains("mail");
    };
    CHECK(needs(ActionSet{{action}}));
    CHECK(needs(ActionSet{{"other", action}}));
    CHECK_FALSE(needs(ActionSet{{"other"}}));
    CHECK_FALSE(needs(ActionSet{{action}, true}));
    CHECK(needs(ActionSet{{"other"}, true}));
    CHECK(needs(ActionSet::all()));
  });
}

// --- Followers -------------------------------------------------------------------------------

TEST_CASE("a failed job marks the next one in its line, in whichever cell") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const auto first = insert_and_claim(client, sketch_job({.id = 1}), {1, 1});
    client.ask(InsertJob{sketch_job({.id = 2, .cell = {"acme", "dns"}})});
    client.ask(InsertJob{sketch_job({.id = 3})});
    client.ask(InsertJob{sketch_job({.id = 4, .entity = "other"})});
    const auto recorded = client.ask(RecordJob{{1, 1}, failed(first)});
    REQUIRE(recorded.follower);
    CHECK(recorded.follower->id == 2);
    CHECK(recorded.follower->failed_ahead == 4);
    REQUIRE(recorded.promoted);
    CHECK(*recorded.promoted == *recorded.follower);
    if (under_test.durability() == Durability::disk) under_test.reopen();
    CHECK(client.ask(FindJob{2}).job->failed_ahead == 4);
    CHECK(client.ask(FindJob{3}).job->failed_ahead == 0);
  });
}

TEST_CASE("only a failed job has followers") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto state = GENERATE(JobState::succeeded, JobState::cancelled);
    const auto first = insert_and_claim(client, sketch_job({.id = 1}), {1, 1});
    client.ask(InsertJob{sketch_job({.id = 2})});
    CHECK_FALSE(client.ask(RecordJob{{1, 1}, ended(first, state)}).follower);
    CHECK(client.ask(FindJob{2}).job->failed_ahead == 0);
  });
}

TEST_CASE("the mark goes through the line as its jobs end, up to those that came later") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto first = insert_and_claim(client, sketch_job({.id = 1}), {1, 1});
    client.ask(InsertJob{sketch_job({.id = 2})});
    client.ask(InsertJob{sketch_job({.id = 3})});
    client.ask(RecordJob{{1, 1}, failed(first)});
    client.ask(InsertJob{sketch_job({.id = 4})});
    // The dispatcher may have an older version.
    const auto second = sketch_job({.id = 2});
    const auto recorded = client.ask(RecordJob{{}, ended(second, JobState::cancelled)});
    REQUIRE(recorded.follower);
    CHECK(recorded.follower->id == 3);
    CHECK(recorded.follower->failed_ahead == 3);
    const auto third = client.ask(CancelWaiting{3, acme_cell, at_ms(9000)});
    CHECK(third.after);
    CHECK_FALSE(third.follower);
    CHECK(client.ask(FindJob{4}).job->failed_ahead == 0);
  });
}

TEST_CASE("a marked job that is cancelled passes its mark on, and one that runs keeps it") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto first = insert_and_claim(client, sketch_job({.id = 1}), {1, 1});
    for (const JobId id : {2, 3, 4}) client.ask(InsertJob{sketch_job({.id = id})});
    client.ask(RecordJob{{1, 1}, failed(first)});
    const auto second = client.ask(CancelWaiting{2, acme_cell, at_ms(9000)});
    REQUIRE(second.follower);
    CHECK(second.follower->id == 3);
    const auto third = running(second.follower, {1, 2});
    client.tell(ClaimJob{third});
    const auto recorded = client.ask(RecordJob{{1, 2}, ended(third)});
    REQUIRE(recorded.follower);
    CHECK(recorded.follower->id == 4);
    CHECK(recorded.follower->failed_ahead == 4);
  });
}

TEST_CASE("a job that fails in the middle of its line marks the one behind it") {
  with_each_store([](Client& client, StoreUnderTest&) {
    for (const JobId id : {1, 2, 3}) client.ask(InsertJob{sketch_job({.id = id})});
    const auto recorded = client.ask(RecordJob{{}, failed(sketch_job({.id = 2}))});
    REQUIRE(recorded.follower);
    CHECK(recorded.follower->id == 3);
    CHECK_FALSE(recorded.promoted);
    CHECK(client.ask(FindJob{1}).job->failed_ahead == 0);
  });
}

TEST_CASE("a head that fails marks the next one, although that has a lower place") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto head = insert_and_claim(client, sketch_job({.id = 5}), {1, 1});
    for (const JobId id : {4, 6}) client.ask(InsertJob{sketch_job({.id = id})});
    const auto recorded = client.ask(RecordJob{{1, 1}, failed(head)});
    REQUIRE(recorded.follower);
    CHECK(recorded.follower->id == 4);
    CHECK(client.ask(FindJob{6}).job->failed_ahead == 0);
  });
}

TEST_CASE("a job whose mark reaches as far already is not marked again") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto first = insert_and_claim(client, sketch_job({.id = 1}), {1, 1});
    for (const JobId id : {2, 3}) client.ask(InsertJob{sketch_job({.id = id})});
    REQUIRE(client.ask(RecordJob{{}, failed(sketch_job({.id = 2}))}).follower);
    CHECK_FALSE(client.ask(RecordJob{{1, 1}, failed(first)}).follower);
    CHECK(client.ask(FindJob{3}).job->failed_ahead == 3);
  });
}

TEST_CASE("a failed job marks its follower although it settles") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto first = insert_and_claim(client, sketch_job({.id = 1}), {1, 1});
    client.ask(InsertJob{sketch_job({.id = 2})});
    const auto recorded = client.ask(RecordJob{{1, 1}, settling(first, at_ms(9000))});
    REQUIRE(recorded.follower);
    CHECK(recorded.follower->id == 2);
    CHECK_FALSE(recorded.promoted);
    const auto settled = client.ask(AdvanceDue{acme_cell, at_ms(9000), 100}).runnable;
    REQUIRE(ids(settled) == Ids{2});
    CHECK(settled[0]->failed_ahead == 2);
  });
}
