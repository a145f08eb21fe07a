// Schedules: each due time is passed once, together with the job that it submits.
#include "src/store/schedule_rows.hpp"
#include "src/store/schema.hpp"
#include "tests/unit/src/store/contract.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store::test;

namespace {

Schedule schedule_named(const std::string& name) {
  Schedule schedule;
  schedule.name = name;
  schedule.revision = 5;
  schedule.configured = true;
  auto& spec = schedule.spec;
  spec.timing = {milliseconds{0}, "0 3 * * *", "Europe/Berlin"};
  spec.overlap = Overlap::allow;
  spec.catch_up = CatchUp::all;
  spec.paused = true;
  spec.expires_at = at_ms(99'000);
  spec.job.customer = "acme";
  spec.job.product = "dns";
  spec.job.action = "cre\"ate";
  spec.job.entity = {"zone", "primary", "ex\xC3\xA4mple.com"};
  spec.job.services = {"dns", "billing"};
  spec.job.parameters = R"({"ttl":300,"big":18446744073709551615})";
  spec.job.labels = {{"ticket", "T-1"}, {"", "empty name"}};
  spec.job.priority = 9;
  spec.job.timeout = milliseconds{1234};
  spec.job.max_attempts = 7;
  schedule.progress = {at_ms(1000), 42, 3, 2, 1};
  return schedule;
}

Schedule plain(const std::string& name, std::int64_t next_ms) {
  Schedule schedule;
  schedule.name = name;
  schedule.revision = 1;
  schedule.spec.timing = {milliseconds{60'000}, "", ""};
  schedule.spec.job.customer = "acme";
  schedule.progress.next = at_ms(next_ms);
  return schedule;
}

std::optional<Schedule> find(Client& client, const std::string& name) {
  const auto loaded = client.ask(LoadSchedules{name, false, 1}).schedules;
  if (loaded.empty() || loaded.front().name != name) return std::nullopt;
  return loaded.front();
}

ScheduleAdvance advance(const std::string& name, std::int64_t from_ms, std::int64_t to_ms) {
  return {name, 1, at_ms(from_ms), {at_ms(to_ms), 0, 1, 0, 0}};
}

JobInserted insert(Client& client, JobId id, const ScheduleAdvance& firing) {
  return client.ask(InsertJob{sketch_job({.id = id, .entity = std::to_string(id)}), {}, 0, firing});
}

}  // namespace

TEST_CASE("a schedule is stored whole, also across a crash") {
  with_each_store([](Client& client, StoreUnderTest& store) {
    const auto full = schedule_named("full");
    auto least = plain("least", 7);
    least.progress.next.reset();
    client.ask(SaveSchedule{full});
    client.ask(SaveSchedule{least});
    CHECK(find(client, "full") == full);
    store.reopen();
    CHECK(find(client, "full") == full);
    CHECK(find(client, "least") == least);
  });
}

TEST_CASE("a schedule is replaced by one of the same name, and removed by its name") {
  with_each_store([](Client& client, StoreUnderTest& store) {
    client.ask(SaveSchedule{schedule_named("a")});
    client.ask(SaveSchedule{plain("a", 7)});
    CHECK(find(client, "a") == plain("a", 7));
    CHECK(client.ask(RemoveSchedule{"a"}).found);
    CHECK_FALSE(client.ask(RemoveSchedule{"a"}).found);
    CHECK_FALSE(find(client, "a"));
    store.reopen();
    CHECK_FALSE(find(client, "a"));
  });
}

TEST_CASE("schedules are listed in order of their names, page by page") {
  with_each_store([](Client& client, StoreUnderTest&) {
    for (const auto* name : {"b", "a-2", "c", "a"}) client.ask(SaveSchedule{plain(name, 7)});
    const auto names = [&](const LoadSchedules& page) {
      std::vector<std::string> found;
      for (const auto& schedule : client.ask(page).schedules) found.push_back(schedule.name);
      return found;
    };
    using Names = std::vector<std::string>;
    CHECK(names({}) == Names{"a", "a-2", "b", "c"});
    CHECK(names({"", false, 2}) == Names{"a", "a-2"});
    CHECK(names({"a-2", true, 2}) == Names{"b", "c"});
    CHECK(names({"a-2", false, 2}) == Names{"a-2", "b"});
    CHECK(names({"c", true, 2}).empty());
  });
}

TEST_CASE("a firing adds its job and advances the schedule together") {
  with_each_store([](Client& client, StoreUnderTest& store) {
    client.ask(SaveSchedule{plain("s", 100)});
    const auto fired = insert(client, 1, advance("s", 100, 200));
    CHECK(fired.id == 1);
    CHECK(fired.runnable);
    CHECK_FALSE(fired.is_stale);
    CHECK(find(client, "s")->progress == ScheduleProgress{at_ms(200), 1, 1, 0, 0});
    store.reopen();
    CHECK(find(client, "s")->progress == ScheduleProgress{at_ms(200), 1, 1, 0, 0});
    CHECK(client.ask(FindJob{1}).job);
  });
}

TEST_CASE("a due time fires no second job, not even after a crash") {
  with_each_store([](Client& client, StoreUnderTest& store) {
    client.ask(SaveSchedule{plain("s", 100)});
    insert(client, 1, advance("s", 100, 200));
    const auto again = insert(client, 2, advance("s", 100, 200));
    CHECK(again.is_stale);
    CHECK_FALSE(again.runnable);
    store.reopen();
    CHECK(insert(client, 3, advance("s", 100, 200)).is_stale);
    CHECK_FALSE(client.ask(FindJob{2}).job);
    CHECK_FALSE(client.ask(FindJob{3}).job);
    CHECK(runnable_ids(client) == Ids{1});
    CHECK(find(client, "s")->progress.last_job == 1);
    CHECK_FALSE(insert(client, 4, advance("s", 200, 300)).is_stale);
  });
}

TEST_CASE("a firing of an earlier revision or of a removed schedule adds no job") {
  with_each_store([](Client& client, StoreUnderTest&) {
    client.ask(SaveSchedule{plain("s", 100)});
    auto stale = advance("s", 100, 200);
    stale.revision = 2;
    CHECK(insert(client, 1, stale).is_stale);
    CHECK(insert(client, 2, advance("other", 100, 200)).is_stale);
    client.ask(RemoveSchedule{"s"});
    CHECK(insert(client, 3, advance("s", 100, 200)).is_stale);
    CHECK(runnable_ids(client).empty());
  });
}

TEST_CASE("a schedule advances without a job, once from each due time") {
  with_each_store([](Client& client, StoreUnderTest& store) {
    client.ask(SaveSchedule{plain("s", 100)});
    const ScheduleAdvance skip{"s", 1, at_ms(100), {at_ms(200), 9, 4, 5, 6}};
    CHECK(client.ask(AdvanceSchedule{skip}).applied);
    CHECK_FALSE(client.ask(AdvanceSchedule{skip}).applied);
    CHECK_FALSE(client.ask(AdvanceSchedule{{"none", 1, at_ms(100), {}}}).applied);
    store.reopen();
    CHECK(find(client, "s")->progress == skip.after);
  });
}

TEST_CASE("a stored schedule with a value that celld does not write is an error") {
  using celld::store::Connection;
  for (const std::string assignment :
       {R"(job = replace(job, '"priority":', '"priority":9'))",
        R"(job = replace(job, '"on_failure":', '"unknown":'))", "job = '{}'", "job = '['",
        "revision = -1", "last_job = -1", "fired = -1", "skipped = -1", "missed = -1",
        "overlap = -1", "overlap = 2", "catch_up = 3"}) {
    INFO(assignment);
    Connection connection{":memory:", Connection::Access::read_write};
    celld::store::migrate(connection);
    celld::store::ScheduleRows rows{connection};
    rows.save(plain("s", 100));
    REQUIRE(rows.list({}).size() == 1);
    connection.execute(("UPDATE schedules SET " + assignment).c_str());
    CHECK_THROWS_AS(rows.list({}), celld::store::SqliteFailure);
  }
}
