// Reloads while jobs run (promise P12).
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

namespace {

CellRule rule(std::string customer, std::string product, std::uint32_t pool_size = 1) {
  CellRule rule;
  rule.customer = std::move(customer);
  rule.product = std::move(product);
  rule.settings.pool_size = pool_size;
  rule.settings.timeout = milliseconds{1000};
  rule.settings.retry = {3, milliseconds{100}, milliseconds{1000}};
  return rule;
}

const CellKey catch_all{"*", "*"};
const CellKey acme{"acme", "*"};

}  // namespace

TEST_CASE("a new cell gets its waiting jobs, and running jobs finish where they are") {
  Fixture fixture;
  const JobId runs = fixture.submit("a");
  const JobId waits = fixture.submit("b");
  JobRequest later = fixture.request("c");
  later.delay = milliseconds{500};
  const JobId scheduled = fixture.submit(later);
  REQUIRE(fixture.call_of(runs));

  fixture.reconfigure({rule("acme", "*"), rule("*", "*")});
  CHECK(fixture.call_of(waits));
  CHECK(fixture.call_of(runs));
  CHECK(fixture.stored(waits)->cell == acme);
  CHECK(fixture.stored(scheduled)->cell == acme);
  CHECK(fixture.stored(runs)->cell == catch_all);
  CHECK(fixture.cell(acme).queue.counts.unfinished() == 2);
  CHECK(fixture.cell(catch_all).queue.counts.unfinished() == 1);

  fixture.succeed(runs);
  fixture.succeed(waits);
  fixture.pass(milliseconds{600});
  fixture.succeed(scheduled);
  CHECK(fixture.state(scheduled) == JobState::succeeded);
  CHECK(fixture.cell(acme).queue.counts.unfinished() == 0);
  CHECK(fixture.cell(catch_all).queue.counts.unfinished() == 0);
}

TEST_CASE("a reload is answered when every waiting job is in the cell that matches") {
  Fixture fixture;
  fixture.submit("runs");
  std::vector<JobId> waiting;
  for (const auto* product : {"dns", "mail", "web"}) {
    JobRequest request = fixture.request(product);
    request.spec.product = product;
    waiting.push_back(fixture.submit(request));
  }
  const std::vector<CellRule> rules{rule("acme", "*"), rule("*", "*")};
  auto answer = fixture.self()->request(
      fixture.engine(), caf::infinite, Reconfigure{std::make_shared<const Routing>(rules), {}, {}});
  while (fixture.self()->mailbox().empty()) fixture.scheduler().run_once();
  for (const JobId id : waiting) CHECK(fixture.stored(id)->cell == acme);
  answer.receive([](const Reconfigured&) {}, [](const caf::error&) { FAIL("the reload failed"); });
}

TEST_CASE("a job whose attempt fails in a removed cell is retried in the cell that matches") {
  Fixture fixture;
  fixture.reconfigure({rule("acme", "*"), rule("*", "*")});
  const JobId id = fixture.submit("a");
  REQUIRE(fixture.stored(id)->cell == acme);
  fixture.reconfigure({rule("*", "*")});
  CHECK(fixture.call_of(id));
  fixture.end_call(id, outcome(CallOutcome::Kind::retryable, "busy"));
  CHECK(fixture.stored(id)->cell == catch_all);
  fixture.pass(milliseconds{200});
  REQUIRE(fixture.call_of(id));
  fixture.succeed(id);
  CHECK(fixture.state(id) == JobState::succeeded);
  CHECK(fixture.cell(catch_all).queue.counts.unfinished() == 0);
}

TEST_CASE("a job's next step runs in the cell that matches now") {
  Fixture fixture;
  const JobId id = fixture.submit(fixture.request("a", {"dns", "billing"}));
  fixture.reconfigure({rule("acme", "*"), rule("*", "*")});
  fixture.succeed(id);
  CHECK(fixture.stored(id)->cell == acme);
  REQUIRE(fixture.call_of(id));
  CHECK(fixture.stored(id)->steps[0].state == StepState::succeeded);
  fixture.succeed(id);
  CHECK(fixture.state(id) == JobState::succeeded);
}

