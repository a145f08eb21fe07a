// Quotas of customers and cells, weights, and what administrators change of them.
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

namespace {

/// One cell for all, with these settings.
std::vector<CellRule> rules_with(const std::function<void(CellSettings&)>& change) {
  CellRule rule;
  rule.settings.pool_size = 4;
  rule.settings.timeout = milliseconds{100'000};
  change(rule.settings);
  return {rule};
}

void start_with(Fixture& engine, const std::function<void(CellSettings&)>& change) {
  engine.configure(rules_with(change));
  engine.crash_and_restart();
}

JobRequest request_of(Fixture& engine, const std::string& customer, const std::string& entity) {
  auto request = engine.request(entity);
  request.spec.customer = customer;
  return request;
}

std::size_t running_of(Fixture& engine, const std::string& customer) {
  std::size_t running = 0;
  for (const auto& [id, stored] : engine.disk->jobs()) {
    if (stored.job->spec->customer == customer && stored.job->state == JobState::running) ++running;
  }
  return running;
}

CellStatus change_quota(Fixture& engine, const QuotaOverride& quota) {
  std::optional<CellStatus> status;
  auto answer =
      engine.self()->request(engine.engine(), caf::infinite, ChangeQuota{{"*", "*"}, quota});
  engine.run_all();
  answer.receive([&](const CellDescribed& described) { status = described.status; },
                 [](const caf::error&) { FAIL("no answer"); });
  REQUIRE(status);
  return *status;
}

}  // namespace

TEST_CASE("a customer at its limit of jobs is refused, and others are not") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) { settings.customer.jobs_max = 2; });
  const JobId first = engine.submit(request_of(engine, "acme", "a"));
  engine.submit(request_of(engine, "acme", "b"));
  const auto refused = engine.try_to_submit(request_of(engine, "acme", "c"));
  REQUIRE(refused.refusal);
  CHECK(refused.refusal->kind == Refusal::Kind::customer_jobs_full);
  CHECK(refused.refusal->limit == 2);
  CHECK(refused.refusal->depth == 2);
  CHECK(engine.recorder->refusals == std::vector{Refusal::Kind::customer_jobs_full});
  CHECK(engine.recorder->refused_customers == std::vector<std::string>{"acme"});
  engine.submit(request_of(engine, "bolt", "a"));
  CHECK(engine.cell().queue.counts.unfinished() == 3);
  engine.succeed(first);
  engine.submit(request_of(engine, "acme", "c"));
}

TEST_CASE("the probe sees one refusal of a customer at its limit, even with an idempotency key") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) { settings.customer.jobs_max = 1; });
  engine.submit(request_of(engine, "acme", "a"));
  auto keyed = request_of(engine, "acme", "b");
  keyed.idempotency = Idempotency{"key", "digest"};
  REQUIRE(engine.try_to_submit(keyed).refusal);
  CHECK(engine.recorder->refusals == std::vector{Refusal::Kind::customer_jobs_full});
  CHECK(engine.recorder->refused_customers == std::vector<std::string>{"acme"});
}

TEST_CASE("the retry_after of a customer at its quota follows from the ends of its own jobs") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) {
    settings.customer.jobs_max = 1;
    settings.pool_size = 2;
  });
  for (int n = 0; n < 6; ++n) {  // One job in 30 s, beside a quick customer.
    const JobId slow = engine.submit(request_of(engine, "acme", "a"));
    for (int quick = 0; quick < 10; ++quick) {
      const JobId id = engine.submit(request_of(engine, "bolt", "a"));
      engine.pass(milliseconds{3000});
      engine.succeed(id);
    }
    engine.succeed(slow);
  }
  engine.submit(request_of(engine, "acme", "a"));
  const auto refusal = engine.try_to_submit(request_of(engine, "acme", "b")).refusal;
  REQUIRE(refusal);
  CHECK(refusal->retry_after > std::chrono::seconds{15});
  CHECK(refusal->retry_after < std::chrono::seconds{60});
}

TEST_CASE("refused clients whose time to return has passed delay no later ones of their customer") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) { settings.customer.jobs_max = 10; });
  for (int n = 0; n < 10; ++n) {
    engine.submit(request_of(engine, "acme", "before " + std::to_string(n)));
  }
  const auto end_one = [&] {
    engine.pass(milliseconds{1000});
    engine.succeed(engine.calls->pending.at(0).call.job->id);
  };
  for (int n = 0; n < 2; ++n) {  // One job a second, from the second end on.
    end_one();
    engine.submit(request_of(engine, "acme", "first " + std::to_string(n)));
  }
  std::vector<milliseconds> waits;
  for (int n = 0; n < 6; ++n) {
    const auto refusal = engine.try_to_submit(request_of(engine, "acme", "refused")).refusal;
    REQUIRE(refusal);
    waits.push_back(refusal->retry_after);
    end_one();
    engine.submit(request_of(engine, "acme", "later " + std::to_string(n)));
  }
  CHECK(waits == std::vector<milliseconds>(6, std::chrono::seconds{1}));
}

