// Workers outside the daemon, and the leases that they have.
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

namespace {

JobRequest pulled(Fixture& engine, const std::string& entity,
                  const std::string& customer = "acme") {
  auto request = engine.request(entity, {"vm"});
  request.spec.customer = customer;
  return request;
}

const CallOutcome success = outcome(CallOutcome::Kind::succeeded);

std::vector<JobId> jobs_of(const std::vector<LeaseOut>& leases) {
  std::vector<JobId> jobs;
  for (const auto& lease : leases) jobs.push_back(lease.job->id);
  return jobs;
}

using Ids = std::vector<JobId>;

}  // namespace

TEST_CASE("a job of a pull service waits until a worker leases it") {
  Fixture engine{2};
  const JobId job = engine.submit(pulled(engine, "a"));
  CHECK(engine.state(job) == JobState::queued);
  CHECK(engine.cell().pool.busy == 0);
  const auto leases = engine.lease("host-1");
  REQUIRE(jobs_of(leases) == Ids{job});
  CHECK(engine.state(job) == JobState::running);
  CHECK(engine.stored(job)->lease == leases[0].job->lease);
  CHECK(engine.stored(job)->steps[0].worker == "host-1");
  CHECK(engine.stored(job)->steps[0].attempts == 1);
  CHECK(engine.cell().pool.busy == 1);
  CHECK(engine.cell().queue.counts[JobState::running] == 1);
  CHECK(engine.lease("host-2").empty());
  CHECK(engine.end_lease(leases[0].job->lease, success));
  CHECK(engine.state(job) == JobState::succeeded);
  CHECK(engine.stored(job)->steps[0].worker.empty());
  CHECK(engine.stored(job)->steps[0].report == StepReport{leases[0].job->lease, true});
  CHECK(engine.cell().pool.busy == 0);
  CHECK(engine.leases_out().empty());
}

TEST_CASE("a lease is on disk before it is answered") {
  Fixture engine{1};
  engine.commit_delay = milliseconds{20};
  caf::anon_send(engine.engine(), SubmitJob{pulled(engine, "a")});
  engine.pass(milliseconds{20});
  engine.wait_for_lease("host-1");
  CHECK(engine.granted().empty());
  engine.pass(milliseconds{20});
  const auto leases = engine.granted();
  REQUIRE(leases.size() == 1);
  CHECK(engine.state(leases[0].job->id) == JobState::running);
  // The timeout counts from the answer.
  CHECK(leases[0].deadline - SteadyTime{} >= milliseconds{1020});
}

TEST_CASE("a worker that asks for several jobs gets them all with one commit") {
  Fixture engine{3};
  Ids jobs;
  for (const auto* entity : {"a", "b", "c"}) jobs.push_back(engine.submit(pulled(engine, entity)));
  engine.commit_delay = milliseconds{20};
  engine.wait_for_lease("host-1", 3);
  engine.pass(milliseconds{20});
  CHECK(jobs_of(engine.granted()) == jobs);
}

TEST_CASE("a worker that waits is woken by a job, and one worker alone") {
  Fixture engine{4};
  engine.wait_for_lease("host-1");
  engine.wait_for_lease("host-2");
  const JobId first = engine.submit(pulled(engine, "a"));
  const auto leases = engine.granted();
  REQUIRE(jobs_of(leases) == Ids{first});
  CHECK(leases[0].job->steps[0].worker == "host-1");
  const JobId second = engine.submit(pulled(engine, "b"));
  CHECK(jobs_of(engine.granted()) == Ids{second});
  CHECK(engine.leases_out().size() == 2);
}

TEST_CASE("a request that is withdrawn gets no lease") {
  Fixture engine{1};
  const auto request = engine.wait_for_lease("host-1");
  engine.withdraw(request);
  const JobId job = engine.submit(pulled(engine, "a"));
  CHECK(engine.granted().empty());
  CHECK(engine.state(job) == JobState::queued);
  CHECK(jobs_of(engine.lease("host-2")) == Ids{job});
}

TEST_CASE("workers inside and outside share the slots of the cell") {
  Fixture engine{2};
  const JobId inside = engine.submit("inside");
  const JobId first = engine.submit(pulled(engine, "a"));
  const JobId second = engine.submit(pulled(engine, "b"));
  REQUIRE(engine.call_of(inside));
  const auto leases = engine.lease("host-1", 10);
  REQUIRE(jobs_of(leases) == Ids{first});
  CHECK(engine.cell().pool.ready == 0);
  const JobId waiting = engine.submit("waiting");
  CHECK_FALSE(engine.call_of(waiting));
  CHECK(engine.end_lease(leases[0].job->lease, success));
  CHECK(engine.call_of(waiting));
  CHECK(engine.lease("host-1").empty());
  engine.succeed(inside);
  CHECK(jobs_of(engine.lease("host-1")) == Ids{second});
  CHECK(engine.recorder->most_running == 2);
}

TEST_CASE("a shrink interrupts no lease and grants none beyond the new size") {
  Fixture engine{3};
  CHECK(engine.service("vm").waiting == 0);
  for (const auto* entity : {"a", "b", "c", "d"}) engine.submit(pulled(engine, entity));
  CHECK(engine.service("vm").waiting == 4);
  const auto leases = engine.lease("host-1", 10);
  REQUIRE(leases.size() == 3);
  CHECK(engine.service("vm").waiting == 1);
  engine.resize(1);
  CHECK(engine.end_lease(leases[0].job->lease, success));
  CHECK(engine.end_lease(leases[1].job->lease, success));
  CHECK(engine.lease("host-1").empty());
  CHECK(engine.end_lease(leases[2].job->lease, success));
  CHECK(engine.lease("host-1").size() == 1);
}