TEST_CASE("followers in another cell wait for the head of their line, and no longer") {
  Fixture fixture;
  const JobId head = fixture.submit("a");
  const JobId follower = fixture.submit("a");
  fixture.reconfigure({rule("acme", "*"), rule("*", "*")});
  CHECK(fixture.stored(follower)->cell == acme);
  CHECK_FALSE(fixture.call_of(follower));
  fixture.succeed(head);
  CHECK(fixture.call_of(follower));
}

TEST_CASE("a follower in another cell starts even if the dispatcher of the head dies") {
  for (int steps = 0; steps < 20; ++steps) {
    Fixture fixture;
    const JobId head = fixture.submit("a");
    const auto dispatcher = fixture.recorder->dispatchers.back();
    const JobId follower = fixture.submit("a");
    fixture.reconfigure({rule("acme", "*"), rule("*", "*")});
    const PendingCall& call = *fixture.call_of(head);
    caf::anon_send(call.provider, EndCall{call.call.lease, outcome(CallOutcome::Kind::succeeded)});
    for (int i = 0; i < steps; ++i) fixture.scheduler().try_run_once();
    caf::anon_send_exit(dispatcher, caf::exit_reason::unhandled_exception);
    fixture.run_all();
    if (fixture.state(head) == JobState::succeeded) CHECK(fixture.call_of(follower));
  }
}

TEST_CASE("jobs that reach a cell while it closes are counted where they run") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Fixture fixture{1, true};
    const JobId id = fixture.submit("a");
    Job waiting = *fixture.stored(id);
    fixture.succeed(id);
    waiting.id = waiting.place = id + 1;
    waiting.state = JobState::queued;
    waiting.cell = between_cells;
    caf::anon_send(fixture.store(), InsertJob{std::make_shared<const Job>(waiting)});
    fixture.run_all();
    caf::anon_send(fixture.engine(), CellIdle{acme});
    caf::anon_send(fixture.engine(), JobsLeft{"acme", "dns"});
    fixture.run_all_in_any_order(seed);
    REQUIRE(fixture.call_of(waiting.id));
    fixture.succeed(waiting.id);
    CHECK(fixture.cell(acme).queue.counts.unfinished() == 0);
  }
}

TEST_CASE("a job that is due when it is moved starts even if the clock goes back") {
  Fixture fixture;
  const JobId id = fixture.submit("a");
  fixture.end_call(id, outcome(CallOutcome::Kind::retryable, "busy"));
  fixture.wall += std::chrono::seconds{100};
  fixture.reconfigure({rule("acme", "*"), rule("*", "*")});
  REQUIRE(fixture.stored(id)->cell == acme);
  fixture.wall -= std::chrono::seconds{50};
  fixture.pass(milliseconds{1000});
  CHECK(fixture.call_of(id));
}

TEST_CASE("a removed cell closes when its last job has ended") {
  Fixture fixture;
  fixture.reconfigure({rule("acme", "*"), rule("*", "*")});
  const JobId id = fixture.submit("a");
  fixture.reconfigure({rule("*", "*")});
  CHECK(fixture.has_cell(acme));
  fixture.succeed(id);
  for (int second = 0; second < 10; ++second) fixture.pass(milliseconds{1000});
  CHECK_FALSE(fixture.has_cell(acme));
}

TEST_CASE("a removed cell that is configured again just when it is idle stays") {
  Fixture fixture;
  const std::vector<CellRule> rules{rule("acme", "*"), rule("*", "*")};
  fixture.reconfigure(rules);
  fixture.reconfigure({rule("*", "*")});
  fixture.reconfigure(rules);
  caf::anon_send(fixture.engine(), CellIdle{acme});  // On its way since before the reload.
  fixture.run_all();
  CHECK(fixture.has_cell(acme));
}