TEST_CASE("a cell that has had no jobs for long says when there will be room as before") {
  const auto kind = GENERATE(Refusal::Kind::queue_full, Refusal::Kind::customer_jobs_full);
  Fixture engine;
  start_with(engine, [&](CellSettings& settings) {
    if (kind == Refusal::Kind::queue_full) {
      settings.jobs_max = 1;
    } else {
      settings.customer.jobs_max = 1;
    }
  });
  const auto run_for_2_s = [&] {
    const JobId id = engine.submit("a");
    engine.pass(milliseconds{2000});
    engine.succeed(id);
  };
  for (int n = 0; n < 3; ++n) run_for_2_s();
  engine.pass(milliseconds{3'600'000});
  run_for_2_s();
  engine.submit("a");
  const auto refusal = engine.try_to_submit(engine.request("b")).refusal;
  REQUIRE(refusal);
  CHECK(refusal->kind == kind);
  CHECK(refusal->retry_after < std::chrono::seconds{5});
}

TEST_CASE("a retry needs room for its customer") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) { settings.customer.jobs_max = 1; });
  const JobId failed = engine.submit(request_of(engine, "acme", "a"));
  engine.end_call(failed, outcome(CallOutcome::Kind::rejected, "provider_rejected"));
  engine.submit(request_of(engine, "acme", "b"));
  const auto answer = engine.reopen(failed);
  REQUIRE(answer.refusal);
  CHECK(answer.refusal->kind == Refusal::Kind::customer_jobs_full);
  CHECK(engine.recorder->refusals == std::vector{Refusal::Kind::customer_jobs_full});
  CHECK(engine.recorder->refused_customers == std::vector<std::string>{"acme"});
  CHECK(engine.cell().queue.counts.unfinished() == 1);
  CHECK(engine.cell().queue.counts.bytes == queued_bytes(*engine.stored(failed)->spec));
}

TEST_CASE("a cell knows the bytes of its unfinished jobs, also after a restart") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) { settings.bytes_max = 1400; });
  const JobId id = engine.submit("a");
  const auto bytes = queued_bytes(*engine.stored(id)->spec);
  engine.submit("b");
  CHECK(engine.cell().queue.counts.bytes == 2 * bytes);
  CHECK(engine.try_to_submit(engine.request("c")).refusal->kind == Refusal::Kind::cell_bytes_full);
  engine.crash_and_restart();
  CHECK(engine.cell().queue.counts.bytes == 2 * bytes);
  CHECK(engine.try_to_submit(engine.request("c")).refusal->kind == Refusal::Kind::cell_bytes_full);
  engine.succeed(id);
  engine.submit("c");
}

TEST_CASE("submissions keep to their rates") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) { settings.customer.submissions = {1, 2}; });
  engine.submit(request_of(engine, "acme", "a"));
  engine.submit(request_of(engine, "acme", "b"));
  const auto refused = engine.try_to_submit(request_of(engine, "acme", "c"));
  REQUIRE(refused.refusal);
  CHECK(refused.refusal->kind == Refusal::Kind::customer_rate);
  CHECK(refused.refusal->per_s == 1);
  CHECK_FALSE(refused.returned);
  engine.submit(request_of(engine, "bolt", "a"));
  engine.pass(milliseconds{1000});
  engine.submit(request_of(engine, "acme", "c"));
}

TEST_CASE("a refusal for a rate names the rate that was exceeded") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) {
    settings.submissions = {2, 1};
    settings.customer.submissions = {5, 5};
  });
  engine.submit("a");
  const auto refused = engine.try_to_submit(engine.request("b"));
  REQUIRE(refused.refusal);
  CHECK(refused.refusal->kind == Refusal::Kind::queue_rate);
  CHECK(refused.refusal->per_s == 2);
  CHECK(refused.refusal->limit == 2);
}

