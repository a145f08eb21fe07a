// Requests of clients: idempotency keys, cancelling, reopening.
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

namespace {

JobRequest keyed(Fixture& engine, const std::string& entity, const std::string& digest = "d") {
  auto request = engine.request(entity);
  request.idempotency = Idempotency{"key", digest};
  return request;
}

/// Lets the job fail for good.
void reject(Fixture& engine, JobId id) {
  engine.end_call(id, outcome(CallOutcome::Kind::rejected, "provider_rejected"));
}

}  // namespace

// --- Idempotency keys ----------------------------------------------------------------------------

TEST_CASE("a request with a used key gets the existing job") {
  Fixture engine;
  const auto first = engine.try_to_submit(keyed(engine, "a"));
  CHECK_FALSE(first.replayed);
  engine.succeed(first.job->id);
  const auto again = engine.try_to_submit(keyed(engine, "a"));
  CHECK(again.replayed);
  CHECK(again.job->id == first.job->id);
  CHECK(again.job->state == JobState::succeeded);
  const auto other = engine.try_to_submit(keyed(engine, "b", "other"));
  REQUIRE(other.refusal);
  CHECK(other.refusal->kind == Refusal::Kind::key_reused);
  CHECK(engine.disk->jobs().size() == 1);
  CHECK(engine.cell().queue.counts.unfinished() == 0);
  CHECK(engine.cell().queue.submitted_per_s == 0.1);  // One job in ten seconds.
}

TEST_CASE("of several requests with one key at once, one creates the job") {
  Fixture engine;
  auto first =
      engine.self()->request(engine.engine(), caf::infinite, SubmitJob{keyed(engine, "a")});
  auto second =
      engine.self()->request(engine.engine(), caf::infinite, SubmitJob{keyed(engine, "a")});
  engine.run_all();
  int replayed = 0;
  const auto count = [&](const JobSubmitted& submitted) {
    REQUIRE(submitted.job);
    replayed += submitted.replayed ? 1 : 0;
  };
  first.receive(count, [](const caf::error&) { FAIL("no answer"); });
  second.receive(count, [](const caf::error&) { FAIL("no answer"); });
  CHECK(replayed == 1);
  CHECK(engine.disk->jobs().size() == 1);
  CHECK(engine.cell().queue.counts.unfinished() == 1);
}

TEST_CASE("a used key is answered even if the queue is full") {
  Fixture engine;
  engine.limit_jobs(1);
  engine.crash_and_restart();
  const auto first = engine.try_to_submit(keyed(engine, "a"));
  CHECK(engine.try_to_submit(keyed(engine, "a")).job->id == first.job->id);
  CHECK(engine.try_to_submit(keyed(engine, "a", "other")).refusal->kind ==
        Refusal::Kind::key_reused);
  CHECK(engine.try_to_submit(engine.request("b")).refusal->kind == Refusal::Kind::queue_full);
  CHECK(engine.cell().queue.submitted_per_s == 0.1);
}

TEST_CASE("once a job of a batch finds no room, no later job of the batch is accepted") {
  Fixture engine;
  engine.limit_jobs(2);
  engine.crash_and_restart();
  const auto gate = std::make_shared<BatchGate>();
  const auto of_batch = [&](const std::string& entity, const char* key = nullptr) {
    auto request = engine.request(entity);
    request.batch = 7;
    request.gate = gate;
    if (key) request.idempotency = Idempotency{key, "d"};
    return engine.try_to_submit(std::move(request));
  };
  const auto first = of_batch("a", "key");
  CHECK(first.job->batch == 7);
  engine.submit("b");
  CHECK(of_batch("c").refusal->kind == Refusal::Kind::queue_full);
  CHECK(gate->is_closed());
  engine.succeed(first.job->id);
  const auto later = of_batch("d");
  CHECK_FALSE(later.job);
  CHECK_FALSE(later.refusal);
  CHECK_FALSE(of_batch("e", "other key").job);
  CHECK(engine.try_to_submit(engine.request("f")).job);
}