TEST_CASE("a waiting worker gets a slot as soon as one is free") {
  Fixture engine{1};
  const JobId inside = engine.submit("inside");
  const JobId job = engine.submit(pulled(engine, "a"));
  engine.wait_for_lease("host-1");
  CHECK(engine.granted().empty());
  engine.succeed(inside);
  CHECK(jobs_of(engine.granted()) == Ids{job});
}

TEST_CASE("a slot that no worker takes any more goes back to the workers inside") {
  Fixture engine{1};
  const JobId first = engine.submit("first");
  engine.submit(pulled(engine, "a"));
  const auto request = engine.wait_for_lease("host-1");
  engine.withdraw(request);
  engine.succeed(first);
  const JobId second = engine.submit("second");
  CHECK(engine.call_of(second));
}

TEST_CASE("leases and calls take turns by customer") {
  Fixture engine{1};
  const auto of = [&](const std::string& customer, const std::string& entity) {
    auto request = engine.request(entity);
    request.spec.customer = customer;
    return engine.submit(std::move(request));
  };
  const JobId first = of("flood", "x");
  for (int n = 0; n < 20; ++n) {
    const auto entity = std::to_string(n);
    engine.submit(pulled(engine, "pulled " + entity, "flood"));
    of("flood", "flood " + entity);
    of("quiet", "quiet " + entity);
  }
  for (int n = 0; n < 30; ++n) engine.wait_for_lease("host-1");
  engine.pass(milliseconds{100});
  engine.succeed(first);
  std::size_t of_quiet = 0;
  for (int turn = 0; turn < 20; ++turn) {
    engine.pass(milliseconds{100});
    const auto leases = engine.granted();
    if (!leases.empty()) {
      REQUIRE(engine.calls->pending.empty());
      CHECK(engine.end_lease(leases[0].job->lease, success));
      continue;
    }
    REQUIRE(engine.calls->pending.size() == 1);
    const JobPtr job = engine.calls->pending[0].call.job;
    if (job->spec->customer == "quiet") ++of_quiet;
    engine.succeed(job->id);
  }
  CHECK(of_quiet >= 9);
  CHECK(of_quiet <= 11);
}