TEST_CASE("a pause ends with its cell, before or after a restart") {
  const bool restarts = GENERATE(false, true);
  Fixture fixture;
  fixture.reconfigure({rule("acme", "*"), rule("*", "*")});
  fixture.set_state(CellState::paused, acme);
  fixture.reconfigure({rule("acme", "*"), rule("*", "*")});
  CHECK(fixture.cell(acme).changed.state == CellState::paused);
  if (restarts) {
    fixture.crash_and_restart();  // With the configuration of the beginning.
  } else {
    fixture.reconfigure({rule("*", "*")});
    for (int second = 0; second < 10; ++second) fixture.pass(milliseconds{1000});
  }
  REQUIRE_FALSE(fixture.has_cell(acme));
  fixture.reconfigure({rule("acme", "*"), rule("*", "*")});
  CHECK(fixture.cell(acme).changed.state == CellState::active);
  fixture.crash_and_restart();
  fixture.reconfigure({rule("acme", "*"), rule("*", "*")});
  CHECK(fixture.call_of(fixture.submit("a")));
}

TEST_CASE("a removed cell closes even if its last request had no effect") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Fixture fixture;
    const JobId id = fixture.submit("a");
    fixture.succeed(id);
    Job pruned = *fixture.stored(id);
    pruned.id += 1;
    pruned.cell = acme;
    pruned.state = JobState::failed;
    const auto job = std::make_shared<const Job>(pruned);
    fixture.reconfigure({rule("acme", "*"), rule("*", "*")});
    if (seed % 2 == 0) {
      caf::anon_send(fixture.engine(), CancelJob{job});
    } else {
      caf::anon_send(fixture.engine(), ReopenJob{job});
    }
    fixture.reconfigure({rule("*", "*")}, {}, {}, [&] { fixture.run_all_in_any_order(seed); });
    for (int second = 0; second < 3; ++second) fixture.pass(milliseconds{1000});
    CHECK_FALSE(fixture.has_cell(acme));
  }
}

TEST_CASE(
    "a call that began before a reload keeps its entity for the settle time of its beginning") {
  Fixture fixture;
  fixture.settle_time = milliseconds{5000};
  fixture.reconfigure({rule("*", "*")}, {"dns"});
  const JobId id = fixture.submit("a");
  fixture.settle_time = milliseconds{0};
  fixture.reconfigure({rule("*", "*")}, {"dns"});
  fixture.end_call(id, outcome(CallOutcome::Kind::unknown, "timeout"));
  CHECK(fixture.stored(id)->next_attempt_at == fixture.wall + milliseconds{5000});
  fixture.pass(milliseconds{5000});
  fixture.end_call(id, outcome(CallOutcome::Kind::unknown, "timeout"));
  CHECK(fixture.stored(id)->next_attempt_at < fixture.wall + milliseconds{5000});
}