TEST_CASE("a batch that is sent again skips the jobs that it made before, and ends behind them") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    INFO("seed " << seed);
    Fixture engine;
    engine.limit_jobs(3);
    engine.crash_and_restart();
    const auto gate = std::make_shared<BatchGate>();
    const auto line = [&](int number) {
      auto request = engine.request(std::to_string(number));
      request.batch = 7;
      request.idempotency = Idempotency{std::to_string(number), "d"};
      return request;
    };
    for (const int number : {1, 2, 3}) engine.try_to_submit(line(number));
    for (const int number : {1, 2, 3, 4, 5, 6}) {
      auto request = line(number);
      request.gate = gate;
      engine.self()->send(engine.engine(), SubmitJob{std::move(request)});
    }
    if (seed % 2 == 1) {  // There is room again, at some moment.
      const auto& call = engine.calls->pending[0];
      caf::anon_send(call.provider,
                     EndCall{call.call.lease, outcome(CallOutcome::Kind::succeeded)});
    }
    engine.run_all_in_any_order(seed);
    std::set<std::string> made;
    std::size_t replayed = 0;
    while (engine.self()->has_next_message()) {
      engine.self()->receive([&](const JobSubmitted& answer) {
        if (answer.replayed) ++replayed;
        if (answer.job && !answer.replayed) made.insert(answer.job->spec->entity.id);
      });
    }
    CHECK(replayed == 3);
    const bool in_order = made.empty() || made == std::set<std::string>{"4"};
    CHECK(in_order);
    CHECK(gate->is_closed());
  }
}

TEST_CASE("a batch ends at a job for which there can be no further cell") {
  Fixture engine{1, true};
  engine.limit_instances(1);
  engine.crash_and_restart();
  const auto gate = std::make_shared<BatchGate>();
  const auto of_batch = [&](const std::string& customer, const std::string& entity) {
    auto request = engine.request(entity);
    request.spec.customer = customer;
    request.batch = 7;
    request.gate = gate;
    return engine.try_to_submit(std::move(request));
  };
  CHECK(of_batch("acme", "a").job);
  CHECK(of_batch("bolt", "b").refusal->kind == Refusal::Kind::too_many_cells);
  CHECK(gate->is_closed());
  CHECK_FALSE(of_batch("acme", "c").job);
}

TEST_CASE("a job that is refused for good does not end its batch") {
  Fixture engine;
  engine.try_to_submit(keyed(engine, "a"));
  auto request = keyed(engine, "b", "other");
  request.gate = std::make_shared<BatchGate>();
  const auto gate = request.gate;
  CHECK(engine.try_to_submit(std::move(request)).refusal->kind == Refusal::Kind::key_reused);
  CHECK_FALSE(gate->is_closed());
}

TEST_CASE("a refusal is not remembered under its key") {
  Fixture engine;
  engine.limit_jobs(1);
  engine.crash_and_restart();
  const JobId blocking = engine.submit("a");
  CHECK(engine.try_to_submit(keyed(engine, "b")).refusal->kind == Refusal::Kind::queue_full);
  engine.succeed(blocking);
  CHECK_FALSE(engine.try_to_submit(keyed(engine, "b")).replayed);
}

TEST_CASE("a replay-only request creates no job, and gets the job of a used key") {
  Fixture engine;
  const auto replay = [&engine](const JobRequest& request) {
    return engine.try_to_submit(request, true);
  };
  const auto unknown = replay(keyed(engine, "a"));
  CHECK_FALSE(unknown.job);
  CHECK_FALSE(unknown.refusal);
  CHECK(engine.disk->jobs().empty());
  CHECK(engine.recorder->refusals.empty());
  const auto first = engine.try_to_submit(keyed(engine, "a"));
  CHECK_FALSE(first.replayed);
  const auto again = replay(keyed(engine, "a"));
  CHECK(again.replayed);
  CHECK(again.job->id == first.job->id);
  CHECK(replay(keyed(engine, "b", "other")).refusal->kind == Refusal::Kind::key_reused);
  CHECK(engine.recorder->refusals.size() == 1);
}

TEST_CASE("the refusal of a used key names the cell, even to a request for a replay alone") {
  const bool only_replay = GENERATE(false, true);
  Fixture engine{1, true};
  REQUIRE(engine.try_to_submit(keyed(engine, "a")).job);
  const auto refused = engine.try_to_submit(keyed(engine, "b", "other"), only_replay);
  REQUIRE(refused.refusal);
  CHECK(refused.refusal->cell == CellKey{"acme", "*"});
}

// --- Cancelling ----------------------------------------------------------------------------------

TEST_CASE("a queued job is cancelled at once, and its line moves on") {
  Fixture engine{2};
  const JobId running = engine.submit("other");
  const JobId blocking = engine.submit("another");
  const JobId queued = engine.submit("a");
  const JobId follower = engine.submit("a");
  const auto answer = engine.cancel(queued);
  CHECK(answer.accepted);
  CHECK(answer.job->state == JobState::cancelled);
  CHECK(answer.job->error->code == "cancelled");
  CHECK(engine.state(queued) == JobState::cancelled);
  CHECK(engine.reported_ended.contains(queued));
  CHECK(engine.cell().queue.submitted_per_s == 0.4);
  CHECK(engine.cell().queue.finished_per_s == 0.1);
  engine.succeed(running);
  CHECK(engine.call_of(follower));
  engine.succeed(blocking);
  engine.succeed(follower);
  CHECK(engine.cell().queue.counts.unfinished() == 0);
  CHECK_FALSE(engine.cancel(queued).accepted);
}