TEST_CASE("a lease outlasts its timeout only by heartbeats") {
  Fixture engine{1};
  const JobId job = engine.submit(pulled(engine, "a"));
  const Lease lease = engine.lease("host-1")[0].job->lease;
  engine.pass(milliseconds{900});
  const auto extended = engine.extend(lease, 0.5, "halfway");
  REQUIRE(extended.lease);
  CHECK_FALSE(extended.cancel);
  CHECK(engine.leases_out().at(0).deadline == extended.lease->deadline);
  CHECK(engine.stored(job)->steps[0].progress == 0.5);
  CHECK(engine.stored(job)->messages.back().text == "halfway");
  CHECK(engine.stored(job)->messages.back().service == "vm");
  engine.pass(milliseconds{900});
  CHECK(engine.state(job) == JobState::running);
  engine.pass(milliseconds{101});
  CHECK(engine.state(job) == JobState::retrying);
  CHECK(engine.stored(job)->messages.back().text ==
        "the worker host-1 sent neither a heartbeat nor a report for 1000 ms");
  CHECK_FALSE(engine.extend(lease).lease);
  CHECK_FALSE(engine.end_lease(lease, success));
  CHECK(engine.leases_out().empty());
  engine.pass(milliseconds{1000});
  const auto again = engine.lease("host-2");
  REQUIRE(jobs_of(again) == Ids{job});
  CHECK(again[0].job->steps[0].attempts == 2);
  CHECK_FALSE(again[0].job->steps[0].progress);
  CHECK_FALSE(engine.end_lease(lease, success));
  CHECK(engine.end_lease(again[0].job->lease, success));
  CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("the last of several reports of progress is kept, although they came in one commit") {
  Fixture engine{1};
  const JobId job = engine.submit(pulled(engine, "a"));
  const Lease lease = engine.lease("host-1")[0].job->lease;
  engine.commit_delay = milliseconds{20};
  for (int percent = 10; percent <= 30; percent += 10) {
    REQUIRE(engine.extend(lease, percent / 100.0, std::to_string(percent)).lease);
  }
  for (int commit = 0; commit < 3; ++commit) engine.pass(milliseconds{20});
  CHECK(engine.stored(job)->steps[0].progress == 0.3);
  CHECK(engine.stored(job)->messages.back().text == "30");
}

TEST_CASE("progress that a worker reports is announced") {
  Fixture engine{1};
  const JobId job = engine.submit(pulled(engine, "a"));
  const Lease lease = engine.lease("host-1")[0].job->lease;
  const auto before = engine.reported.size();
  REQUIRE(engine.extend(lease, 0.5).lease);
  REQUIRE(engine.reported.size() == before + 1);
  CHECK(engine.reported.back() == std::pair{job, JobState::running});
}

TEST_CASE("a heartbeat may bring a message without progress") {
  Fixture engine{1};
  const JobId job = engine.submit(pulled(engine, "a"));
  const Lease lease = engine.lease("host-1").at(0).job->lease;
  REQUIRE(engine.extend(lease, {}, "cloning").lease);
  REQUIRE(engine.stored(job)->messages.size() == 1);
  CHECK(engine.stored(job)->messages[0].text == "cloning");
  CHECK_FALSE(engine.stored(job)->steps[0].progress);
}

TEST_CASE("a lease never outlasts its job's expiry") {
  Fixture engine{1};
  auto request = pulled(engine, "a");
  request.expires_at = engine.wall + milliseconds{600};
  const JobId job = engine.submit(std::move(request));
  const auto leases = engine.lease("host-1");
  engine.pass(milliseconds{500});
  const auto extended = engine.extend(leases[0].job->lease);
  REQUIRE(extended.lease);
  CHECK(extended.lease->deadline == leases[0].deadline);
  engine.pass(milliseconds{100});
  CHECK(engine.state(job) == JobState::failed);
  CHECK(engine.stored(job)->error->code == "expired");
}

TEST_CASE("a failure that a worker reports is retried, or is final") {
  Fixture engine{2};
  const JobId a = engine.submit(pulled(engine, "a"));
  const JobId b = engine.submit(pulled(engine, "b"));
  const auto leases = engine.lease("host-1", 2);
  REQUIRE(jobs_of(leases) == Ids{a, b});
  auto retryable = outcome(CallOutcome::Kind::retryable, "disk_full");
  retryable.retry_after = milliseconds{5000};
  retryable.messages.push_back({WallTime{}, Severity::warning, "", "no space is left"});
  CHECK(engine.end_lease(leases[0].job->lease, retryable));
  const Message reported{engine.wall, Severity::warning, "vm", "no space is left"};
  CHECK(engine.end_lease(leases[1].job->lease, outcome(CallOutcome::Kind::rejected, "no_such_os")));
  CHECK(engine.state(a) == JobState::retrying);
  CHECK(engine.stored(a)->steps[0].report == StepReport{leases[0].job->lease, false});
  REQUIRE_FALSE(engine.stored(a)->messages.empty());
  CHECK(engine.stored(a)->messages[0] == reported);
  CHECK(engine.state(b) == JobState::failed);
  CHECK(engine.stored(b)->error->code == "no_such_os");
  engine.pass(milliseconds{4999});
  CHECK(engine.lease("host-1").empty());
  engine.pass(milliseconds{1});
  CHECK(jobs_of(engine.lease("host-1")) == Ids{a});
}

TEST_CASE("a worker is asked to give up a job that is cancelled") {
  Fixture engine{1};
  const JobId job = engine.submit(pulled(engine, "a"));
  const auto leases = engine.lease("host-1");
  const Lease lease = leases[0].job->lease;
  engine.pass(milliseconds{500});
  CHECK(engine.cancel(job).accepted);
  CHECK(engine.state(job) == JobState::running);
  const auto extended = engine.extend(lease);
  CHECK(extended.cancel);
  CHECK(extended.lease->deadline == leases[0].deadline);
  SECTION("it gives up") {
    CHECK(engine.end_lease(lease, outcome(CallOutcome::Kind::retryable, "gave_up")));
    CHECK(engine.state(job) == JobState::cancelled);
  }
  SECTION("it has succeeded") {
    CHECK(engine.end_lease(lease, success));
    CHECK(engine.state(job) == JobState::cancelled);
    CHECK(engine.stored(job)->steps[0].state == StepState::succeeded);
  }
  SECTION("it goes on until the deadline") {
    engine.pass(milliseconds{499});
    CHECK(engine.state(job) == JobState::running);
    engine.pass(milliseconds{1});
    CHECK(engine.state(job) == JobState::cancelled);
    CHECK_FALSE(engine.end_lease(lease, success));
    REQUIRE(engine.recorder->attempts.size() == 1);
    CHECK(engine.recorder->attempts[0].cause == AbortCause::cancel);
    CHECK(engine.stored(job)->messages.empty());
  }
  SECTION("it hears of that after a restart, too, and goes on until the deadline") {
    engine.crash_and_restart();
    engine.pass(milliseconds{500});
    CHECK(engine.extend(lease).cancel);
    engine.pass(milliseconds{500});
    CHECK(engine.state(job) == JobState::cancelled);
  }
}

TEST_CASE("a job that is cancelled before its lease is on disk is not leased") {
  Fixture engine{1};
  const JobId job = engine.submit(pulled(engine, "a"));
  engine.commit_delay = milliseconds{20};
  engine.wait_for_lease("host-1");
  caf::anon_send(engine.engine(), CancelJob{engine.stored(job)});
  for (int commit = 0; commit < 3; ++commit) engine.pass(milliseconds{20});
  CHECK(engine.granted().empty());
  CHECK(engine.state(job) == JobState::cancelled);
}

TEST_CASE("a lease that no worker received goes back, the attempt not counted") {
  Fixture engine{1};
  engine.settle_time = milliseconds{5000};
  engine.crash_and_restart();
  const JobId job = engine.submit(pulled(engine, "a"));
  const auto leases = engine.lease("host-1");
  engine.give_back(leases[0].job->lease);
  CHECK(engine.state(job) == JobState::queued);
  CHECK(engine.stored(job)->steps[0].attempts == 0);
  CHECK_FALSE(engine.end_lease(leases[0].job->lease, success));
  const auto again = engine.lease("host-2");
  REQUIRE(jobs_of(again) == Ids{job});
  CHECK(again[0].job->steps[0].attempts == 1);
}

TEST_CASE("a lease survives a crash, with one fresh timeout") {
  Fixture engine{1};
  const JobId job = engine.submit(pulled(engine, "a"));
  const JobId next = engine.submit(pulled(engine, "b"));
  const Lease lease = engine.lease("host-1")[0].job->lease;
  engine.pass(milliseconds{900});
  engine.crash_and_restart();
  engine.pass(milliseconds{999});
  CHECK(engine.state(job) == JobState::running);
  CHECK(engine.cell().pool.busy == 1);
  CHECK(engine.lease("host-2").empty());
  const auto out = engine.leases_out();
  REQUIRE(jobs_of(out) == Ids{job});
  CHECK(out[0].job->steps[0].worker == "host-1");
  CHECK(engine.extend(lease).lease);
  SECTION("its worker reports") {
    CHECK(engine.end_lease(lease, success));
    CHECK(engine.state(job) == JobState::succeeded);
    CHECK(engine.stored(job)->steps[0].attempts == 1);
  }
  SECTION("its worker is gone") {
    engine.pass(milliseconds{1000});
    CHECK(engine.state(job) == JobState::retrying);
  }
  CHECK(jobs_of(engine.lease("host-2")) == Ids{next});
}

TEST_CASE("a lease keeps the settle time that it began with, even across a restart") {
  Fixture engine{1};
  engine.settle_time = milliseconds{5000};
  engine.crash_and_restart();
  const JobId job = engine.submit(pulled(engine, "a"));
  REQUIRE(engine.lease("host-1").size() == 1);
  engine.crash_and_restart();
  engine.settle_time = milliseconds{0};
  engine.reconfigure({CellRule{}}, {"vm"});
  engine.pass(milliseconds{1000});
  REQUIRE(engine.state(job) == JobState::retrying);
  CHECK(engine.stored(job)->next_attempt_at == engine.wall + milliseconds{5000});
}

TEST_CASE("a lease survives the death of its dispatcher") {
  Fixture engine{1};
  const JobId job = engine.submit(pulled(engine, "a"));
  const Lease lease = engine.lease("host-1")[0].job->lease;
  caf::anon_send_exit(caf::actor_cast<caf::strong_actor_ptr>(engine.recorder->dispatchers.back()),
                      caf::exit_reason::kill);
  engine.run_all();
  CHECK(jobs_of(engine.leases_out()) == Ids{job});
  CHECK(engine.service("vm").in_flight == 1);
  CHECK(engine.end_lease(lease, success));
  CHECK(engine.state(job) == JobState::succeeded);
  CHECK(engine.leases_out().empty());
  CHECK(engine.service("vm").in_flight == 0);
}

TEST_CASE("a report that the store fails to write is not refused") {
  Fixture engine{1};
  engine.submit(pulled(engine, "a"));
  const Lease lease = engine.lease("host-1").at(0).job->lease;
  engine.store_fails = true;
  auto reported =
      engine.self()->request(engine.engine(), caf::infinite, EndLease{lease, nullptr, success});
  engine.run_all();
  caf::anon_send_exit(engine.engine(), caf::exit_reason::kill);  // As celld exits.
  engine.run_all();
  REQUIRE(engine.self()->has_next_message());
  bool is_answered = false;
  reported.receive([&](const LeaseEnded&) { is_answered = true; }, [](const caf::error&) {});
  CHECK_FALSE(is_answered);
}

TEST_CASE("a cell is forgotten with its end although its dispatcher died while a lease was out") {
  Fixture engine{1, true};
  engine.submit(pulled(engine, "a"));
  const Lease lease = engine.lease("host-1").at(0).job->lease;
  caf::anon_send_exit(caf::actor_cast<caf::strong_actor_ptr>(engine.recorder->dispatchers.back()),
                      caf::exit_reason::kill);
  engine.run_all();
  REQUIRE(engine.end_lease(lease, success));
  for (int n = 0; n < 20; ++n) engine.pass(milliseconds{1000});
  CHECK(count_alive(engine.recorder->cells) == 0);
}

TEST_CASE("a worker still waits after the death of a dispatcher that was storing its lease") {
  Fixture engine{2};
  engine.submit(pulled(engine, "a"));
  const JobId next = engine.submit(pulled(engine, "b"));
  engine.commit_delay = milliseconds{20};
  engine.wait_for_lease("host-1");
  caf::anon_send_exit(caf::actor_cast<caf::strong_actor_ptr>(engine.recorder->dispatchers.back()),
                      caf::exit_reason::kill);
  engine.pass(milliseconds{100});
  engine.pass(milliseconds{100});
  CHECK(jobs_of(engine.granted()) == Ids{next});
  CHECK(engine.leases_out().size() == 2);
}

TEST_CASE("a shutdown waits for no lease, and serves reports") {
  Fixture engine{2};
  const JobId a = engine.submit(pulled(engine, "a"));
  const JobId b = engine.submit(pulled(engine, "b"));
  engine.submit(pulled(engine, "c"));
  const auto leases = engine.lease("host-1", 2);
  REQUIRE(jobs_of(leases) == Ids{a, b});
  engine.wait_for_lease("host-2");
  bool stopped = false;
  engine.self()->send(engine.engine(), ShutDown{milliseconds{100}});
  engine.run_all();
  CHECK(engine.end_lease(leases[0].job->lease, success));
  CHECK(engine.state(a) == JobState::succeeded);
  CHECK(engine.extend(leases[1].job->lease).lease);
  engine.pass(milliseconds{100});
  while (engine.self()->has_next_message()) {
    engine.self()->receive([&](const ShutdownCompleted& done) {
      stopped = true;
      CHECK(done.handed_back == 0);
      CHECK(done.unconfirmed.empty());
    });
  }
  CHECK(stopped);
  CHECK(engine.granted().empty());
  engine.crash_and_restart();
  CHECK(engine.state(b) == JobState::running);
  CHECK(engine.end_lease(leases[1].job->lease, success));
  CHECK(engine.stored(b)->steps[0].attempts == 1);
}

TEST_CASE("jobs that no worker leases hold up no other") {
  Fixture engine{1};
  for (int n = 0; n < 3000; ++n) engine.submit(pulled(engine, std::to_string(n)));
  const JobId inside = engine.submit("inside");
  CHECK(engine.call_of(inside));
  CHECK(engine.lease("host-1").empty());
  engine.succeed(inside);
  CHECK(engine.lease("host-1", 5).size() == 1);
}

TEST_CASE("a job goes from a worker inside to one outside and back") {
  Fixture engine{1};
  const JobId job = engine.submit(engine.request("a", {"dns", "vm", "billing"}));
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::queued);
  const auto leases = engine.lease("host-1");
  REQUIRE(jobs_of(leases) == Ids{job});
  CHECK(leases[0].job->step == 1);
  CHECK(engine.end_lease(leases[0].job->lease, success));
  REQUIRE(engine.call_of(job));
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
}

