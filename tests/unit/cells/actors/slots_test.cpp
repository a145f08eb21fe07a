// Cells that borrow from each other, and the capacity of the daemon.
#include <algorithm>

#include "cells/actors/capacity_desk.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/cells/actors/fixture.hpp"

using namespace cells_test;

namespace {

using Ids = std::vector<JobId>;

const CellKey acme{"acme", "*"};
const CellKey bolt{"bolt", "*"};
const CellKey core{"core", "*"};

CellRule rule(const std::string& customer, std::uint32_t size, std::optional<std::uint32_t> burst,
              std::uint32_t weight = 1) {
  CellRule rule;
  rule.customer = customer;
  rule.settings.pool_size = size;
  rule.settings.pool_burst = burst;
  rule.settings.pool_weight = weight;
  rule.settings.timeout = milliseconds{1000};
  rule.settings.retry = {3, milliseconds{100}, milliseconds{1000}};
  return rule;
}

CellRule a_template(std::uint32_t size) {
  CellRule each = rule("*", size, {});
  each.per_customer = true;
  return each;
}

/// An engine with these cells.
struct Cells : Fixture {
  explicit Cells(const std::vector<CellRule>& rules,
                 std::optional<std::uint64_t> running_max = {}) {
    configure(rules);
    limit_capacity(running_max);
    crash_and_restart();
  }

  Ids submit_many(const std::string& customer, int count, const std::string& service = "dns") {
    Ids ids;
    for (int n = 0; n < count; ++n) {
      auto job = request(customer + std::to_string(++entities_), {service});
      job.spec.customer = customer;
      ids.push_back(submit(std::move(job)));
    }
    return ids;
  }

  std::size_t running(const CellKey& key) { return cell(key).queue.counts[JobState::running]; }

  /// Lets one job of the cell end.
  void end_one(const CellKey& key) {
    for (const auto& [id, row] : disk->jobs()) {
      if (row.job->cell == key && row.job->state == JobState::running && call_of(id)) {
        succeed(id);
        return;
      }
    }
    FAIL("nothing runs in " << to_string(key));
  }

  void check_sums() {
    std::uint64_t borrowed = 0;
    std::uint64_t lent = 0;
    for (const auto& [key, status] : cells()) {
      borrowed += status.pool.borrowed;
      lent += status.pool.lent;
    }
    CHECK(borrowed == lent);
  }

 private:
  int entities_ = 0;
};

/// Counts the slots that the capacity desk grants to it.
SlotHolder::behavior_type holding(SlotHolder::pointer, std::uint32_t* granted) {
  return {[granted](const GrantSlots& grant) { *granted += grant.count; },
          [](const RecallSlots&) {}};
}

}  // namespace

TEST_CASE("a cell runs more than its guarantee on what another leaves idle") {
  Cells engine{{rule("acme", 2, 6), rule("bolt", 3, {})}};
  engine.submit_many("acme", 8);
  CHECK(engine.running(acme) == 5);
  const auto cells = engine.cells();
  CHECK(cells.at(acme).pool.target == 2);
  CHECK(cells.at(acme).pool.busy == 5);
  CHECK(cells.at(acme).pool.borrowed == 3);
  CHECK(cells.at(bolt).pool.lent == 3);
  CHECK(cells.at(bolt).pool.target == 3);
  CHECK(engine.cell(acme).pool.borrowed == 3);
  CHECK(engine.cell(bolt).pool.lent == 3);
  engine.check_sums();
}

TEST_CASE("a cell never runs more than its burst") {
  Cells engine{{rule("acme", 2, 3), rule("bolt", 3, {})}};
  engine.submit_many("acme", 8);
  CHECK(engine.running(acme) == 3);
  for (int n = 0; n < 8; ++n) engine.end_one(acme);
  CHECK(engine.running(acme) == 0);
  engine.check_sums();
  CHECK(engine.cells().at(bolt).pool.lent == 0);
}