TEST_CASE("jobs that no cell matches wait, and continue when one does") {
  Fixture fixture;
  const JobId runs = fixture.submit("a");
  const JobId waits = fixture.submit("b");
  fixture.reconfigure({rule("bolt", "*")});
  CHECK(fixture.recorder->without_cell == std::vector<std::string>{"2, such as acme/dns"});
  fixture.succeed(runs);
  CHECK(fixture.state(runs) == JobState::succeeded);
  fixture.recorder->without_cell.clear();
  fixture.configure({rule("bolt", "*")});
  fixture.crash_and_restart();
  CHECK(fixture.recorder->without_cell == std::vector<std::string>{"1, such as acme/dns"});
  fixture.pass(milliseconds{20'000});
  CHECK_FALSE(fixture.call_of(waits));
  CHECK(fixture.state(waits) == JobState::queued);
  CHECK(fixture.try_to_submit(fixture.request("c")).refusal->kind == Refusal::Kind::no_cell);
  fixture.reconfigure({rule("acme", "*")});
  CHECK(fixture.call_of(waits));
}

TEST_CASE("the probe sees the jobs that no cell matches in one sum") {
  Fixture fixture;
  fixture.limit_store_sizes({.backlogs_max = 1});
  fixture.crash_and_restart();
  for (const char* product : {"dns", "mail", "web"}) {
    auto request = fixture.request(product);
    request.spec.product = product;
    fixture.submit(request);
  }
  fixture.reconfigure({rule("*", "web")});
  CHECK(fixture.recorder->without_cell == std::vector<std::string>{"2, such as acme/mail"});
  fixture.recorder->without_cell.clear();
  fixture.configure({rule("acme", "web")});
  fixture.crash_and_restart();
  CHECK(fixture.recorder->without_cell == std::vector<std::string>{"2, such as acme/mail"});
}

TEST_CASE("jobs that no cell matches are counted once, although a dispatcher dies meanwhile") {
  Fixture fixture;
  fixture.submit("a");
  fixture.submit("b");
  fixture.commit_delay = milliseconds{20};
  caf::anon_send(fixture.engine(), SubmitJob{fixture.request("c")});
  fixture.run_all();  // Now the store lists no backlogs before its next commit.
  const std::vector<CellRule> rules{rule("bolt", "*")};
  caf::anon_send(fixture.engine(), Reconfigure{std::make_shared<const Routing>(rules), {}, {}});
  caf::anon_send(fixture.engine(), CellRestarted{});
  for (int commit = 0; commit < 3; ++commit) fixture.pass(milliseconds{20});
  CHECK(fixture.recorder->without_cell == std::vector<std::string>{"3, such as acme/dns"});
}

TEST_CASE("jobs that no cell matches are not fetched repeatedly when they fill the window") {
  Fixture fixture;
  for (std::size_t i = 0; i <= DispatchQueue::Limits{}.jobs_max + 10; ++i) {
    fixture.submit(std::to_string(i));
  }
  fixture.reconfigure({rule("bolt", "*")});  // Would not return if they were.
  const JobId first = fixture.disk->jobs().begin()->first;
  fixture.succeed(first);
  CHECK(fixture.calls->pending.empty());
  fixture.reconfigure({rule("acme", "*")});
  CHECK(fixture.calls->pending.size() == 1);
}

TEST_CASE("a reload changes a cell's settings, and an override masks its pool size") {
  Fixture fixture;
  fixture.submit("a");
  const JobId second = fixture.submit("b");
  CHECK_FALSE(fixture.call_of(second));
  CHECK(fixture.reconfigure({rule("*", "*", 2)}).masked.empty());
  CHECK(fixture.call_of(second));

  fixture.resize(3);
  const auto answer = fixture.reconfigure({rule("*", "*", 5)});
  REQUIRE(answer.masked.size() == 1);
  CHECK(answer.masked[0].cell == catch_all);
  CHECK(answer.masked[0].configured == 5);
  CHECK(answer.masked[0].in_force == 3);
  CHECK(fixture.cell().pool.target == 3);
  fixture.resize(std::nullopt);
  CHECK(fixture.cell().pool.target == 5);
}

TEST_CASE("when a cell becomes a template, its jobs move to the instances") {
  Fixture fixture;
  fixture.submit("a");
  const JobId waits = fixture.submit("b");
  CellRule each = rule("*", "*");
  each.per_customer = true;
  fixture.reconfigure({each});
  CHECK(fixture.stored(waits)->cell == acme);
  CHECK(fixture.call_of(waits));
  CHECK(fixture.cell(catch_all).queue.counts.unfinished() == 1);
}

TEST_CASE("a job that is moved gets its instance even if the template has all it may have") {
  Fixture fixture{1};
  fixture.limit_instances(1);
  fixture.crash_and_restart();
  std::vector<JobId> waiting;
  for (const auto* customer : {"acme", "bolt", "corp"}) {
    auto job = fixture.request("zone");
    job.spec.customer = customer;
    job.delay = milliseconds{1000};
    waiting.push_back(fixture.submit(std::move(job)));
  }
  auto each = rule("*", "*", 1);
  each.per_customer = true;
  fixture.reconfigure({each});
  auto job = fixture.request("zone");
  job.spec.customer = "dyne";
  const auto answer = fixture.try_to_submit(job);
  REQUIRE(answer.refusal);
  CHECK(answer.refusal->kind == Refusal::Kind::too_many_cells);
  CHECK(answer.refusal->cell == CellKey{"dyne", "*"});
  CHECK(answer.refusal->limit == 1);
  fixture.pass(milliseconds{1000});
  for (const auto id : waiting) fixture.succeed(id);
  for (int second = 0; second < 10; ++second) fixture.pass(milliseconds{1000});
  fixture.submit(job);  // There is room again.
}

TEST_CASE("an instance keeps its size when its template's has changed and a dispatcher dies") {
  Fixture fixture;
  fixture.submit("a");
  const auto dispatcher = fixture.recorder->dispatchers.back();
  fixture.submit("b");
  CellRule each = rule("*", "*");
  each.per_customer = true;
  fixture.reconfigure({each});
  REQUIRE(fixture.cell(acme).pool.target == 1);
  fixture.resize(5);
  caf::anon_send_exit(dispatcher, caf::exit_reason::unhandled_exception);
  fixture.run_all();
  CHECK(fixture.cell(acme).pool.target == 1);
}

TEST_CASE("an instance whose size was changed comes back with its template, without a job") {
  auto each = rule("*", "*");
  each.per_customer = true;
  Fixture fixture;
  fixture.reconfigure({each});
  fixture.succeed(fixture.submit("a"));
  fixture.change_pool({acme, 3U});
  fixture.reconfigure({rule("bolt", "*")});
  for (int second = 0; second < 10; ++second) fixture.pass(milliseconds{1000});
  REQUIRE_FALSE(fixture.has_cell(acme));
  fixture.reconfigure({each});
  REQUIRE(fixture.has_cell(acme));
  CHECK(fixture.cell(acme).pool.target == 3);
}

TEST_CASE("a reload that removes a service in use changes nothing") {
  Fixture fixture{3};
  const JobId id = fixture.submit(fixture.request("a", {"dns", "billing"}));
  fixture.submit(fixture.request("b", {"billing"}));
  const auto answer = fixture.reconfigure({rule("acme", "*")}, {}, {"billing"});
  const std::map<std::string, std::uint64_t> needed{{"billing", 2}};
  CHECK(answer.needed == needed);
  CHECK_FALSE(fixture.has_cell(acme));
  CHECK(fixture.try_to_submit(fixture.request("c", {"billing"})).job);
  fixture.succeed(id);
  CHECK(fixture.call_of(id));
}

TEST_CASE("a reload that is refused because of a service refuses no job meanwhile") {
  Fixture fixture{3};
  const JobId again = fixture.submit(fixture.request("a", {"billing"}));
  fixture.end_call(again, outcome(CallOutcome::Kind::rejected, "no"));
  fixture.submit(fixture.request("b", {"billing"}));
  const std::vector<CellRule> rules{rule("*", "*", 3)};
  const auto begin_reload = [&] {
    caf::anon_send(fixture.engine(),
                   Reconfigure{std::make_shared<const Routing>(rules), {}, {"billing"}});
  };
  begin_reload();
  CHECK(fixture.try_to_submit(fixture.request("c", {"billing"})).job);
  begin_reload();
  CHECK(fixture.reopen(again).accepted);
}

TEST_CASE("when a reload fails, jobs that waited for its decision are accepted or reopened") {
  Fixture fixture{3};
  const JobId again = fixture.submit(fixture.request("a", {"billing"}));
  fixture.end_call(again, outcome(CallOutcome::Kind::rejected, "no"));
  fixture.counting_fails = true;
  const std::vector<CellRule> rules{rule("*", "*", 3)};
  auto reload =
      fixture.self()->request(fixture.engine(), caf::infinite,
                              Reconfigure{std::make_shared<const Routing>(rules), {}, {"billing"}});
  caf::anon_send(fixture.engine(), SubmitJob{fixture.request("b", {"billing"})});
  caf::anon_send(fixture.engine(), ReopenJob{fixture.stored(again)});
  fixture.run_all();
  reload.receive([](const Reconfigured&) { FAIL("the reload succeeded"); },
                 [](const caf::error&) {});
  CHECK(fixture.recorder->submissions.size() == 2);
  CHECK(fixture.state(again) == JobState::running);
}

TEST_CASE("a job that cannot be reopened is reported as such, even if no cell matches it") {
  Fixture fixture;
  const JobId id = fixture.submit("a");
  fixture.succeed(id);
  fixture.reconfigure({rule("bolt", "*")});
  const auto answer = fixture.reopen(fixture.stored(id));
  CHECK_FALSE(answer.refusal);
  CHECK_FALSE(answer.accepted);
  CHECK(answer.job);
}

TEST_CASE("an unused service is removed, and jobs for it are refused") {
  Fixture fixture;
  fixture.submit(fixture.request("a", {"dns"}));
  CHECK(fixture.reconfigure({rule("*", "*")}, {}, {"billing"}).needed.empty());
  const auto refused = fixture.try_to_submit(fixture.request("b", {"billing"}));
  REQUIRE(refused.refusal);
  CHECK(refused.refusal->kind == Refusal::Kind::service_removed);
}

TEST_CASE("jobs that were held for a service continue when a reload adds it") {
  Fixture fixture;
  const JobId id = fixture.submit(fixture.request("a", {"billing"}));
  fixture.end_call(id, outcome(CallOutcome::Kind::rejected, "no"));
  fixture.reconfigure({rule("*", "*")}, {}, {"billing"});
  CHECK(fixture.recorder->held.empty());
  fixture.reopen(id);
  CHECK(fixture.state(id) == JobState::queued);
  CHECK(fixture.recorder->held == std::vector{id});
  fixture.reconfigure({rule("*", "*")}, {"billing"}, {});
  CHECK(fixture.call_of(id));
}

TEST_CASE("a job that is held during the reload that adds its service continues") {
  Fixture fixture;
  const JobId id = fixture.submit(fixture.request("a", {"billing"}));
  fixture.end_call(id, outcome(CallOutcome::Kind::rejected, "no"));
  fixture.reconfigure({rule("*", "*")}, {}, {"billing"});
  fixture.set_state(CellState::paused);
  fixture.reopen(id);
  const auto dispatcher = caf::actor_cast<JobDispatcher>(fixture.recorder->dispatchers.back());
  fixture.reconfigure({rule("*", "*")}, {"billing"}, {},
                      [&] { caf::anon_send(dispatcher, SetCellState{CellState::active}); });
  fixture.set_state(CellState::active);
  CHECK(fixture.call_of(id));
}

TEST_CASE("no job is accepted or reopened while a service that it names is being removed") {
  Fixture fixture;
  const JobId id = fixture.submit(fixture.request("a", {"billing"}));
  fixture.end_call(id, outcome(CallOutcome::Kind::rejected, "no"));
  const std::vector<CellRule> rules{rule("*", "*")};
  caf::anon_send(fixture.engine(),
                 Reconfigure{std::make_shared<const Routing>(rules), {}, {"billing"}});
  auto submitted = fixture.self()->request(fixture.engine(), caf::infinite,
                                           SubmitJob{fixture.request("b", {"billing"})});
  const auto refused = fixture.reopen(id);
  REQUIRE(refused.refusal);
  CHECK(refused.refusal->kind == Refusal::Kind::service_removed);
  CHECK(fixture.state(id) == JobState::failed);
  submitted.receive(
      [](const JobSubmitted& answer) {
        REQUIRE(answer.refusal);
        CHECK(answer.refusal->kind == Refusal::Kind::service_removed);
      },
      [](const caf::error&) { FAIL("the submission failed"); });
  CHECK(fixture.reopen(id).accepted);  // The job is held until a reload adds the service.
  CHECK(fixture.state(id) == JobState::queued);
}

TEST_CASE("a service that changes ends its earlier calls with the old provider") {
  Fixture fixture{2};
  const JobId before = fixture.submit("a");
  const caf::actor_addr provider = fixture.call_of(before)->provider.address();
  fixture.reconfigure({rule("*", "*", 2)}, {"dns"}, {});
  const JobId after = fixture.submit("b");
  REQUIRE(fixture.call_of(before));
  CHECK(fixture.call_of(before)->provider.address() == provider);
  REQUIRE(fixture.call_of(after));
  CHECK(fixture.call_of(after)->provider.address() != provider);
  fixture.cancel(before);
  CHECK(fixture.state(before) == JobState::cancelled);
  CHECK_FALSE(is_alive(provider));
  fixture.succeed(after);
}

TEST_CASE("a provider without calls ends as soon as its service changes") {
  Fixture fixture;
  const auto providers = count_alive(fixture.recorder->providers);
  fixture.reconfigure({rule("*", "*")}, {"dns"});
  CHECK(fixture.recorder->providers.size() == providers + 1);
  CHECK(count_alive(fixture.recorder->providers) == providers);
}

TEST_CASE("a job that expires while it moves to another cell is counted once") {
  Fixture fixture;
  JobRequest request = fixture.request("a");
  request.expires_at = fixture.wall + std::chrono::hours{1};
  fixture.set_state(CellState::paused);
  const JobId id = fixture.submit(request);
  REQUIRE(fixture.cell(catch_all).queue.counts.unfinished() == 1);
  fixture.wall += std::chrono::hours{2};
  const auto dispatcher = caf::actor_cast<JobDispatcher>(fixture.recorder->dispatchers.back());
  const auto& spec = *fixture.stored(id)->spec;
  caf::anon_send(dispatcher, ReleaseJobs{spec.customer, spec.product});
  // The dispatcher now finds the job expired.
  caf::anon_send(dispatcher, SetCellState{CellState::active});
  fixture.run_all();
  CHECK(fixture.state(id) == JobState::queued);
  CHECK(fixture.stored(id)->cell == between_cells);
  CHECK(fixture.cell(catch_all).queue.counts.unfinished() == 0);

  fixture.crash_and_restart();
  fixture.pass(milliseconds{1000});
  CHECK(fixture.state(id) == JobState::failed);
  CHECK(fixture.cell(catch_all).queue.counts.unfinished() == 0);
}

TEST_CASE("a job between two cells expires even if no cell matches it any more") {
  Fixture fixture;
  JobRequest request = fixture.request("a");
  request.expires_at = fixture.wall + std::chrono::hours{1};
  fixture.set_state(CellState::paused);
  const JobId id = fixture.submit(request);
  const auto dispatcher = caf::actor_cast<JobDispatcher>(fixture.recorder->dispatchers.back());
  const auto& spec = *fixture.stored(id)->spec;
  caf::anon_send(dispatcher, ReleaseJobs{spec.customer, spec.product});
  fixture.run_all();
  REQUIRE(fixture.stored(id)->cell == between_cells);

  if (GENERATE(false, true)) {
    fixture.configure({rule("bolt", "*")});
    fixture.crash_and_restart();
  } else {
    fixture.reconfigure({rule("bolt", "*")});
  }
  const CellKey own{spec.customer, spec.product};
  CHECK(fixture.stored(id)->cell == own);
  CHECK(fixture.cell(own).queue.counts.unfinished() == 1);
  SECTION("it expires") {
    fixture.wall += std::chrono::hours{2};
    fixture.pass(milliseconds{1000});
    CHECK(fixture.state(id) == JobState::failed);
  }
  SECTION("it starts as soon as a cell matches it") {
    fixture.reconfigure({rule("acme", "*")});
    CHECK(fixture.stored(id)->cell == acme);
    CHECK(fixture.call_of(id));
  }
}

TEST_CASE("a reload and a shutdown at the same time both complete") {
  Fixture fixture;
  fixture.set_state(CellState::paused);
  const JobId id = fixture.submit("a");
  auto reload = fixture.self()->request(
      fixture.engine(), caf::infinite,
      Reconfigure{std::make_shared<const Routing>(std::vector{rule("acme", "*")}), {}, {}});
  auto stop = fixture.self()->request(fixture.engine(), caf::infinite, ShutDown{milliseconds{0}});
  fixture.run_all();
  reload.receive([](const Reconfigured&) {}, [](const caf::error&) { FAIL("the reload failed"); });
  stop.receive([](const ShutdownCompleted&) {},
               [](const caf::error&) { FAIL("the shutdown failed"); });
  CHECK(fixture.state(id) == JobState::queued);
}