TEST_CASE("the holder of a key is found before the rate is looked at, and uses none of it") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) { settings.customer.submissions = {1, 1}; });
  auto request = engine.request("a");
  request.idempotency = Idempotency{"key", "d"};
  const auto first = engine.try_to_submit(request);
  REQUIRE(first.job);
  CHECK(engine.try_to_submit(request).replayed);
  engine.pass(milliseconds{1000});
  CHECK(engine.try_to_submit(request).replayed);
  engine.submit("b");
}

TEST_CASE("a submission for which its customer has no room uses none of the rate") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) {
    settings.customer.jobs_max = 1;
    settings.customer.submissions = {1, 2};
  });
  const JobId first = engine.submit("a");
  CHECK(engine.try_to_submit(engine.request("b")).refusal->kind ==
        Refusal::Kind::customer_jobs_full);
  engine.succeed(first);
  engine.submit("b");
}

TEST_CASE("an idle instance of a template still holds submissions to its rates") {
  const auto kind = GENERATE(Refusal::Kind::queue_rate, Refusal::Kind::customer_rate);
  Fixture engine;
  auto rules = rules_with([&](CellSettings& settings) {
    const bool of_customer = kind == Refusal::Kind::customer_rate;
    (of_customer ? settings.customer.submissions : settings.submissions) = {0.1, 1};
  });
  rules[0].per_customer = true;
  engine.configure(rules);
  engine.crash_and_restart();
  engine.succeed(engine.submit("a"));
  for (int second = 0; second < 8; ++second) engine.pass(milliseconds{1000});
  const auto refused = engine.try_to_submit(engine.request("b"));
  REQUIRE(refused.refusal);
  CHECK(refused.refusal->kind == kind);
}

TEST_CASE("an instance with a rate that gets a job while it is closing closes after that job") {
  constexpr milliseconds tick{5000};
  const auto begin = [](Fixture& engine) {
    auto rules = rules_with([](CellSettings& settings) { settings.submissions = {0.1, 1}; });
    rules[0].per_customer = true;
    engine.configure(rules);
    engine.crash_and_restart();
    engine.succeed(engine.submit("a"));
  };
  int ticks = 0;
  {
    Fixture engine;
    begin(engine);
    for (; count_alive(engine.recorder->dispatchers) == 1; ++ticks) engine.pass(tick);
  }
  for (int steps = 0; steps < 20; ++steps) {
    Fixture engine;
    begin(engine);
    for (int i = 1; i < ticks; ++i) engine.pass(tick);
    engine.wall += tick;
    engine.scheduler().advance_time(tick);
    for (int i = 0; i < steps; ++i) engine.scheduler().try_run_once();
    engine.succeed(engine.submit("b"));
    for (int i = 0; i < 10; ++i) engine.pass(tick);
    CHECK(count_alive(engine.recorder->dispatchers) == 0);
  }
}

TEST_CASE("a job of a batch that comes too fast is returned and does not end the batch") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) { settings.submissions = {1, 1}; });
  const auto gate = std::make_shared<BatchGate>();
  const auto of_batch = [&](const std::string& entity, std::optional<Idempotency> key) {
    auto request = engine.request(entity);
    request.batch = 7;
    request.gate = gate;
    request.idempotency = std::move(key);
    return request;
  };
  CHECK(engine.try_to_submit(of_batch("a", {})).job);
  for (const auto& key : {std::optional<Idempotency>{}, std::optional{Idempotency{"k", "d"}}}) {
    const auto answer = engine.try_to_submit(of_batch("b", key));
    REQUIRE(answer.returned);
    CHECK(answer.refusal->kind == Refusal::Kind::queue_rate);
    CHECK(answer.returned->spec.entity.id == "b");
    CHECK_FALSE(gate->is_closed());
    engine.pass(milliseconds{1000});
    // The jobs behind it come after it, even if there is room for them by now.
    const auto behind = engine.try_to_submit(of_batch("c", {}));
    CHECK(behind.returned);
    CHECK_FALSE(behind.refusal);
    gate->go_on();
    CHECK(engine.try_to_submit(*answer.returned).job);
  }
  CHECK(engine.recorder->refusals.empty());
}

TEST_CASE("a job of a batch with a key of another job is refused for good, even if too fast") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) { settings.submissions = {1, 1}; });
  auto request = engine.request("a");
  request.idempotency = Idempotency{"k", "d"};
  REQUIRE(engine.try_to_submit(request).job);
  request.batch = 7;
  request.gate = std::make_shared<BatchGate>();
  request.idempotency = Idempotency{"k", "other"};
  const auto answer = engine.try_to_submit(request);
  REQUIRE(answer.refusal);
  CHECK(answer.refusal->kind == Refusal::Kind::key_reused);
  CHECK_FALSE(answer.returned);
  CHECK(engine.recorder->refusals == std::vector{Refusal::Kind::key_reused});
}