TEST_CASE("a scheduled job is cancelled and never runs") {
  Fixture engine;
  auto request = engine.request("a");
  request.delay = milliseconds{500};
  const JobId job = engine.submit(std::move(request));
  CHECK(engine.cancel(job).accepted);
  engine.pass(milliseconds{10'000});
  CHECK(engine.calls->pending.empty());
  CHECK(engine.state(job) == JobState::cancelled);
}

TEST_CASE("a job cancelled while it waits for its next attempt makes none") {
  Fixture engine;
  const JobId job = engine.submit("a");
  engine.end_call(job, outcome(CallOutcome::Kind::retryable, "provider_error"));
  CHECK(engine.cancel(job).accepted);
  engine.pass(milliseconds{10'000});
  CHECK(engine.calls->pending.empty());
  CHECK(engine.stored(job)->steps[0].state == StepState::failed);
}

TEST_CASE("a running job is marked, aborted and then cancelled") {
  Fixture engine;
  engine.calls->ignores_aborts = true;
  const JobId job = engine.submit("a");
  const auto answer = engine.cancel(job);
  CHECK(answer.accepted);
  CHECK(answer.job->cancel_requested);
  CHECK(engine.state(job) == JobState::running);
  CHECK(engine.reported.size() == 3);  // Queued, running, and marked.
  CHECK(engine.cancel(job).accepted);
  engine.end_call(job, outcome(CallOutcome::Kind::aborted));
  CHECK(engine.state(job) == JobState::cancelled);
  CHECK(engine.stored(job)->messages.empty());
  CHECK_FALSE(engine.cancel(job).accepted);
}

TEST_CASE("a success that arrives after the cancellation is recorded at its step") {
  Fixture engine;
  engine.calls->ignores_aborts = true;
  const JobId job = engine.submit(engine.request("a", {"dns", "billing"}));
  engine.cancel(job);
  auto done = outcome(CallOutcome::Kind::succeeded);
  done.properties["zone"] = "7";
  engine.end_call(job, done);
  CHECK(engine.state(job) == JobState::cancelled);
  CHECK(engine.stored(job)->steps[0].state == StepState::succeeded);
  CHECK(engine.stored(job)->steps[1].state == StepState::skipped);
  CHECK(engine.stored(job)->properties.at("zone") == "7");
  CHECK(engine.calls->pending.empty());
}

TEST_CASE("a cancellation survives a crash") {
  Fixture engine;
  engine.calls->ignores_aborts = true;
  const JobId job = engine.submit("a");
  engine.cancel(job);
  REQUIRE(engine.state(job) == JobState::running);
  engine.crash_and_restart();
  CHECK(engine.state(job) == JobState::cancelled);
  CHECK(engine.calls->pending.empty());
}

TEST_CASE("a job that ends while it is being cancelled has ended") {
  Fixture engine;
  const JobId job = engine.submit("a");
  const auto recent = engine.stored(job);
  const PendingCall& call = *engine.call_of(job);
  caf::anon_send(call.provider, EndCall{call.call.lease, outcome(CallOutcome::Kind::succeeded)});
  // The provider, the service client and the worker run; the dispatcher is next.
  for (int step = 0; step < 3; ++step) REQUIRE(engine.scheduler().try_run_once());
  auto pending = engine.self()->request(engine.engine(), caf::infinite, CancelJob{recent});
  engine.run_all();
  CancelAnswered answer;
  pending.receive([&](const CancelAnswered& received) { answer = received; },
                  [](const caf::error&) { FAIL("no answer"); });
  CHECK(is_ended(answer.job->state));
  CHECK(answer.job->state == engine.state(job));
  CHECK(answer.accepted == (engine.state(job) == JobState::cancelled));
}

TEST_CASE("a job between two steps is cancelled before the second") {
  Fixture engine;
  const JobId job = engine.submit(engine.request("a", {"dns", "billing"}));
  const JobId next = engine.submit("b");
  engine.succeed(job);  // Now either the other job runs, or the second step.
  const bool between = engine.state(job) == JobState::queued;
  CHECK(engine.cancel(job).accepted);
  if (!between) engine.end_call(job, outcome(CallOutcome::Kind::aborted));
  CHECK(engine.state(job) == JobState::cancelled);
  engine.succeed(next);
  CHECK(engine.cell().queue.counts.unfinished() == 0);
}

TEST_CASE("a job of a removed cell can be cancelled") {
  Fixture engine;
  const JobId running = engine.submit("a");
  const JobId queued = engine.submit("b");
  engine.configure({});
  engine.crash_and_restart();
  CHECK(engine.cancel(queued).job->state == JobState::cancelled);
  CHECK(engine.cancel(running).job->state == JobState::cancelled);
  CHECK(engine.reported_ended.contains(running));
  CHECK_FALSE(engine.cancel(running).accepted);
}

TEST_CASE("a job between two cells is cancelled, and its line moves on") {
  Fixture engine;
  engine.set_state(CellState::paused);
  const JobId job = engine.submit("a");
  const auto dispatcher = caf::actor_cast<JobDispatcher>(engine.recorder->dispatchers.back());
  caf::anon_send(dispatcher, ReleaseJobs{"acme", "dns"});
  engine.run_all();
  REQUIRE(engine.stored(job)->cell == between_cells);
  engine.set_state(CellState::active);
  const JobId follower = engine.submit("a");
  REQUIRE_FALSE(engine.call_of(follower));
  CHECK(engine.cancel(job).accepted);
  CHECK(engine.state(job) == JobState::cancelled);
  CHECK(engine.reported_ended.contains(job));
  CHECK(engine.call_of(follower));
}

// --- Reopening -----------------------------------------------------------------------------------

TEST_CASE("a reopened job resumes at its first unfinished step") {
  Fixture engine;
  const JobId job = engine.submit(engine.request("a", {"dns", "billing"}));
  engine.succeed(job);
  reject(engine, job);
  REQUIRE(engine.state(job) == JobState::failed);
  const auto answer = engine.reopen(job);
  CHECK(answer.accepted);
  CHECK(answer.job->state == JobState::queued);
  CHECK_FALSE(answer.job->error);
  REQUIRE(engine.call_of(job));
  CHECK(engine.call_of(job)->call.job->step == 1);
  CHECK(engine.call_of(job)->call.job->steps[1].attempts == 1);
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("a reopened job goes to the end of its entity's line") {
  Fixture engine{4};
  const JobId failed = engine.submit("a");
  const JobId second = engine.submit("a");
  const JobId third = engine.submit("a");
  reject(engine, failed);
  engine.reopen(failed);
  engine.succeed(second);
  CHECK_FALSE(engine.call_of(failed));
  engine.succeed(third);
  CHECK(engine.call_of(failed));
}

TEST_CASE("only failed and cancelled jobs are reopened") {
  Fixture engine;
  const JobId job = engine.submit("a");
  CHECK_FALSE(engine.reopen(job).accepted);
  engine.succeed(job);
  const auto answer = engine.reopen(job);
  CHECK_FALSE(answer.accepted);
  CHECK(answer.job->state == JobState::succeeded);
}

TEST_CASE("of two requests to reopen a job at once, one succeeds") {
  Fixture engine;
  const JobId job = engine.submit("a");
  reject(engine, job);
  const auto failed = engine.stored(job);
  auto first = engine.self()->request(engine.engine(), caf::infinite, ReopenJob{failed});
  auto second = engine.self()->request(engine.engine(), caf::infinite, ReopenJob{failed});
  engine.run_all();
  int accepted = 0;
  const auto count = [&](const ReopenAnswered& answer) { accepted += answer.accepted ? 1 : 0; };
  first.receive(count, [](const caf::error&) { FAIL("no answer"); });
  second.receive(count, [](const caf::error&) { FAIL("no answer"); });
  CHECK(accepted == 1);
  CHECK(engine.cell().queue.counts.unfinished() == 1);
  engine.succeed(job);
  CHECK(engine.cell().queue.counts.unfinished() == 0);
}

TEST_CASE("a reopened job counts against the queue limit") {
  Fixture engine;
  engine.limit_jobs(1);
  engine.crash_and_restart();
  const JobId job = engine.submit("a");
  reject(engine, job);
  engine.submit("b");
  CHECK(engine.reopen(job).refusal->kind == Refusal::Kind::queue_full);
  CHECK(engine.recorder->refusals == std::vector{Refusal::Kind::queue_full});
  CHECK(engine.recorder->refused_customers == std::vector<std::string>{"acme"});
  CHECK(engine.state(job) == JobState::failed);
}

TEST_CASE("a job cancelled after its last success has succeeded once it is reopened") {
  Fixture engine;
  engine.calls->ignores_aborts = true;
  const JobId job = engine.submit("a");
  engine.cancel(job);
  engine.succeed(job);
  REQUIRE(engine.state(job) == JobState::cancelled);
  CHECK(engine.reopen(job).job->state == JobState::succeeded);
  CHECK(engine.calls->pending.empty());
  CHECK(engine.cell().queue.counts.unfinished() == 0);
}
