// The promises, one situation at a time; the simulation goes through all of them at once.
#include "cells/actors/service_client.hpp"
#include "tests/catch.hpp"
#include "tests/cells/actors/fixture.hpp"

using namespace cells_test;

TEST_CASE("a shrink never interrupts a running job, and starts none beyond the new size") {
  Fixture engine{3};
  const JobId a = engine.submit("a");
  const JobId b = engine.submit("b");
  const JobId c = engine.submit("c");
  const JobId d = engine.submit("d");
  engine.resize(1);
  CHECK(engine.calls->pending.size() == 3);
  engine.succeed(a);
  engine.succeed(b);
  CHECK_FALSE(engine.call_of(d));  // One still runs, and one is the target.
  engine.succeed(c);
  REQUIRE(engine.call_of(d));
  CHECK(engine.cell().pool.target == 1);
  CHECK(engine.cell().pool.busy == 1);
  CHECK(count_alive(engine.recorder->workers) == 1);
}

TEST_CASE("a shrink retires idle workers first") {
  Fixture engine{4};
  const JobId job = engine.submit("a");
  engine.resize(1);
  CHECK(engine.cell().pool.busy == 1);
  CHECK(engine.cell().pool.retiring == 0);
  CHECK(count_alive(engine.recorder->workers) == 1);
  engine.succeed(job);
  CHECK(engine.recorder->workers.size() == 4);  // The busy one was not replaced.
}

TEST_CASE("a growth is in force at once") {
  Fixture engine{1};
  engine.submit("a");
  const JobId second = engine.submit("b");
  CHECK_FALSE(engine.call_of(second));
  engine.resize(2);
  CHECK(engine.call_of(second));
}

TEST_CASE("a resize survives a crash, and is undone on request") {
  Fixture engine{2};
  engine.resize(5);
  engine.crash_and_restart();
  CHECK(engine.cell().pool.target == 5);
  CHECK(engine.cell().changed.pool_size == 5U);
  engine.resize(std::nullopt);
  CHECK(engine.cell().pool.target == 2);
  engine.crash_and_restart();
  CHECK(engine.cell().pool.target == 2);
}

TEST_CASE("jobs of one entity run one after another, others pass by") {
  Fixture engine{4};
  const JobId first = engine.submit("a");
  const JobId second = engine.submit("a");
  auto urgent_request = engine.request("a");
  urgent_request.spec.priority = 9;
  const JobId urgent = engine.submit(std::move(urgent_request));
  const JobId other = engine.submit("b");
  CHECK(engine.call_of(first));
  CHECK(engine.call_of(other));
  CHECK_FALSE(engine.call_of(second));
  engine.succeed(other);
  engine.end_call(first, outcome(CallOutcome::Kind::retryable, "provider_error"));
  CHECK_FALSE(engine.call_of(second));  // The head keeps its place through its retries.
  engine.pass(milliseconds{2000});
  engine.succeed(first);
  CHECK(engine.call_of(second));
  CHECK_FALSE(engine.call_of(urgent));
  engine.succeed(second);
  engine.succeed(urgent);
  CHECK(engine.state(urgent) == JobState::succeeded);
}

TEST_CASE("an attempt that passes its deadline keeps its slot until the abort is confirmed") {
  Fixture engine{1};
  const JobId job = engine.submit("a");
  const JobId next = engine.submit("b");
  engine.pass(milliseconds{999});
  CHECK(engine.call_of(job));
  engine.pass(milliseconds{1});
  CHECK_FALSE(engine.call_of(job));
  CHECK(engine.state(job) == JobState::retrying);
  CHECK(engine.stored(job)->messages.size() == 1);
  CHECK(engine.call_of(next));
}

TEST_CASE("an attempt's time runs from when its worker began, however late that is heard") {
  Fixture engine{1};
  caf::anon_send(engine.engine(), SubmitJob{engine.request("a")});
  auto dispatcher = caf::actor_cast<caf::strong_actor_ptr>(engine.recorder->dispatchers.back());
  const auto* busy =
      dynamic_cast<caf::resumable*>(caf::actor_cast<caf::abstract_actor*>(dispatcher));
  engine.scheduler().run_jobs_filtered([&](const caf::resumable* next) {
    return next != busy || engine.recorder->hand_outs.empty();
  });
  dispatcher = nullptr;
  REQUIRE(engine.recorder->hand_outs.size() == 1);
  const JobId job = engine.recorder->hand_outs[0].first;
  REQUIRE(engine.call_of(job));
  engine.scheduler().advance_time(milliseconds{400});
  engine.pass(milliseconds{599});
  CHECK(engine.call_of(job));
  engine.pass(milliseconds{1});
  CHECK_FALSE(engine.call_of(job));
}

