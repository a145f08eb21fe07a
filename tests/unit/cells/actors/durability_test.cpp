// Cells that keep their jobs in memory, as the engine sees them. The store of these tests keeps all
// jobs alike; tests/unit/src/store/mixed_store_test.cpp has the one that does not.
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

namespace {

CellRule rule(std::string customer, std::string product, Durability durability) {
  CellRule rule;
  rule.customer = std::move(customer);
  rule.product = std::move(product);
  rule.settings.pool_size = 1;
  rule.settings.timeout = milliseconds{1000};
  rule.settings.retry = {3, milliseconds{100}, milliseconds{1000}};
  rule.settings.durability = durability;
  return rule;
}

constexpr auto disk = Durability::disk;
constexpr auto memory = Durability::memory;
const CellKey catch_all{"*", "*"};
const CellKey acme{"acme", "*"};
using Conflicts = std::map<CellKey, std::uint64_t>;

}  // namespace

TEST_CASE("a job is kept as its cell says") {
  Fixture fixture;
  CHECK(fixture.stored(fixture.submit("a"))->durability == disk);
  fixture.reconfigure({rule("*", "*", disk), rule("bolt", "*", memory)});
  auto request = fixture.request("b");
  request.spec.customer = "bolt";
  CHECK(fixture.stored(fixture.submit(request))->durability == memory);
}

TEST_CASE("a reload that would change how unfinished jobs are kept is refused with their number") {
  Fixture fixture;
  const JobId first = fixture.submit("a");
  const JobId second = fixture.submit("b");
  const auto refused = fixture.reconfigure({rule("*", "*", memory), rule("bolt", "*", disk)});
  CHECK(refused.kept_otherwise == Conflicts{{catch_all, 2}});
  CHECK_FALSE(fixture.has_cell({"bolt", "*"}));
  CHECK(fixture.stored(fixture.submit("c"))->durability == disk);
  fixture.cancel(second);
  fixture.succeed(first);
  CHECK(fixture.reconfigure({rule("*", "*", memory)}).kept_otherwise == Conflicts{{catch_all, 1}});
}

TEST_CASE("once the jobs have ended, the same reload is accepted, and so is the way back") {
  Fixture fixture;
  fixture.succeed(fixture.submit("a"));
  CHECK(fixture.reconfigure({rule("*", "*", memory)}).kept_otherwise.empty());
  const JobId id = fixture.submit("a");
  CHECK(fixture.stored(id)->durability == memory);
  CHECK(fixture.reconfigure({rule("*", "*", disk)}).kept_otherwise == Conflicts{{catch_all, 1}});
  fixture.succeed(id);
  CHECK(fixture.reconfigure({rule("*", "*", disk)}).kept_otherwise.empty());
  CHECK(fixture.stored(fixture.submit("a"))->durability == disk);
}

TEST_CASE("a reload that would move jobs between cells of different durability is refused") {
  Fixture fixture;
  fixture.submit("a");
  const auto refused = fixture.reconfigure({rule("*", "*", disk), rule("acme", "*", memory)});
  CHECK(refused.kept_otherwise == Conflicts{{acme, 1}});
  CHECK_FALSE(fixture.has_cell(acme));
}

TEST_CASE("jobs in memory move between cells in memory") {
  Fixture fixture;
  fixture.reconfigure({rule("*", "*", memory)});
  const JobId runs = fixture.submit("a");
  const JobId waits = fixture.submit("b");
  CHECK(fixture.reconfigure({rule("*", "*", memory), rule("acme", "*", memory)})
            .kept_otherwise.empty());
  CHECK(fixture.stored(waits)->cell == acme);
  fixture.succeed(runs);
  fixture.succeed(waits);
  CHECK(fixture.state(waits) == JobState::succeeded);
}

TEST_CASE("jobs that no cell matches wait for a cell that keeps them as they are") {
  Fixture fixture;
  fixture.reconfigure({rule("*", "*", memory)});
  const JobId id = fixture.submit("a");
  CHECK(fixture.reconfigure({rule("bolt", "*", disk)}).kept_otherwise.empty());
  CHECK(fixture.reconfigure({rule("*", "*", disk)}).kept_otherwise == Conflicts{{catch_all, 1}});
  CHECK(fixture.reconfigure({rule("acme", "*", disk)}).kept_otherwise == Conflicts{{acme, 1}});
  CHECK(fixture.reconfigure({rule("acme", "*", memory)}).kept_otherwise.empty());
  fixture.succeed(id);
  CHECK(fixture.state(id) == JobState::succeeded);
}