TEST_CASE("a guarantee that is asked for comes back as jobs end, and no job is interrupted") {
  Cells engine{{rule("acme", 2, 6), rule("bolt", 3, {})}};
  engine.submit_many("acme", 12);
  REQUIRE(engine.running(acme) == 5);
  engine.submit_many("bolt", 5);
  CHECK(engine.running(acme) == 5);
  CHECK(engine.running(bolt) == 0);
  for (std::size_t ended = 1; ended <= 3; ++ended) {
    engine.end_one(acme);
    CHECK(engine.running(bolt) == ended);
    CHECK(engine.running(acme) == 5 - ended);
    engine.check_sums();
  }
  engine.end_one(acme);
  CHECK(engine.running(acme) == 2);
  CHECK(engine.running(bolt) == 3);
}

TEST_CASE("workers for borrowed slots leave when the slots are given back") {
  Cells engine{{rule("acme", 1, 4), rule("bolt", 3, {})}};
  engine.submit_many("acme", 4);
  CHECK(count_alive(engine.recorder->workers) == 4 + 3);
  for (int n = 0; n < 4; ++n) engine.end_one(acme);
  CHECK(count_alive(engine.recorder->workers) == 1 + 3);
  CHECK(engine.cell(acme).pool.ready == 1);
}

TEST_CASE("idle capacity is shared by weight") {
  Cells engine{{rule("acme", 1, 20, 1), rule("bolt", 1, 20, 3), rule("core", 8, {})}};
  engine.submit_many("acme", 20);
  engine.submit_many("bolt", 20);
  CHECK(engine.running(acme) == 10);
  for (int n = 0; n < 12; ++n) {
    engine.end_one(acme);
  }
  CHECK(engine.running(acme) == 3);
  CHECK(engine.running(bolt) == 7);
  engine.check_sums();
}

TEST_CASE("a paused cell lends, and gets its guarantee back when it resumes") {
  Cells engine{{rule("acme", 2, 4), rule("*", 2, {})}};
  engine.set_state(CellState::paused);
  engine.submit_many("bolt", 2);
  engine.submit_many("acme", 6);
  CHECK(engine.running(acme) == 4);
  engine.set_state(CellState::active);
  CHECK(engine.running({"*", "*"}) == 0);
  engine.end_one(acme);
  engine.end_one(acme);
  CHECK(engine.running({"*", "*"}) == 2);
  CHECK(engine.running(acme) == 2);
}

TEST_CASE("leases outside run, and may borrow") {
  Cells engine{{rule("acme", 1, 4), rule("bolt", 2, {})}};
  engine.submit_many("acme", 5, "vm");
  engine.wait_for_lease("host-1", 5);
  const auto first = engine.granted();
  engine.wait_for_lease("host-2", 5);
  engine.wait_for_lease("host-3", 5);
  CHECK(engine.leases_out().size() == 3);
  CHECK(engine.cell(acme).pool.busy == 3);
  CHECK(engine.cells().at(acme).pool.borrowed == 2);
  engine.submit_many("bolt", 1);
  CHECK(engine.running(bolt) == 0);
  REQUIRE_FALSE(first.empty());
  CHECK(engine.end_lease(first[0].job->lease, outcome(CallOutcome::Kind::succeeded)));
  CHECK(engine.running(bolt) == 1);
}

TEST_CASE("a cell also borrows for a worker outside that does not wait") {
  Cells engine{{rule("acme", 1, 4), rule("bolt", 2, {})}};
  engine.submit_many("acme", 5, "vm");
  std::size_t leases = 0;
  for (int n = 0; n < 4; ++n) leases += engine.lease("host-1", 5).size();
  CHECK(leases == 3);
  CHECK(engine.cell(acme).pool.busy == 3);
}

