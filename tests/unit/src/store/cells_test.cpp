// The operations that a startup uses: epochs, cells, backlogs, moves, overrides.
#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store::test;

TEST_CASE("epochs grow across restarts, and last_id is the greatest id or place") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    auto started = client.ask(StartEpoch{});
    CHECK(started.epoch == 1);
    CHECK(started.last_id == 0);
    client.ask(InsertJob{sketch_job({.id = 7})});
    const auto last = sketch_job({.id = 9, .run_at = at_ms(5)});
    client.ask(InsertJob{last});
    under_test.reopen();
    started = client.ask(StartEpoch{});
    CHECK(started.epoch == 2);
    CHECK(started.last_id == 9);
    client.ask(AdvanceDue{acme_cell, at_ms(5), 20, 1});
    under_test.reopen();
    started = client.ask(StartEpoch{});
    CHECK(started.epoch == 3);
    CHECK(started.last_id == 20);
  });
}

TEST_CASE("an epoch is at least the seconds since 1970, and greater than all earlier ones") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    CHECK(client.ask(StartEpoch{at_ms(7'900)}).epoch == 7);
    CHECK(client.ask(StartEpoch{at_ms(7'950)}).epoch == 8);
    under_test.reopen();
    CHECK(client.ask(StartEpoch{at_ms(100)}).epoch == 9);
  });
}

TEST_CASE("a cell is listed while it has unfinished or settling jobs") {
  with_each_store([](Client& client, StoreUnderTest&) {
    CHECK(client.ask(LoadCells{}).with_jobs.empty());
    const auto first = sketch_job({.id = 1, .entity = "a", .cell = {"b", "*"}});
    const auto second = sketch_job({.id = 2, .entity = "b", .cell = {"*", "dns"}});
    client.ask(InsertJob{first});
    client.ask(InsertJob{second});
    CHECK(client.ask(LoadCells{}).with_jobs == std::vector<CellKey>{{"*", "dns"}, {"b", "*"}});
    client.ask(RecordJob{{}, ended(first)});
    client.ask(RecordJob{{}, settling(second, at_ms(9))});
    CHECK(client.ask(LoadCells{}).with_jobs == std::vector<CellKey>{{"*", "dns"}});
    client.ask(AdvanceDue{{"*", "dns"}, at_ms(9), 50, 1});
    CHECK(client.ask(LoadCells{}).with_jobs.empty());
  });
}

TEST_CASE("loading a cell returns its running jobs, its counts and its next due time") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const auto busy = sketch_job({.id = 1, .entity = "a"});
    client.ask(InsertJob{busy});
    client.ask(InsertJob{sketch_job({.id = 2, .entity = "b", .customer = "zeta"})});
    client.ask(InsertJob{sketch_job({.id = 3, .entity = "c", .run_at = at_ms(99)})});
    client.ask(InsertJob{sketch_job({.id = 4, .entity = "d", .cell = {"other", "*"}})});
    client.tell(ClaimJob{running(busy, {1, 1})});
    client.ask(FlushStore{});
    under_test.reopen();
    const auto loaded = client.ask(LoadCell{acme_cell});
    CHECK(loaded.counts[JobState::running] == 1);
    CHECK(loaded.counts[JobState::queued] == 1);
    CHECK(loaded.counts[JobState::scheduled] == 1);
    CHECK(loaded.counts.unfinished() == 3);
    REQUIRE(ids(loaded.running) == Ids{1});
    CHECK(*loaded.running[0] == *running(busy, {1, 1}));
    CHECK(loaded.runnable);
    CHECK(loaded.next_due == at_ms(99));
    CHECK(client.ask(LoadCell{{"nobody", "*"}}).counts == JobCounts{});
  });
}

TEST_CASE("backlogs are listed in order, page by page") {
  with_each_store([](Client& client, StoreUnderTest&) {
    JobId id = 0;
    std::vector<StoredBacklog> expected;
    for (const CellKey& cell : {CellKey{"*", "*"}, CellKey{"a", "*"}}) {
      for (const char* customer : {"a", "b"}) {
        for (const char* product : {"dns", "mail"}) {
          ++id;
          client.ask(InsertJob{sketch_job({.id = id,
                                           .entity = std::to_string(id),
                                           .customer = customer,
                                           .product = product,
                                           .cell = cell})});
          expected.push_back({cell, customer, product});
        }
      }
    }
    std::vector<StoredBacklog> found;
    ListBacklogs request{{}, {}, {}, 3};
    for (int page = 0; page < 4; ++page) {
      const auto backlogs = client.ask(request).backlogs;
      CHECK(backlogs.size() <= 3);
      for (const auto& backlog : backlogs) found.push_back(backlog);
      if (backlogs.size() < 3) break;
      request = {backlogs.back().cell, backlogs.back().customer, backlogs.back().product, 3};
    }
    CHECK(found == expected);
  });
}

TEST_CASE("a move takes a backlog's unfinished and settling jobs and leaves lines as they are") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const CellKey to{"*", "*"};
    const StoredBacklog backlog{acme_cell, "acme", "dns"};
    const auto over = sketch_job({.id = 1, .entity = "a"});
    const auto busy = sketch_job({.id = 2, .entity = "b"});
    const auto settles = sketch_job({.id = 3, .entity = "c"});
    for (const auto& job : {over, busy, settles}) client.ask(InsertJob{job});
    client.ask(InsertJob{sketch_job({.id = 4, .entity = "b"})});
    client.ask(InsertJob{sketch_job({.id = 5, .entity = "d", .run_at = at_ms(50)})});
    client.ask(InsertJob{sketch_job({.id = 6, .entity = "e", .product = "mail"})});
    client.ask(RecordJob{{}, ended(over)});
    client.ask(RecordJob{{}, settling(settles, at_ms(40))});
    client.tell(ClaimJob{running(busy, {1, 1})});

    CHECK(client.ask(MoveJobs{backlog, to, 3}).moved == 3);
    CHECK(client.ask(MoveJobs{backlog, to, 3}).moved == 1);
    CHECK(client.ask(MoveJobs{backlog, to, 3}).moved == 0);
    under_test.reopen();
    CHECK(client.ask(FindJob{1}).job->cell == acme_cell);
    CHECK(client.ask(LoadCell{acme_cell}).counts.unfinished() == 1);
    const auto loaded = client.ask(LoadCell{to});
    CHECK(loaded.counts.unfinished() == 3);
    REQUIRE(ids(loaded.running) == Ids{2});
    CHECK(loaded.running[0]->lease == Lease{1, 1});
    CHECK(loaded.next_due == at_ms(40));
    const auto late = ended(running(busy, {1, 1}));
    CHECK(client.ask(RecordJob{{1, 1}, late}).promoted->id == 4);
    CHECK(client.ask(FindJob{2}).job->cell == to);
    CHECK(runnable_ids(client, to) == Ids{4});
    CHECK(client.ask(ListBacklogs{{}, {}, {}, 10}).backlogs.size() == 2);
  });
}