TEST_CASE("an ended job that still keeps its entity refuses the reload") {
  Fixture fixture;
  fixture.settle_time = milliseconds{500};
  fixture.reconfigure({rule("*", "*", disk)}, {"dns"});
  auto request = fixture.request("a");
  request.spec.max_attempts = 1;
  const JobId id = fixture.submit(request);
  fixture.end_call(id, outcome(CallOutcome::Kind::unknown, "timeout"));
  REQUIRE(fixture.state(id) == JobState::failed);
  REQUIRE(fixture.stored(id)->place != 0);
  CHECK(fixture.reconfigure({rule("*", "*", memory)}).kept_otherwise == Conflicts{{catch_all, 1}});
  fixture.pass(milliseconds{1500});
  CHECK(fixture.reconfigure({rule("*", "*", memory)}).kept_otherwise.empty());
}

TEST_CASE("an ended job whose cell keeps jobs otherwise now is not reopened") {
  Fixture fixture;
  const JobId id = fixture.submit("a");
  fixture.end_call(id, outcome(CallOutcome::Kind::rejected, "no"));
  fixture.reconfigure({rule("*", "*", memory)});
  const auto answer = fixture.reopen(id);
  REQUIRE(answer.refusal);
  CHECK(answer.refusal->kind == Refusal::Kind::durability_differs);
  CHECK(fixture.state(id) == JobState::failed);
  fixture.reconfigure({rule("*", "*", disk)});
  CHECK(fixture.reopen(id).accepted);
}

TEST_CASE("a cell in memory takes jobs of a batch") {
  Fixture fixture;
  fixture.reconfigure({rule("*", "*", memory)});
  auto request = fixture.request("a");
  request.batch = 7;
  const auto answer = fixture.try_to_submit(request);
  REQUIRE(answer.job);
  CHECK(answer.job->batch == 7);
  CHECK(answer.job->durability == memory);
}

TEST_CASE("a submission during a reload that changes how it is kept waits for the decision") {
  for (const bool is_refused : {false, true}) {
    Fixture fixture;
    const JobId old = fixture.submit("old");
    if (!is_refused) fixture.succeed(old);
    const std::vector<CellRule> rules{rule("*", "*", memory)};
    caf::anon_send(fixture.engine(), Reconfigure{std::make_shared<const Routing>(rules), {}, {}});
    const auto answer = fixture.try_to_submit(fixture.request("a"));
    REQUIRE(answer.job);
    CHECK(answer.job->durability == (is_refused ? disk : memory));
  }
}

TEST_CASE("no line ever holds jobs on disk and in memory, whatever the order of messages") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    Fixture fixture;
    const JobId failed = fixture.submit("a");
    fixture.end_call(failed, outcome(CallOutcome::Kind::rejected, "no"));
    if (seed % 3 == 0) fixture.submit("busy");
    const auto reload = [&](Durability durability) {
      const std::vector<CellRule> rules{rule("*", "*", durability), rule("bolt", "*", disk)};
      caf::anon_send(fixture.engine(), Reconfigure{std::make_shared<const Routing>(rules), {}, {}});
    };
    const auto submit = [&](milliseconds delay) {
      auto request = fixture.request("a");
      request.delay = delay;
      caf::anon_send(fixture.engine(), SubmitJob{request});
    };
    if (seed % 2 == 0) submit(milliseconds{0});
    reload(memory);
    submit(milliseconds{0});
    caf::anon_send(fixture.engine(), ReopenJob{fixture.stored(failed)});
    submit(milliseconds{200});
    fixture.run_all_in_any_order(seed);
    reload(disk);
    submit(milliseconds{0});
    fixture.run_all_in_any_order(seed + 1000);
    std::map<std::string, std::set<Durability>> kept;
    std::size_t open = 0;
    for (const auto& [id, stored] : fixture.disk->jobs()) {
      const bool is_open = !is_ended(stored.job->state) || stored.job->place != 0;
      if (!is_open) continue;
      ++open;
      kept[stored.job->spec->entity.id].insert(stored.job->durability);
    }
    CHECK(open >= 3);
    for (const auto& [entity, kinds] : kept) CHECK(kinds.size() == 1);
  }
}

TEST_CASE("a worker outside leases a job in memory") {
  Fixture fixture;
  fixture.reconfigure({rule("*", "*", memory)});
  fixture.submit(fixture.request("a", {"vm"}));
  const auto leases = fixture.lease("host-1");
  REQUIRE(leases.size() == 1);
  CHECK(fixture.end_lease(leases[0].job->lease, outcome(CallOutcome::Kind::succeeded)));
  CHECK(fixture.state(leases[0].job->id) == JobState::succeeded);
}