TEST_CASE("a slot that was borrowed for a worker outside goes where it is needed, or back") {
  Cells engine{{rule("acme", 1, 4), rule("bolt", 1, {})}};
  engine.submit_many("acme", 3, "vm");
  CHECK(engine.lease("host-1", 1).size() == 1);
  CHECK(engine.cells().at(acme).pool.borrowed == 1);
  SECTION("another cell needs it") {
    engine.submit_many("bolt", 1);
    CHECK(engine.running(bolt) == 1);
  }
  SECTION("no further request comes") {
    engine.pass(milliseconds{900});
    CHECK(engine.cells().at(acme).pool.borrowed == 1);
    engine.pass(milliseconds{11'000});
  }
  CHECK(engine.cells().at(acme).pool.borrowed == 0);
}

TEST_CASE("a slot that was borrowed for a worker outside waits for the next request for 10 s") {
  Cells engine{{rule("acme", 1, 4), rule("bolt", 1, {})}};
  engine.submit_many("acme", 3, "vm");
  const auto leases = engine.lease("host-1", 1);
  REQUIRE(leases.size() == 1);
  const auto borrowed = [&] { return engine.cells().at(acme).pool.borrowed; };
  for (int beat = 0; beat < 11; ++beat) {
    engine.pass(milliseconds{900});
    REQUIRE(engine.extend(leases[0].job->lease).lease);
    CHECK(borrowed() == 1);
  }
  engine.pass(milliseconds{100});
  CHECK(borrowed() == 0);
}

TEST_CASE("a slot that was borrowed for a worker outside goes back once no job waits for one") {
  Cells engine{{rule("acme", 1, 4), rule("bolt", 1, {})}};
  engine.submit_many("acme", 1);  // It runs inside, in the cell's own slot.
  const auto outside = engine.submit_many("acme", 1, "vm");
  CHECK(engine.lease("host-1").empty());
  REQUIRE(engine.cells().at(acme).pool.borrowed == 1);
  engine.cancel(outside[0]);
  CHECK(engine.cells().at(acme).pool.borrowed == 0);
}

TEST_CASE("a cell that needs no more than its guarantee and has none to lend sends no message") {
  Cells engine{{rule("acme", 2, {}), rule("bolt", 2, {})}};
  const auto is_silent = [&] {
    const auto cells = engine.cells();
    return cells.at(acme).pool.lent + cells.at(bolt).pool.lent == 0;
  };
  engine.submit_many("acme", 6);
  CHECK(engine.running(acme) == 2);
  for (int n = 0; n < 6; ++n) engine.end_one(acme);
  CHECK(is_silent());
}

TEST_CASE("the daemon runs no more than its capacity") {
  Cells engine{{rule("acme", 1, 9), rule("bolt", 1, 9)}, 6};
  engine.submit_many("acme", 9);
  engine.submit_many("bolt", 9);
  CHECK(engine.running(acme) + engine.running(bolt) == 6);
  for (int n = 0; n < 6; ++n) engine.end_one(acme);
  CHECK(engine.running(acme) == 3);
  CHECK(engine.running(bolt) == 3);
}

TEST_CASE("an instance that finds too little is short, borrows, and gets the rest later") {
  Cells engine{{a_template(2)}, 3};
  const auto a = engine.submit_many("acme", 2);
  const auto b = engine.submit_many("bolt", 2);
  CHECK(engine.cell(acme).pool.target == 2);
  CHECK(engine.cell(bolt).pool.target == 1);
  CHECK(engine.cell(bolt).pool.short_by == 1);
  CHECK(engine.running(bolt) == 1);
  engine.succeed(a[0]);
  CHECK(engine.running(bolt) == 2);  // Borrowed.
  engine.succeed(a[1]);
  for (const JobId id : b) engine.succeed(id);
  auto later = engine.request("later");
  later.spec.customer = "bolt";
  later.delay = std::chrono::hours{1};
  engine.submit(std::move(later));
  for (int i = 0; i < 40; ++i) engine.pass(milliseconds{5000});
  CHECK_FALSE(engine.cells().contains(acme));
  CHECK(engine.cell(bolt).pool.target == 2);
  CHECK(engine.cell(bolt).pool.short_by == 0);
}

TEST_CASE("a size that the capacity does not allow is refused, as is a burst below the size") {
  Cells engine{{rule("acme", 2, 4), rule("bolt", 2, {})}, 5};
  CHECK(engine.change_pool({acme, 4U}).refused == PoolRefusal::beyond_capacity);
  CHECK(engine.change_pool({acme, {}, 1U}).refused == PoolRefusal::burst_below_size);
  CHECK(engine.change_pool({bolt, {}, 1U}).refused == PoolRefusal::burst_below_size);
  CHECK(engine.change_pool({acme, 3U, 2U}).refused == PoolRefusal::burst_below_size);
  CHECK(engine.cell(acme).changed.is_none());
  CHECK_FALSE(engine.change_pool({acme, 3U, 5U, 7U}).refused);
  CHECK(engine.cell(acme).pool.target == 3);
  CHECK(engine.cell(acme).changed == CellOverride{3U, CellState::active, 5U, 7U});
  engine.crash_and_restart();
  CHECK(engine.cell(acme).changed == CellOverride{3U, CellState::active, 5U, 7U});
  CHECK(engine.cell(acme).pool.target == 3);
  CHECK_FALSE(engine.change_pool({acme, {}, {}, 2U}).refused);
  CHECK(engine.cell(acme).changed.pool_burst == 5U);
  CHECK_FALSE(engine.change_pool({acme, {}}).refused);
  CHECK(engine.cell(acme).changed.is_none());
  CHECK(engine.cell(acme).pool.target == 2);
}

TEST_CASE("a burst that is changed holds at once") {
  Cells engine{{rule("acme", 1, {}), rule("bolt", 4, {})}};
  engine.submit_many("acme", 9);
  CHECK(engine.running(acme) == 1);
  engine.change_pool({acme, {}, 4U});
  CHECK(engine.running(acme) == 4);
  engine.change_pool({acme, {}, 2U});
  for (int n = 0; n < 3; ++n) engine.end_one(acme);
  CHECK(engine.running(acme) == 2);
  engine.check_sums();
}

TEST_CASE("sizes of a template are changed for its next instances, and a reload lists them") {
  Cells engine{{a_template(1)}};
  CHECK_FALSE(engine.change_pool({{"*", "*"}, 2U, 3U, 4U}).refused);
  CHECK(engine.change_pool({{"*", "*"}, {}, 1U}).refused == PoolRefusal::burst_below_size);
  CHECK(engine.cell({"*", "*"}).pool.target == 2);
  CHECK(engine.cell({"*", "*"}).settings.pool_size == 1);
  CHECK_FALSE(engine.cell({"*", "*"}).settings.pool_burst);
  engine.submit_many("acme", 4);
  CHECK(engine.cell(acme).pool.target == 2);
  CHECK(engine.cell(acme).settings.pool_burst == 3U);
  CHECK(engine.cell(acme).settings.pool_weight == 4);
  const auto masked = engine.reconfigure({a_template(1)}).masked;
  REQUIRE(masked.size() == 3);
  CHECK(masked[0].setting == "pool.size");
  CHECK(masked[0].in_force == 2);
}

TEST_CASE("changes of a template that come at once all hold") {
  Cells engine{{a_template(1)}};
  const CellKey key{"*", "*"};
  caf::anon_send(engine.engine(), ResizePool{key, 2U});
  caf::anon_send(engine.engine(), ResizePool{key, {}, {}, 4U});
  engine.run_all();
  engine.crash_and_restart();
  engine.submit_many("acme", 1);
  CHECK(engine.cell(acme).pool.target == 2);
  CHECK(engine.cell(acme).settings.pool_weight == 4);
}

TEST_CASE("a start clamps overrides that no longer fit, and a reload lists them") {
  Cells engine{{rule("acme", 2, {}), rule("bolt", 2, {})}, 10};
  engine.change_pool({acme, 8U});
  engine.limit_capacity(6);
  engine.crash_and_restart();
  CHECK(engine.cell(acme).pool.target == 4);
  CHECK(engine.cell(acme).pool.short_by == 4);
  CHECK(engine.cell(bolt).pool.target == 2);
  const auto masked = engine.reconfigure({rule("acme", 2, 3), rule("bolt", 3, {})}).masked;
  REQUIRE(masked.size() == 2);
  CHECK(masked[0].setting == "pool.size");
  CHECK(masked[0].configured == 2);
  CHECK(masked[0].in_force == 3);
  CHECK(masked[1].setting == "pool.burst");
  CHECK(masked[1].configured == 3);
  CHECK(masked[1].in_force == 8);
}

TEST_CASE("a cell that is short of capacity may change its weight, and get back its own size") {
  Cells engine{{rule("acme", 2, {}), rule("bolt", 2, {})}, 10};
  engine.change_pool({acme, 8U});
  engine.limit_capacity(6);
  engine.crash_and_restart();
  REQUIRE(engine.cell(acme).pool.short_by == 4);
  CHECK_FALSE(engine.change_pool({acme, {}, {}, 3U}).refused);
  CHECK(engine.cell(acme).pool.target == 4);
  CHECK_FALSE(engine.change_pool({acme, {}}).refused);
  CHECK(engine.cell(acme).pool.target == 2);
  CHECK(engine.cell(acme).pool.short_by == 0);
}

TEST_CASE("a shutdown of a cell that borrows ends with its last job") {
  Cells engine{{rule("acme", 1, 4), rule("bolt", 3, {})}};
  engine.submit_many("acme", 4);
  REQUIRE(engine.running(acme) == 4);
  auto stopped =
      engine.self()->request(engine.engine(), caf::infinite, ShutDown{milliseconds{60'000}});
  engine.run_all();
  for (int n = 0; n < 4; ++n) engine.end_one(acme);
  REQUIRE(engine.self()->has_next_message());
  stopped.receive([](const ShutdownCompleted& answer) { CHECK(answer.handed_back == 0); },
                  [](const caf::error&) { FAIL("the shutdown failed"); });
}

TEST_CASE("a reload changes sizes, bursts and the capacity while jobs run") {
  Cells engine{{rule("acme", 2, 6), rule("bolt", 4, {})}};
  engine.submit_many("acme", 20);
  REQUIRE(engine.running(acme) == 6);
  engine.limit_capacity(4);
  engine.reconfigure({rule("acme", 1, 6), rule("bolt", 1, {})});
  CHECK(engine.running(acme) == 6);
  for (int n = 0; n < 2; ++n) engine.end_one(acme);
  CHECK(engine.running(acme) == 4);
  engine.end_one(acme);
  CHECK(engine.running(acme) == 4);
  engine.limit_capacity({});
  engine.reconfigure({rule("acme", 2, 6), rule("bolt", 4, {})});
  CHECK(engine.running(acme) == 6);
  engine.reconfigure({rule("*", 2, {})});  // Both cells are taken out.
  CHECK(engine.running(acme) == 6);
  CHECK(engine.cell(acme).pool.target == 0);
  CHECK(engine.cell(acme).pool.short_by == 0);
  CHECK(engine.running({"*", "*"}) == 2);  // As without bursts: it does not wait for them.
  for (int n = 0; n < 6; ++n) engine.end_one(acme);
  CHECK(engine.running({"*", "*"}) == 2);
}

TEST_CASE("the successor of a dispatcher keeps the leases outside, and gives the rest back") {
  Cells engine{{rule("acme", 1, 4), rule("bolt", 3, {})}};
  engine.submit_many("acme", 2, "vm");
  engine.submit_many("acme", 2);
  engine.wait_for_lease("host-1");
  engine.wait_for_lease("host-1");
  REQUIRE(engine.running(acme) == 4);
  const auto dispatcher = std::find_if(engine.recorder->dispatchers.begin(),
                                       engine.recorder->dispatchers.end(), is_alive);
  REQUIRE(dispatcher != engine.recorder->dispatchers.end());
  caf::anon_send_exit(caf::actor_cast<caf::actor>(*dispatcher), caf::exit_reason::kill);
  engine.run_all();
  CHECK(engine.running(acme) == 4);
  engine.check_sums();
  CHECK(engine.cells().at(acme).pool.borrowed == 3);
}

TEST_CASE("leases outside that exceed the guarantee at a start are borrowed") {
  Cells engine{{rule("acme", 1, 4), rule("bolt", 3, {})}};
  engine.submit_many("acme", 3, "vm");
  engine.wait_for_lease("host-1", 1);
  engine.wait_for_lease("host-1", 1);
  engine.wait_for_lease("host-1", 1);
  REQUIRE(engine.leases_out().size() == 3);
  engine.crash_and_restart();
  CHECK(engine.leases_out().size() == 3);
  CHECK(engine.cells().at(acme).pool.borrowed == 2);
  engine.check_sums();
  engine.submit_many("bolt", 3);
  CHECK(engine.running(bolt) == 1);
  CHECK(engine.end_lease(engine.leases_out()[0].job->lease, outcome(CallOutcome::Kind::succeeded)));
  CHECK(engine.running(bolt) == 2);
}

TEST_CASE("after a start, nothing is granted before every cell has told what runs outside") {
  Fixture engine;
  std::uint32_t of_acme = 0;
  std::uint32_t of_bolt = 0;
  const auto desk = spawn_capacity_desk(engine.system());
  const auto holder_of_bolt = engine.system().spawn(holding, &of_bolt);
  const auto holder_of_acme = engine.system().spawn(holding, &of_acme);
  caf::anon_send(desk, LimitCapacity{4});
  caf::anon_send(desk, AwaitCells{{acme, bolt}});
  caf::anon_send(desk, CellJoined{bolt, holder_of_bolt, {3, 3, 1}, 0});
  engine.run_all();
  CHECK(of_bolt == 0);
  caf::anon_send(desk, CellJoined{acme, holder_of_acme, {1, 4, 1}, 3});
  engine.run_all();
  CHECK(of_bolt == 1);
  for (const auto& holder : {holder_of_bolt, holder_of_acme}) {
    caf::anon_send_exit(caf::actor_cast<caf::actor>(holder), caf::exit_reason::kill);
  }
  caf::anon_send_exit(caf::actor_cast<caf::actor>(desk), caf::exit_reason::kill);
  engine.run_all();
}

TEST_CASE("a cell that had joined before it was awaited holds up no other after a start") {
  Fixture engine;
  std::uint32_t of_acme = 0;
  const auto desk = spawn_capacity_desk(engine.system());
  const auto holder = engine.system().spawn(holding, &of_acme);
  caf::anon_send(desk, CellJoined{acme, holder, {2, 2, 1}, 0});
  caf::anon_send(desk, AwaitCells{{acme}});
  engine.run_all();
  CHECK(of_acme == 2);
  caf::anon_send_exit(caf::actor_cast<caf::actor>(holder), caf::exit_reason::kill);
  caf::anon_send_exit(caf::actor_cast<caf::actor>(desk), caf::exit_reason::kill);
  engine.run_all();
}

TEST_CASE("a report of a dispatcher that has a successor gives no slot back") {
  Fixture engine;
  std::uint32_t of_former = 0;
  std::uint32_t of_successor = 0;
  const auto desk = spawn_capacity_desk(engine.system());
  const auto former = engine.system().spawn(holding, &of_former);
  const auto successor = engine.system().spawn(holding, &of_successor);
  const SlotTerms terms{1, 1, 1};
  caf::anon_send(desk, AwaitCells{{acme}});
  caf::anon_send(desk, CellJoined{acme, former, terms, 0});
  engine.run_all();
  CHECK(of_former == 1);
  caf::anon_send(desk, CellJoined{acme, successor, terms, 1});
  caf::send_as(former, desk, SlotsReported{acme, terms, 0, 1});
  engine.run_all();
  CHECK(of_successor == 0);  // It has a job in the only slot.
  for (const auto& holder : {former, successor}) {
    caf::anon_send_exit(caf::actor_cast<caf::actor>(holder), caf::exit_reason::kill);
  }
  caf::anon_send_exit(caf::actor_cast<caf::actor>(desk), caf::exit_reason::kill);
  engine.run_all();
}

TEST_CASE("a cell that closes before it has joined holds up no other after a start") {
  Fixture engine;
  std::uint32_t of_bolt = 0;
  const auto desk = spawn_capacity_desk(engine.system());
  const auto holder_of_bolt = engine.system().spawn(holding, &of_bolt);
  caf::anon_send(desk, LimitCapacity{4});
  caf::anon_send(desk, AwaitCells{{acme, bolt}});
  caf::anon_send(desk, CellJoined{bolt, holder_of_bolt, {3, 3, 1}, 0});
  caf::anon_send(desk, CellLeft{acme});
  engine.run_all();
  CHECK(of_bolt == 3);
  caf::anon_send_exit(caf::actor_cast<caf::actor>(holder_of_bolt), caf::exit_reason::kill);
  caf::anon_send_exit(caf::actor_cast<caf::actor>(desk), caf::exit_reason::kill);
  engine.run_all();
}