TEST_CASE("a worker for one customer gets jobs of that customer alone") {
  Fixture engine{4};
  engine.submit(pulled(engine, "a", "other"));
  CHECK(engine.lease("host-1", 1, "acme").empty());
  engine.wait_for_lease("host-1", 1, "acme");
  engine.submit(pulled(engine, "b", "other"));
  CHECK(engine.granted().empty());
  const JobId job = engine.submit(pulled(engine, "c", "acme"));
  CHECK(jobs_of(engine.granted()) == Ids{job});
  CHECK(engine.lease("host-2", 10).size() == 2);
}

TEST_CASE("a worker for one customer gets its jobs although the window is full of others'") {
  Fixture engine{2};
  engine.limit_window(GENERATE(DispatchQueue::Limits{1, 4, 4 << 20},  // Full of customers,
                               DispatchQueue::Limits{8, 2, 4 << 20},  // of jobs,
                               DispatchQueue::Limits{8, 64, 1}));     // of bytes.
  engine.crash_and_restart();
  for (int n = 0; n < 6; ++n) engine.submit(pulled(engine, std::to_string(n), "flood"));
  SECTION("those that come while it waits") {
    engine.wait_for_lease("host-1", 1, "acme");
    const JobId job = engine.submit(pulled(engine, "a"));
    CHECK(jobs_of(engine.granted()) == Ids{job});
  }
  SECTION("those that were there before") {
    const JobId job = engine.submit(pulled(engine, "a"));
    engine.wait_for_lease("host-1", 1, "acme");
    CHECK(jobs_of(engine.granted()) == Ids{job});
  }
  SECTION("without waiting") {
    const JobId job = engine.submit(pulled(engine, "a"));
    CHECK(jobs_of(engine.lease("host-1", 1, "acme")) == Ids{job});
    CHECK(engine.lease("host-1", 1, "acme").empty());
  }
  SECTION("those that another cell had") {
    CellRule rule;
    rule.settings.pool_size = 2;
    CellRule own;
    own.customer = "acme";
    own.settings.pool_size = 1;
    engine.reconfigure({rule, own});
    const JobId first = engine.submit(pulled(engine, "a"));
    const JobId second = engine.submit(pulled(engine, "b"));
    CHECK(jobs_of(engine.lease("host-2", 1, "acme")) == Ids{first});
    engine.wait_for_lease("host-1", 1, "acme");
    CHECK(engine.granted().empty());
    engine.reconfigure({rule});
    CHECK(jobs_of(engine.granted()) == Ids{second});
  }
}