TEST_CASE("each step is checkpointed before the next begins, and a retry resumes there") {
  Fixture engine{1};
  const JobId job = engine.submit(engine.request("a", {"dns", "billing"}));
  auto first = outcome(CallOutcome::Kind::succeeded);
  first.properties["serial"] = "7";
  engine.end_call(job, std::move(first));
  REQUIRE(engine.call_of(job));
  CHECK(engine.call_of(job)->call.job->step == 1);
  CHECK(engine.call_of(job)->call.job->properties.at("serial") == "7");
  engine.crash_and_restart();
  REQUIRE(engine.call_of(job));
  CHECK(engine.call_of(job)->call.job->step == 1);
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("a job that brings its worker down three times ends as interrupted") {
  Fixture engine{1};
  const JobId job = engine.submit("a");
  for (int crash = 0; crash < 3; ++crash) {
    REQUIRE(engine.call_of(job));
    caf::anon_send_exit(engine.recorder->workers.back(), caf::exit_reason::unhandled_exception);
    engine.settle();
  }
  CHECK(engine.state(job) == JobState::failed);
  CHECK(engine.stored(job)->error->code == "interrupted");
  CHECK(engine.stored(job)->steps[0].attempts == 0);
  CHECK(engine.calls->pending.empty());
  CHECK(count_alive(engine.recorder->workers) == 1);
}

TEST_CASE("a dispatcher that dies starts again from the store") {
  Fixture engine{2};
  const JobId running = engine.submit("a");
  const JobId other = engine.submit("b");
  const JobId waiting = engine.submit("c");
  caf::anon_send_exit(engine.recorder->dispatchers.at(0), caf::exit_reason::unhandled_exception);
  engine.settle();
  CHECK(engine.recorder->dispatchers.size() == 2);
  CHECK(engine.calls->pending.size() == 2);
  for (const JobId job : {running, other, waiting}) engine.succeed(job);
  for (const JobId job : {running, other, waiting}) CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("an end that a dying dispatcher has told nobody comes to be known") {
  bool met = false;
  for (int steps = 0; steps < 20; ++steps) {
    Fixture engine{1};
    const JobId job = engine.submit("a");
    const PendingCall& call = *engine.call_of(job);
    caf::anon_send(call.provider, EndCall{call.call.lease, outcome(CallOutcome::Kind::succeeded)});
    for (int i = 0; i < steps; ++i) engine.scheduler().try_run_once();
    caf::anon_send_exit(engine.recorder->dispatchers.back(), caf::exit_reason::unhandled_exception);
    engine.settle();
    if (!is_ended(engine.state(job)) || engine.told_ended.contains(job)) continue;
    met = true;
    CHECK(engine.told_lost);
  }
  CHECK(met);
}

TEST_CASE("a provider that dies costs an attempt and no job") {
  Fixture engine{1};
  const JobId job = engine.submit("a");
  engine.end_call(job, std::nullopt);
  CHECK(engine.state(job) == JobState::retrying);
  CHECK(engine.stored(job)->messages.back().severity == Severity::warning);
  engine.pass(milliseconds{2000});
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE(
    "what a dead provider has left keeps slot and entity until its successor confirms its end") {
  const bool answers = GENERATE(true, false);
  Fixture engine{1};
  engine.calls->deaf = true;
  const JobId job = engine.submit("a");
  const JobId follower = engine.submit("a");
  const JobId other = engine.submit("b");
  engine.kill_provider(job, answers);
  CHECK(engine.recorder->restarts.size() == 1);
  engine.pass(milliseconds{5000});
  CHECK(engine.state(job) == JobState::running);
  CHECK(engine.calls->pending.size() == 1);
  engine.end_call(job, outcome(CallOutcome::Kind::aborted));
  CHECK(engine.state(job) == JobState::retrying);
  CHECK(engine.call_of(other));
  CHECK_FALSE(engine.call_of(follower));
}

TEST_CASE("an attempt without a worker is over soon after its provider died, too") {
  Fixture engine{1};
  engine.calls->deaf = true;
  const JobId job = engine.submit("a");
  const Lease lease = engine.call_of(job)->call.lease;
  caf::anon_send_exit(engine.recorder->workers.back(), caf::exit_reason::unhandled_exception);
  engine.settle();
  engine.end_call(job, std::nullopt);  // While it is being aborted.
  CHECK_FALSE(engine.call_of(job));
  engine.pass(milliseconds{10});
  REQUIRE(engine.call_of(job));
  CHECK(engine.call_of(job)->call.lease > lease);
}

TEST_CASE("an abort that is asked for again ends no other call of its worker") {
  Fixture engine{1};
  engine.calls->deaf = true;
  const JobId job = engine.submit("a");
  const JobId other = engine.submit("b");
  engine.cancel(job);
  engine.end_call(job, std::nullopt);  // While it is being aborted: another abort ends it.
  CHECK(engine.state(job) == JobState::cancelled);
  engine.pass(milliseconds{10});
  REQUIRE(engine.call_of(other));
  CHECK(engine.call_of(other)->aborts.empty());
}

TEST_CASE("a provider that dies while it has no call is replaced, and the probe is told") {
  Fixture engine{1};
  engine.succeed(engine.submit("a"));
  const auto providers = engine.recorder->providers;
  CHECK(engine.recorder->restarts.empty());
  for (const auto& provider : providers) {
    caf::anon_send_exit(provider, caf::exit_reason::unhandled_exception);
  }
  engine.settle();
  CHECK(engine.recorder->restarts.size() == providers.size());
  CHECK(count_alive(engine.recorder->providers) == providers.size());
  const JobId job = engine.submit("b");
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
}

/// A job whose claim is about to be committed, 100 ms from now; the store is slow from here on.
JobId claim_slowly(Fixture& f) {
  auto request = f.request("a");
  request.delay = milliseconds{1000};
  const JobId id = f.submit(std::move(request));
  f.commit_delay = milliseconds{100};
  f.pass(milliseconds{1000});
  f.pass(milliseconds{100});  // Now the disk knows that it is due.
  return id;
}

TEST_CASE("a call that leaves doubts begins when it is on disk that its job runs") {
  Fixture f;
  f.settle_time = milliseconds{10'000};
  f.crash_and_restart();
  const JobId id = claim_slowly(f);
  REQUIRE(f.recorder->hand_outs.size() == 1);
  CHECK_FALSE(f.call_of(id));
  SECTION("so that it is not made again too early after a crash") {
    f.pass(milliseconds{100});
    REQUIRE(f.call_of(id));
    f.commit_delay = milliseconds{0};
    f.crash_and_restart();
    f.pass(milliseconds{9900});
    CHECK_FALSE(f.call_of(id));
    CHECK(f.stored(id)->interruptions == 1);
    f.pass(milliseconds{100});
    CHECK(f.call_of(id));
  }
  SECTION("and its time does not run before") {
    f.pass(milliseconds{100});
    f.pass(milliseconds{999});
    CHECK(f.call_of(id));
    f.pass(milliseconds{1});
    CHECK_FALSE(f.call_of(id));
  }
  SECTION("and a worker that is lost before costs neither an attempt nor a wait") {
    caf::anon_send_exit(f.recorder->workers.back(), caf::exit_reason::kill);
    f.commit_delay = milliseconds{0};
    f.pass(milliseconds{100});
    REQUIRE(f.recorder->attempts.size() == 1);
    CHECK(f.recorder->attempts[0].kind == AttemptEnd::Kind::handed_back);
    CHECK(f.call_of(id));
  }
}

TEST_CASE("a call that leaves no doubts waits for no commit") {
  Fixture f;
  const JobId id = claim_slowly(f);
  CHECK(f.call_of(id));
}

TEST_CASE("a jump of the wall clock neither fires nor loses a timeout") {
  Fixture engine{1};
  const JobId job = engine.submit("a");
  engine.wall += std::chrono::hours{48};
  engine.pass(milliseconds{500});
  CHECK(engine.call_of(job));
  engine.wall -= std::chrono::hours{96};
  engine.pass(milliseconds{499});
  CHECK(engine.call_of(job));
  engine.pass(milliseconds{1});
  CHECK_FALSE(engine.call_of(job));
}

TEST_CASE("a scheduled job takes its place in line when it is first due") {
  Fixture engine{1};
  auto later = engine.request("a");
  later.delay = milliseconds{5000};
  const JobId scheduled = engine.submit(std::move(later));
  CHECK(engine.state(scheduled) == JobState::scheduled);
  const JobId now = engine.submit("a");
  CHECK(engine.call_of(now));
  engine.succeed(now);
  for (int second = 0; second < 5; ++second) engine.pass(milliseconds{1000});
  REQUIRE(engine.call_of(scheduled));
  engine.succeed(scheduled);
  CHECK(engine.told_ended.count(scheduled) == 1);
}

TEST_CASE("a job that comes while others are given their places goes behind them") {
  Fixture f{4};
  const auto later = [&](const std::string& entity, milliseconds delay) {
    JobRequest request = f.request(entity);
    request.delay = delay;
    return f.submit(std::move(request));
  };
  const auto in_steps_of = [&](milliseconds step) {
    for (int i = 0; i < 10; ++i) f.pass(step);
  };
  later("other", milliseconds{50});
  const JobId first = later("zone", milliseconds{120});
  f.commit_delay = milliseconds{100};
  f.pass(milliseconds{60});  // The store is asked to give the other one its place.
  f.pass(milliseconds{70});
  caf::anon_send(f.engine(), SubmitJob{f.request("zone")});
  in_steps_of(milliseconds{50});
  CHECK(f.recorder->submissions.size() == 3);
  REQUIRE(f.call_of(first));
  f.succeed(first);
  in_steps_of(milliseconds{50});
  CHECK(f.state(first) == JobState::succeeded);
  CHECK(f.recorder->hand_outs.size() == 3);
}

TEST_CASE("a job that expires while it waits fails, and lets its line go on") {
  Fixture engine{1};
  const JobId blocker = engine.submit("x");
  auto hurried = engine.request("a");
  hurried.expires_at = engine.wall + milliseconds{500};
  const JobId expiring = engine.submit(std::move(hurried));
  const JobId follower = engine.submit("a");
  engine.pass(milliseconds{600});
  CHECK(engine.state(expiring) == JobState::failed);
  CHECK(engine.stored(expiring)->error->code == "expired");
  engine.succeed(blocker);
  CHECK(engine.call_of(follower));
}

TEST_CASE("a call that comes after its end was confirmed is not made") {
  Fixture engine;
  int calls = 0;
  ServiceEntry entry;
  entry.start_provider = [&calls](caf::actor_system& system) -> Provider {
    const auto counting = [](Provider::pointer, int* count) -> Provider::behavior_type {
      return {[count](const StartCall& call) {
                *count += 1;
                return CallEnded{call.lease, {}};
              },
              [](const AbortCall& call) { return CallAborted{call.lease}; }};
    };
    return system.spawn(counting, &calls);
  };
  const auto client = spawn_service_client(engine.system(), "dns", entry, engine.recorder);
  const auto failed = [](const caf::error&) { FAIL("no answer"); };
  const Lease late{1, 7};
  auto aborted = engine.self()->request(client, caf::infinite, AbortCall{late});
  engine.settle();
  aborted.receive([&](const CallAborted& answer) { CHECK(answer.lease == late); }, failed);
  for (const Lease& lease : {late, Lease{1, 8}}) {
    auto ended = engine.self()->request(client, caf::infinite,
                                        StartCall{lease, nullptr, milliseconds{1000}});
    engine.settle();
    ended.receive(
        [&](const CallEnded& answer) {
          CHECK((answer.outcome.kind == CallOutcome::Kind::aborted) == (lease == late));
        },
        failed);
  }
  CHECK(calls == 1);
  caf::anon_send_exit(client, caf::exit_reason::user_shutdown);
  engine.settle();
}

TEST_CASE("a job that expired before it was posted is never called for") {
  Fixture engine{1};
  auto request = engine.request("a");
  request.expires_at = engine.wall - milliseconds{1};
  const JobId job = engine.submit(std::move(request));
  engine.pass(milliseconds{1000});
  CHECK(engine.recorder->hand_outs.empty());
  CHECK(engine.state(job) == JobState::failed);
  CHECK(engine.stored(job)->error->code == "expired");
  CHECK(engine.cell().queue.counts.unfinished() == 0);
}

TEST_CASE("a job that is in doubt since the store failed is not handed out") {
  Fixture engine{1};
  engine.set_state(CellState::paused);
  const JobId job = engine.submit("a");
  engine.store_fails = true;
  caf::anon_send(engine.engine(), CancelJob{engine.stored(job)});
  engine.settle();
  const auto dispatcher = caf::actor_cast<JobDispatcher>(engine.recorder->dispatchers.back());
  caf::anon_send(dispatcher, SetCellState{CellState::active});
  engine.settle();
  CHECK_FALSE(engine.call_of(job));
}