TEST_CASE("a customer's limit of jobs or of their bytes ends a batch") {
  const auto kind = GENERATE(Refusal::Kind::customer_jobs_full, Refusal::Kind::customer_bytes_full);
  Fixture engine;
  start_with(engine, [&](CellSettings& settings) {
    if (kind == Refusal::Kind::customer_jobs_full) {
      settings.customer.jobs_max = 1;
    } else {
      settings.customer.bytes_max = 1000;  // A job takes more than half of it.
    }
  });
  auto request = engine.request("a");
  request.batch = 7;
  request.gate = std::make_shared<BatchGate>();
  CHECK(engine.try_to_submit(request).job);
  request.spec.entity.id = "b";
  CHECK(engine.try_to_submit(request).refusal->kind == kind);
  CHECK(request.gate->is_closed());
}

TEST_CASE("no more jobs of a customer run than its quota allows, and others take their places") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) { settings.customer.running_max = 2; });
  std::vector<JobId> ids;
  for (int n = 0; n < 10; ++n) {
    ids.push_back(engine.submit(request_of(engine, "acme", std::to_string(n))));
  }
  CHECK(running_of(engine, "acme") == 2);
  engine.submit(request_of(engine, "bolt", "a"));
  engine.submit(request_of(engine, "bolt", "b"));
  engine.submit(request_of(engine, "bolt", "c"));
  CHECK(running_of(engine, "bolt") == 2);
  engine.succeed(ids[0]);
  CHECK(running_of(engine, "acme") == 2);
  for (std::size_t n = 1; n < ids.size(); ++n) engine.succeed(ids[n]);
  CHECK(running_of(engine, "acme") == 0);
}

TEST_CASE("the quota of running jobs holds after a restart and for workers outside") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) { settings.customer.running_max = 1; });
  engine.submit(engine.request("a", {"vm"}));
  engine.submit(engine.request("b", {"vm"}));
  engine.submit(engine.request("c"));
  CHECK(running_of(engine, "acme") == 1);  // The one inside.
  CHECK(engine.lease("host", 5).empty());
  for (const auto& [id, stored] : engine.disk->jobs()) {
    if (stored.job->state == JobState::running) {
      engine.succeed(id);
      break;
    }
  }
  const auto leases = engine.lease("host", 5);
  REQUIRE(leases.size() == 1);
  engine.crash_and_restart();
  CHECK(engine.lease("host", 5).empty());
  CHECK(running_of(engine, "acme") == 1);
  CHECK(engine.end_lease(leases[0].job->lease, outcome(CallOutcome::Kind::succeeded)));
  CHECK(engine.lease("host", 5).size() == 1);
}

TEST_CASE("an administrator changes limits at once, for good, and back") {
  Fixture engine;
  start_with(engine, [](CellSettings& settings) { settings.customer.running_max = 1; });
  for (int n = 0; n < 6; ++n) engine.submit(request_of(engine, "acme", std::to_string(n)));
  CHECK(running_of(engine, "acme") == 1);
  const QuotaOverride lifted{{QuotaLimit::customer_running, 3}, {QuotaLimit::queue_jobs, 6}};
  CHECK(change_quota(engine, lifted).changed.quota == lifted);
  CHECK(running_of(engine, "acme") == 3);
  CHECK(engine.try_to_submit(engine.request("x")).refusal->kind == Refusal::Kind::queue_full);
  engine.crash_and_restart();
  engine.run_all();
  CHECK(engine.cell().changed.quota == lifted);
  CHECK(engine.cell().settings.customer.running_max == 1);
  CHECK(running_of(engine, "acme") == 3);
  CHECK(engine.try_to_submit(engine.request("x")).refusal->kind == Refusal::Kind::queue_full);
  const auto masked =
      engine.reconfigure(rules_with([](CellSettings& settings) { settings.jobs_max = 9; })).masked;
  REQUIRE(masked.size() == 2);
  CHECK(masked[0].setting == "queue.max_jobs");
  CHECK(masked[0].configured == 9);
  CHECK(masked[0].in_force == 6);
  CHECK(masked[1].setting == "customers.quota.max_running");
  CHECK_FALSE(masked[1].configured);
  CHECK(masked[1].in_force == 3);
  CHECK(engine.cell().changed.quota == lifted);
  CHECK(running_of(engine, "acme") == 3);
  CHECK(change_quota(engine, {}).changed.is_none());
  CHECK(running_of(engine, "acme") == 4);  // The new configuration has no such limit.
  engine.submit("x");
}