TEST_CASE("all windows together bound the jobs that are held for workers outside") {
  Fixture engine{1, true};
  const auto bytes =
      approximate_bytes(*engine.stored(engine.submit(pulled(engine, "sample", "a"))));
  engine.limit_window_bytes(6 * bytes);
  engine.crash_and_restart();
  for (int n = 0; n < 20; ++n) {
    for (const auto* customer : {"a", "b"}) {
      engine.submit(pulled(engine, std::to_string(n), customer));
    }
  }
  CHECK(engine.service("vm").waiting < 20);
}

TEST_CASE("a worker for one customer gets a job that left the window while no slot was free") {
  Fixture engine{1};
  engine.limit_window({1, 4, 4 << 20});
  engine.crash_and_restart();
  const JobId inside = engine.submit("inside");
  for (int n = 0; n < 6; ++n) engine.submit(pulled(engine, std::to_string(n)));
  for (int n = 0; n < 6; ++n) engine.submit(pulled(engine, std::to_string(n), "flood"));
  engine.wait_for_lease("host-1", 1, "acme");
  engine.wait_for_lease("host-2");
  engine.succeed(inside);
  std::size_t of_acme = 0;
  for (auto leases = engine.granted(); !leases.empty(); leases = engine.granted()) {
    for (const auto& lease : leases) {
      of_acme += lease.job->spec->customer == "acme" ? 1 : 0;
      CHECK(engine.end_lease(lease.job->lease, success));
    }
  }
  CHECK(of_acme >= 1);
  CHECK(engine.leases_out().empty());
  CHECK(engine.service("vm").leases->requests_waiting == 0);
}