TEST_CASE("a move can leave running jobs in place, and counts the unfinished jobs that it moves") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const CellKey to{"*", "*"};
    const StoredBacklog backlog{acme_cell, "acme", "dns"};
    const auto busy = sketch_job({.id = 1, .entity = "a"});
    const auto settles = sketch_job({.id = 2, .entity = "b"});
    for (const auto& job : {busy, settles}) client.ask(InsertJob{job});
    client.ask(InsertJob{sketch_job({.id = 3, .entity = "c"})});
    client.ask(InsertJob{sketch_job({.id = 4, .entity = "d", .run_at = at_ms(50)})});
    client.ask(RecordJob{{}, settling(settles, at_ms(40))});
    client.tell(ClaimJob{running(busy, {1, 1})});

    const auto moved = client.ask(MoveJobs{backlog, to, 10, false});
    CHECK(moved.moved == 3);
    CHECK(moved.counts[JobState::queued] == 1);
    CHECK(moved.counts[JobState::scheduled] == 1);
    CHECK(moved.counts.unfinished() == 2);
    CHECK(moved.counts.bytes == 2 * queued_bytes(*settles->spec));
    CHECK(client.ask(FindJob{1}).job->cell == acme_cell);
    CHECK(client.ask(LoadCell{acme_cell}).counts.unfinished() == 1);
    CHECK(client.ask(MoveJobs{backlog, to, 10, false}).moved == 0);
    const auto rest = client.ask(MoveJobs{backlog, to, 10});
    CHECK(rest.counts[JobState::running] == 1);
    CHECK(client.ask(LoadCell{to}).counts.unfinished() == 3);
  });
}

TEST_CASE("a job needs each service whose step it has not completed") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto both = [](JobId id) {
      return changed(sketch_job({.id = id, .entity = std::to_string(id)}), [](Job& job) {
        auto spec = std::make_shared<JobSpec>(*job.spec);
        spec->services = {"first", "second"};
        job.spec = spec;
        job.steps.resize(2);
      });
    };
    for (const JobId id : {1, 2, 3}) client.ask(InsertJob{both(id)});
    client.ask(RecordJob{{}, changed(both(1), [](Job& job) { job.step = 1; })});
    client.ask(RecordJob{{}, ended(both(2), JobState::failed)});

    const std::map<std::string, std::uint64_t> expected{{"first", 1}, {"second", 2}};
    CHECK(client.ask(CountNeeds{{"first", "second", "third"}}).jobs == expected);
    CHECK(client.ask(CountNeeds{{"third"}}).jobs.empty());
  });
}

TEST_CASE("an override is kept until it is undone") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    client.ask(SetCellOverride{{"b", "*"}, {7, CellState::paused}});
    client.ask(SetCellOverride{{"a", "*"}, {std::nullopt, CellState::draining}});
    client.ask(SetCellOverride{{"b", "*"}, {8, CellState::active}});
    client.ask(SetCellOverride{{"c", "*"}, {1, CellState::active}});
    client.ask(SetCellOverride{{"c", "*"}, {}});
    client.ask(SetCellOverride{{"d", "*"}, {std::nullopt, CellState::active, 9, 3}});
    const std::map<CellKey, CellOverride> expected{
        {{"a", "*"}, {std::nullopt, CellState::draining}},
        {{"b", "*"}, {8, CellState::active}},
        {{"d", "*"}, {std::nullopt, CellState::active, 9, 3}}};
    CHECK(client.ask(LoadCells{}).overrides == expected);
    under_test.reopen();
    CHECK(client.ask(LoadCells{}).overrides == expected);
    CHECK(client.ask(LoadCells{}).with_jobs.empty());
  });
}