TEST_CASE("a limit that an administrator sets for a template holds in its new instances") {
  Fixture engine;
  auto rules = rules_with([](CellSettings&) {});
  rules[0].per_customer = true;
  engine.configure(rules);
  engine.crash_and_restart();
  const QuotaOverride limited{{QuotaLimit::customer_jobs, 1}};
  CHECK(change_quota(engine, limited).changed.quota == limited);
  const JobId first = engine.submit("a");
  CHECK(engine.stored(first)->cell == CellKey{"acme", "*"});
  const auto refused = engine.try_to_submit(engine.request("b"));
  REQUIRE(refused.refusal);
  CHECK(refused.refusal->kind == Refusal::Kind::customer_jobs_full);
  CHECK(refused.refusal->limit == 1);
}

TEST_CASE("a reload names the limits that an administrator has changed since the start") {
  Fixture engine;
  const auto rules = rules_with([](CellSettings& settings) { settings.jobs_max = 9; });
  engine.configure(rules);
  engine.crash_and_restart();
  change_quota(engine, {{QuotaLimit::queue_jobs, 6}});
  const auto masked = engine.reconfigure(rules).masked;
  REQUIRE(masked.size() == 1);
  CHECK(masked[0].setting == "queue.max_jobs");
  CHECK(masked[0].configured == 9);
  CHECK(masked[0].in_force == 6);
  change_quota(engine, {});
  CHECK(engine.reconfigure(rules).masked.empty());
}

TEST_CASE("a reload names a limit that an administrator has lifted") {
  Fixture engine;
  const auto rules = rules_with([](CellSettings& settings) { settings.customer.running_max = 2; });
  engine.configure(rules);
  engine.crash_and_restart();
  change_quota(engine, {{QuotaLimit::customer_running, 0}});
  const auto masked = engine.reconfigure(rules).masked;
  REQUIRE(masked.size() == 1);
  CHECK(masked[0].configured == 2);
  CHECK_FALSE(masked[0].in_force);
}

TEST_CASE("weights of customers change with a reload") {
  const bool limited = GENERATE(false, true);  // The jobs of a limited service have their own lane.
  Fixture engine;
  if (limited) engine.protection["dns"] = {{1, std::nullopt, 1}, std::nullopt};
  const auto weighted = [](std::uint32_t weight) {
    return rules_with([weight](CellSettings& settings) {
      settings.pool_size = 1;
      settings.weights = CustomerWeights{{{"gold", weight}}};
    });
  };
  engine.configure(weighted(3));
  engine.crash_and_restart();
  for (int n = 0; n < 60; ++n) {
    engine.submit(request_of(engine, "gold", std::to_string(n)));
    engine.submit(request_of(engine, "acme", std::to_string(n)));
  }
  const auto serve = [&](int jobs) {
    int of_gold = 0;
    for (int n = 0; n < jobs; ++n) {
      REQUIRE(engine.calls->pending.size() == 1);
      const auto call = engine.calls->pending[0].call;
      of_gold += call.job->spec->customer == "gold" ? 1 : 0;
      engine.pass(milliseconds{10});
      engine.succeed(call.job->id);
    }
    return of_gold;
  };
  CHECK(std::abs(serve(40) - 30) <= 2);
  engine.reconfigure(weighted(1));
  CHECK(std::abs(serve(40) - 20) <= 3);
}

TEST_CASE("the weight of a customer counts against customers in another lane") {
  Fixture engine;
  engine.protection["dns"] = {{100, std::nullopt, 1}, std::nullopt};  // A lane of its own.
  start_with(engine, [](CellSettings& settings) {
    settings.pool_size = 1;
    settings.weights = CustomerWeights{{{"gold", 3}}};
  });
  for (int n = 0; n < 60; ++n) {
    engine.submit(request_of(engine, "gold", std::to_string(n)));
    auto other = engine.request(std::to_string(n), {"billing"});
    other.spec.customer = "acme";
    engine.submit(std::move(other));
  }
  int of_gold = 0;
  for (int n = 0; n < 40; ++n) {
    REQUIRE(engine.calls->pending.size() == 1);
    const auto call = engine.calls->pending[0].call;
    of_gold += call.job->spec->customer == "gold" ? 1 : 0;
    engine.pass(milliseconds{10});
    engine.succeed(call.job->id);
  }
  CHECK(std::abs(of_gold - 30) <= 3);
}