TEST_CASE("cells take turns at a pull service") {
  Fixture engine{8, true};
  Ids a, b;
  for (int n = 0; n < 6; ++n) {
    a.push_back(engine.submit(pulled(engine, std::to_string(n), "a")));
    b.push_back(engine.submit(pulled(engine, std::to_string(n), "b")));
  }
  std::map<std::string, int> granted;
  for (int n = 0; n < 6; ++n) {
    const auto leases = engine.lease("host-1");
    REQUIRE(leases.size() == 1);
    ++granted[leases[0].job->spec->customer];
  }
  CHECK(granted == std::map<std::string, int>{{"a", 3}, {"b", 3}});
}

TEST_CASE("cells share the workers of a pull service by the time of their jobs") {
  Fixture engine{8, true};
  for (int n = 0; n < 20; ++n) {
    engine.submit(pulled(engine, std::to_string(n), "quick"));
    engine.submit(pulled(engine, std::to_string(n), "slow"));
  }
  int of_quick = 0;
  for (int turn = 0; turn < 20; ++turn) {
    const auto leases = engine.lease("host-1");
    REQUIRE(leases.size() == 1);
    const bool is_quick = leases[0].job->spec->customer == "quick";
    of_quick += is_quick ? 1 : 0;
    engine.pass(milliseconds{is_quick ? 10 : 40});
    REQUIRE(engine.end_lease(leases[0].job->lease, success));
  }
  CHECK(of_quick >= 14);  // Four of five in the long run.
}

TEST_CASE("workers that do not wait get jobs of the store, although others emptied the window") {
  const auto customer = GENERATE(std::optional<std::string>{}, std::optional<std::string>{"acme"});
  Fixture engine{40};
  engine.limit_window({1, 4, 4 << 20});
  engine.crash_and_restart();
  for (int n = 0; n < 12; ++n) engine.submit(pulled(engine, std::to_string(n)));
  for (const std::uint64_t request : {1, 2, 3}) {
    engine.self()->send(engine.engine(), RequestLeases{request, "vm", "host", customer, 4, false});
  }
  engine.run_all();
  int answers = 0;
  while (engine.self()->has_next_message()) {
    engine.self()->receive([&](const LeasesGranted& answer) {
      CHECK(answer.leases.size() == 4);
      answers += 1;
    });
  }
  CHECK(answers == 3);
}

TEST_CASE("workers outside serve customers by their weights") {
  Fixture engine;
  CellRule rule;
  rule.settings.pool_size = 1;
  rule.settings.weights = CustomerWeights{{{"gold", 3}}};
  engine.configure({rule});
  engine.crash_and_restart();
  for (int n = 0; n < 40; ++n) {
    for (const auto* customer : {"gold", "plain"})
      engine.submit(pulled(engine, std::to_string(n), customer));
  }
  int of_gold = 0;
  for (int n = 0; n < 40; ++n) {
    const auto leases = engine.lease("host-1");
    REQUIRE(leases.size() == 1);
    of_gold += leases[0].job->spec->customer == "gold" ? 1 : 0;
    engine.pass(milliseconds{100});
    REQUIRE(engine.end_lease(leases[0].job->lease, success));
  }
  CHECK(of_gold >= 28);
  CHECK(of_gold <= 32);
}

TEST_CASE("workers for one customer each share a slot by the time of their jobs") {
  Fixture engine{1};
  for (int n = 0; n < 30; ++n) {
    for (const auto* customer : {"quick", "a-slow"}) {
      engine.submit(pulled(engine, std::to_string(n), customer));
    }
  }
  for (const auto* worker : {"1", "2"}) {
    for (const auto* customer : {"quick", "a-slow"}) engine.wait_for_lease(worker, 1, customer);
  }
  int of_quick = 0;
  for (int turn = 0; turn < 30; ++turn) {
    const auto leases = engine.granted();
    REQUIRE(leases.size() == 1);
    const Job& job = *leases[0].job;
    const bool is_quick = job.spec->customer == "quick";
    of_quick += is_quick ? 1 : 0;
    engine.pass(milliseconds{is_quick ? 10 : 40});
    engine.wait_for_lease("again", 1, job.spec->customer);
    REQUIRE(engine.end_lease(job.lease, success));
  }
  CHECK(of_quick >= 20);  // Four of five in the long run.
  CHECK(of_quick <= 26);
}

TEST_CASE("leases of several cells fill one request") {
  Fixture engine{2, true};
  for (const auto* customer : {"a", "b", "c"}) {
    for (int n = 0; n < 4; ++n) engine.submit(pulled(engine, std::to_string(n), customer));
  }
  CHECK(engine.service("vm").waiting == 12);
  CHECK(engine.lease("host-1", 5).size() == 5);
  CHECK(engine.lease("host-1", 5).size() == 1);
}

TEST_CASE("a cell grants no further lease once the jobs have as many bytes as it was asked for") {
  Fixture engine{2};
  const JobId job = engine.submit(pulled(engine, "a"));
  engine.submit(pulled(engine, "b"));
  const auto bytes = approximate_bytes(*engine.stored(job));
  const auto dispatcher = caf::actor_cast<JobDispatcher>(engine.recorder->dispatchers.back());
  auto pending = engine.self()->request(dispatcher, caf::infinite,
                                        GrantLeases{"vm", "host-1", std::nullopt, 2, bytes});
  engine.run_all();
  pending.receive([&](const GrantAnswered& answer) { CHECK(jobs_of(answer.leases) == Ids{job}); },
                  [](const caf::error&) { FAIL("the dispatcher failed"); });
}

TEST_CASE("an answer ends once the jobs of all its cells have as many bytes as it may have") {
  Fixture engine{2, true};
  const auto submit = [&](const std::string& customer, const std::string& entity) {
    return engine.submit(pulled(engine, entity, customer));
  };
  const auto bytes = approximate_bytes(*engine.stored(submit("a", "1")));
  engine.limit_desks({.leased_bytes_max = bytes + 1, .listed_bytes_max = bytes + 1});
  engine.crash_and_restart();
  for (const auto* customer : {"b", "c"}) {
    for (const auto* entity : {"1", "2"}) submit(customer, entity);
  }
  CHECK(engine.lease("host-1", 5).size() == 2);
  CHECK(engine.lease("host-1", 5).size() == 2);
  CHECK(engine.lease("host-1", 5).size() == 1);
  auto listing = engine.self()->request(engine.engine(), caf::infinite, ListLeases{});
  engine.run_all();
  listing.receive(
      [](const LeasesListed& listed) {
        CHECK(listed.leases.size() == 2);
        CHECK(listed.more);
      },
      [](const caf::error&) { FAIL("no answer"); });
}

TEST_CASE("a paused cell grants no lease until it is resumed") {
  Fixture engine{1};
  engine.set_state(CellState::paused);
  const JobId job = engine.submit(pulled(engine, "a"));
  engine.wait_for_lease("host-1");
  CHECK(engine.granted().empty());
  engine.set_state(CellState::active);
  CHECK(jobs_of(engine.granted()) == Ids{job});
}

TEST_CASE("a reload changes who works for a service") {
  Fixture engine{1};
  const JobId job = engine.submit(pulled(engine, "a"));
  const JobId next = engine.submit(pulled(engine, "b"));
  CellRule rule;
  rule.settings.pool_size = 1;
  engine.pull_services = {};
  engine.reconfigure({rule}, {"vm"});
  REQUIRE(engine.call_of(job));
  engine.pull_services = {"vm"};
  engine.reconfigure({rule}, {"vm"});
  CHECK(engine.call_of(job));
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
  CHECK(engine.calls->pending.empty());
  CHECK(jobs_of(engine.lease("host-1")) == Ids{next});
}

TEST_CASE("a job that changes its lane during a fetch runs, whatever the order of messages") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    Fixture engine{4};
    engine.limit_window({2, 4, 4 << 20});
    engine.crash_and_restart();
    Ids jobs;
    for (int n = 0; n < 8; ++n) {
      jobs.push_back(engine.submit(pulled(engine, std::to_string(n), n < 6 ? "acme" : "other")));
    }
    CellRule rule;
    rule.settings.pool_size = 4;
    caf::anon_send(engine.engine(), RequestLeases{1000, "vm", "host-1", std::nullopt, 3, false});
    engine.pull_services = {};
    engine.reconfigure({rule}, {"vm"}, {}, [&] { engine.run_all_in_any_order(seed); });
    while (!engine.calls->pending.empty()) engine.succeed(engine.calls->pending[0].call.job->id);
    for (const auto& lease : engine.leases_out()) engine.end_lease(lease.job->lease, success);
    while (!engine.calls->pending.empty()) engine.succeed(engine.calls->pending[0].call.job->id);
    for (const JobId job : jobs) REQUIRE(engine.state(job) == JobState::succeeded);
  }
}

TEST_CASE("a start finds jobs in the lane of a service that is no longer pulled") {
  Fixture engine{1};
  const JobId job = engine.submit(pulled(engine, "a"));
  engine.pull_services = {};
  engine.crash_and_restart();
  REQUIRE(engine.call_of(job));
  engine.succeed(job);
  engine.pull_services = {"vm"};
  engine.crash_and_restart();
  const JobId again = engine.submit(pulled(engine, "b"));
  CHECK(jobs_of(engine.lease("host-1")) == Ids{again});
}

TEST_CASE("a service that is pulled for a while still has the calls that it began before") {
  Fixture engine{1};
  engine.pull_services = {};
  engine.crash_and_restart();
  const JobId job = engine.submit(pulled(engine, "a"));
  REQUIRE(engine.call_of(job));
  CellRule rule;
  rule.settings.pool_size = 1;
  engine.pull_services = {"vm"};
  engine.reconfigure({rule}, {"vm"});
  engine.pull_services = {};
  engine.reconfigure({rule}, {"vm"});
  CHECK(engine.service("vm").in_flight == 1);
  engine.succeed(job);
  CHECK(engine.state(job) == JobState::succeeded);
  CHECK(engine.service("vm").in_flight == 0);
}

TEST_CASE("a service that was pulled before it was called shows its calls") {
  Fixture engine{1};
  engine.submit(pulled(engine, "a"));
  REQUIRE(engine.end_lease(engine.lease("host-1")[0].job->lease, success));
  CellRule rule;
  rule.settings.pool_size = 1;
  engine.pull_services = {};
  engine.reconfigure({rule}, {"vm"});
  REQUIRE(engine.call_of(engine.submit(pulled(engine, "b"))));
  CHECK(engine.service("vm").in_flight == 1);
  CHECK_FALSE(engine.service("vm").leases);
}

TEST_CASE("a service that was called before it was pulled is removed with its provider") {
  Fixture engine{1};
  engine.pull_services = {};
  engine.crash_and_restart();
  const std::size_t providers = count_alive(engine.recorder->providers);
  CellRule rule;
  rule.settings.pool_size = 1;
  engine.pull_services = {"vm"};
  engine.reconfigure({rule}, {"vm"});
  CHECK(engine.reconfigure({rule}, {}, {"vm"}).needed.empty());
  CHECK(count_alive(engine.recorder->providers) == providers - 1);
}

TEST_CASE("a start ends the attempt at a service that was called before and is pulled now") {
  Fixture engine{1};
  engine.pull_services = {};
  engine.crash_and_restart();
  const JobId job = engine.submit(pulled(engine, "a"));
  REQUIRE(engine.call_of(job));
  engine.pull_services = {"vm"};
  engine.crash_and_restart();
  CHECK(engine.state(job) == JobState::queued);
  CHECK(engine.stored(job)->steps[0].attempts == 0);
  CHECK(jobs_of(engine.lease("host-1")) == Ids{job});
}

TEST_CASE("leases are listed by worker, service and customer, page by page") {
  Fixture engine{8};
  for (int n = 0; n < 6; ++n) {
    engine.submit(pulled(engine, std::to_string(n), n % 2 == 0 ? "even" : "odd"));
  }
  engine.lease("host-1", 4);
  engine.lease("host-2", 2);
  CHECK(engine.leases_out({.worker = "host-1"}).size() == 4);
  CHECK(engine.leases_out({.worker = "host-2"}).size() == 2);
  CHECK(engine.leases_out({.worker = "host"}).empty());
  CHECK(engine.leases_out({.service = "vm"}).size() == 6);
  CHECK(engine.leases_out({.service = "gpu"}).empty());
  CHECK(engine.leases_out({.services = std::set<std::string>{"gpu"}}).empty());
  CHECK(engine.leases_out({.customer = "even"}).size() == 3);
  const auto first = engine.leases_out({.limit = 4});
  REQUIRE(first.size() == 4);
  CHECK(engine.leases_out({.after = first.back().job->lease}).size() == 2);
  Ids of_worker;
  Lease after{};
  for (int page = 0; page < 2; ++page) {
    const auto leases = engine.leases_out({.worker = "host-1", .after = after, .limit = 2});
    REQUIRE(leases.size() == 2);
    for (const JobId job : jobs_of(leases)) of_worker.push_back(job);
    after = leases.back().job->lease;
  }
  CHECK(engine.leases_out({.worker = "host-1", .after = after}).empty());
  CHECK(std::set(of_worker.begin(), of_worker.end()).size() == 4);
}

TEST_CASE("a page of leases says whether others follow") {
  Fixture engine{2};
  for (const auto* entity : {"a", "b"}) engine.submit(pulled(engine, entity));
  REQUIRE(engine.lease("host-1", 2).size() == 2);
  const auto others_follow = [&](std::size_t limit) {
    bool more = false;
    auto listing =
        engine.self()->request(engine.engine(), caf::infinite, ListLeases{.limit = limit});
    engine.run_all();
    listing.receive([&](const LeasesListed& listed) { more = listed.more; },
                    [](const caf::error&) { FAIL("no answer"); });
    return more;
  };
  CHECK(others_follow(1));
  CHECK_FALSE(others_follow(2));
}

TEST_CASE("a list of the leases of one service passes over those of others") {
  Fixture engine{2};
  engine.pull_services.insert("gpu");
  engine.crash_and_restart();
  engine.submit(pulled(engine, "a"));
  REQUIRE(engine.lease("host-1").size() == 1);
  const JobId job = engine.submit(engine.request("b", {"gpu"}));
  engine.self()->send(engine.engine(), RequestLeases{2, "gpu", "host-1", {}});
  engine.run_all();
  REQUIRE(jobs_of(engine.granted()) == Ids{job});
  CHECK(jobs_of(engine.leases_out({.service = "gpu"})) == Ids{job});
  CHECK(jobs_of(engine.leases_out({.services = std::set<std::string>{"gpu"}})) == Ids{job});
}

TEST_CASE("the status of a pull service counts its leases and the requests that wait") {
  Fixture engine{2};
  REQUIRE(engine.service("vm").leases);
  CHECK(engine.service("vm").leases->granted == 0);
  CHECK_FALSE(engine.service("dns").leases);
  for (const auto* entity : {"a", "b"}) engine.submit(pulled(engine, entity));
  const auto leases = engine.lease("host-1", 2);
  REQUIRE(leases.size() == 2);
  engine.wait_for_lease("host-2");
  CHECK(engine.service("vm").in_flight == 2);
  CHECK(engine.service("vm").leases->granted == 2);
  CHECK(engine.service("vm").leases->requests_waiting == 1);
  for (const auto& lease : leases) engine.end_lease(lease.job->lease, success);
  CHECK(engine.service("vm").ended_per_s == 0.2);
  engine.pass(milliseconds{10'000});
  CHECK(engine.service("vm").ended_per_s == 0);
  engine.pass(std::chrono::minutes{5});
  CHECK(engine.service("vm").in_flight == 0);
  CHECK(engine.service("vm").leases->granted == 2);
}

TEST_CASE("a cell whose waiting jobs were all cancelled is forgotten with its end") {
  Fixture engine{1, true};
  const JobId job = engine.submit(pulled(engine, "a"));
  CHECK(engine.service("vm").waiting == 1);
  REQUIRE(count_alive(engine.recorder->cells) == 1);
  REQUIRE(engine.cancel(job).accepted);
  for (int n = 0; n < 20; ++n) engine.pass(milliseconds{1000});
  CHECK_FALSE(engine.has_cell({"acme", "*"}));
  CHECK(count_alive(engine.recorder->cells) == 0);
}
