// The reads of the API: jobs by id and by filter, and the oldest queued job.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/store/sqlite_reads.hpp"
#include "tests/unit/src/store/contract.hpp"
#include "tests/unit/src/store/sqlite_under_test.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store::test;

namespace {

JobId id_at(std::int64_t ms, JobId counter = 0) {
  return first_job_id_at(at_ms(ms)) + counter;
}

/// Inserts a mixture of jobs, of which each filter below matches some but not all. Returns them,
/// newest first.
std::vector<JobPtr> mixture(Client& client) {
  std::vector<JobPtr> jobs;
  for (int i = 0; i < 240; ++i) {
    JobSketch sketch;
    sketch.id = id_at(1000 + i / 2, static_cast<JobId>(i % 2));
    sketch.entity = "e" + std::to_string(i % 30);
    sketch.entity_type = i % 3 == 0 ? "host" : "zone";
    sketch.customer = i % 4 == 0 ? "acme" : "bolt";
    sketch.product = i % 5 == 0 ? "mail" : "dns";
    sketch.cell = {sketch.customer, "*"};
    sketch.services =
        i % 2 == 0 ? std::vector<std::string>{"dns", "billing"} : std::vector<std::string>{"dns"};
    if (i % 6 == 0) sketch.labels = {{"ticket", "T-" + std::to_string(i % 12)}, {"team", "\"x\""}};
    auto job = sketch_job(sketch);
    client.ask(InsertJob{job});
    if (i % 7 == 0) {
      job = ended(job, i % 14 == 0 ? JobState::failed : JobState::succeeded);
      client.ask(RecordJob{{}, job});
    }
    jobs.push_back(job);
  }
  std::reverse(jobs.begin(), jobs.end());
  return jobs;
}

Ids all_pages(Client& client, const JobFilter& filter, std::size_t limit) {
  Ids found;
  ListJobs request{filter, 0, limit};
  for (int page = 0; page < 1000; ++page) {
    const auto listed = client.ask(request);
    REQUIRE(listed.jobs.size() <= limit);
    for (const auto& job : listed.jobs) found.push_back(job->id);
    if (listed.next == 0) return found;
    REQUIRE((request.before == 0 || listed.next < request.before));
    request.before = listed.next;
  }
  FAIL("the pages do not end");
  return found;
}

}  // namespace

TEST_CASE("a job created after the clock was set back is filtered by its time, not by its id") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = changed(sketch_job({.id = first_job_id_at(at_ms(2000))}),
                             [](Job& made) { made.created_at = at_ms(1000); });
    client.ask(InsertJob{job});
    JobFilter after;
    after.created_after = at_ms(1500);
    CHECK(all_pages(client, after, 10).empty());
    after.created_after = at_ms(1000);
    CHECK(all_pages(client, after, 10).empty());
    after.created_after = at_ms(999);
    CHECK(all_pages(client, after, 10) == Ids{job->id});
  });
}

TEST_CASE("each filter, alone and combined, lists each matching job exactly once, newest first") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto jobs = mixture(client);
    using Test = std::function<bool(const Job&)>;
    const std::vector<std::pair<JobFilter, Test>> singles = [] {
      std::vector<std::pair<JobFilter, Test>> made(11);
      made[0].first.customer = "acme";
      made[0].second = [](const Job& job) { return job.spec->customer == "acme"; };
      made[1].first.product = "mail";
      made[1].second = [](const Job& job) { return job.spec->product == "mail"; };
      made[2].first.state = JobState::failed;
      made[2].second = [](const Job& job) { return job.state == JobState::failed; };
      made[3].first.state = JobState::queued;
      made[3].second = [](const Job& job) { return job.state == JobState::queued; };
      made[4].first.service = "billing";
      made[4].second = [](const Job& job) { return job.spec->services.size() == 2; };
      made[5].first.entity_type = "host";
      made[5].second = [](const Job& job) { return job.spec->entity.type == "host"; };
      made[6].first.entity_id = "e6";
      made[6].second = [](const Job& job) { return job.spec->entity.id == "e6"; };
      made[7].first.labels = {{"ticket", "T-6"}};
      made[7].second = [](const Job& job) {
        return job.spec->labels.contains("ticket") && job.spec->labels.at("ticket") == "T-6";
      };
      made[8].first.labels = {{"team", "\"x\""}, {"ticket", "T-0"}};
      made[8].second = [](const Job& job) {
        return job.spec->labels.contains("ticket") && job.spec->labels.at("ticket") == "T-0";
      };
      made[9].first.created_after = at_ms(1060);
      made[9].second = [](const Job& job) { return job.created_at > at_ms(1060); };
      made[10].first.created_before = at_ms(1060);
      made[10].second = [](const Job& job) { return job.created_at < at_ms(1060); };
      return made;
    }();
    const auto check = [&](const JobFilter& filter, const Test& test) {
      Ids expected;
      for (const auto& job : jobs) {
        if (test(*job)) expected.push_back(job->id);
      }
      CHECK(all_pages(client, filter, 7) == expected);
      CHECK(all_pages(client, filter, 1000) == expected);
    };
    check({}, [](const Job&) { return true; });
    for (const auto& [filter, test] : singles) check(filter, test);
    for (std::size_t i = 0; i < singles.size(); ++i) {
      for (const std::size_t j : {std::size_t{0}, std::size_t{3}, std::size_t{4}, std::size_t{6}}) {
        JobFilter both = singles[i].first;
        const auto& other = singles[j].first;
        if (both.state && other.state) continue;
        if (other.customer) both.customer = other.customer;
        if (other.state) both.state = other.state;
        if (other.service) both.service = other.service;
        if (other.entity_id) both.entity_id = other.entity_id;
        check(both,
              [&](const Job& job) { return singles[i].second(job) && singles[j].second(job); });
      }
    }
    JobFilter no_match;
    no_match.customer = "absent";
    CHECK(client.ask(ListJobs{no_match}).jobs.empty());
    CHECK(client.ask(ListJobs{no_match}).next == 0);
  });
}

TEST_CASE("a list that examines three rows for a page skips none, whatever else is limited") {
  celld::store::SqliteOptions options;
  options.reads = {3, 3, 3, 3};
  SqliteUnderTest under_test{options};
  Client client{under_test};
  Ids expected;
  Ids of_acme;
  for (JobId id = 1; id <= 10; ++id) {
    JobSketch sketch;
    sketch.id = id;
    sketch.entity = std::to_string(id);
    sketch.customer = id % 2 == 0 ? "acme" : "bolt";
    sketch.product = "p" + std::to_string(id);  // As many routing keys as jobs.
    sketch.cell = {sketch.customer, sketch.product};
    client.ask(InsertJob{sketch_job(sketch)});
    expected.insert(expected.begin(), id);
    if (id % 2 == 0) of_acme.insert(of_acme.begin(), id);
  }
  JobFilter acme;
  acme.customer = "acme";
  JobFilter no_match;
  no_match.service = "absent";
  for (const std::size_t limit : {1, 2, 3, 4, 100}) {
    CHECK(all_pages(client, {}, limit) == expected);
    CHECK(all_pages(client, acme, limit) == of_acme);
    CHECK(all_pages(client, no_match, limit).empty());
  }
  const auto page = client.ask(ListJobs{no_match, 0, 5});
  CHECK(page.next == 8);
  CHECK_FALSE(page.full);
}

namespace {

/// Counts thousands of instructions that SQLite executes on connections that are opened while the
/// object exists. Not for two threads at a time.
class ThousandsOfInstructions {
 public:
  ThousandsOfInstructions() {
    count = 0;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(watch));
  }
  ~ThousandsOfInstructions() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(watch)); }
  ThousandsOfInstructions(const ThousandsOfInstructions&) = delete;
  ThousandsOfInstructions& operator=(const ThousandsOfInstructions&) = delete;

  static inline int count = 0;

 private:
  static int watch(sqlite3* connection, const char**, const void*) {
    sqlite3_progress_handler(connection, 1000, [](void*) { return ++count, 0; }, nullptr);
    return SQLITE_OK;
  }
};

}  // namespace

TEST_CASE("the pages of a long list cost the same, however far down they are") {
  celld::store::SqliteOptions options;
  options.writes.generation_jobs = 1000;
  SqliteUnderTest under_test{options};
  Client client{under_test};
  constexpr JobId jobs = 8000;
  for (JobId id = 1; id <= jobs; ++id) {
    client.tell(InsertJob{sketch_job({.id = id, .entity = "long", .batch = 7})});
  }
  client.ask(FlushStore{});

  JobFilter all, of_entity, of_batch, of_customer;
  of_entity.entity_id = "long";
  of_batch.batch = 7;
  of_customer.customer = "acme";
  for (const auto& filter : {all, of_entity, of_batch, of_customer}) {
    ThousandsOfInstructions thousands;
    celld::store::SqliteReads reads{under_test.database(), {}};
    const auto cost_of_page = [&](JobId before) {
      thousands.count = 0;
      ListJobs request{.filter = filter, .before = before, .limit = 10};
      CHECK(reads.read(request).jobs.size() == 10);
      return thousands.count;
    };
    // A key that a page passes over costs five instructions or more.
    CHECK(cost_of_page(jobs / 2) < 10);
    CHECK(cost_of_page(20) < 10);
  }
}

TEST_CASE("listed jobs are complete") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto jobs = mixture(client);
    const auto listed = client.ask(ListJobs{{}, 0, 1000}).jobs;
    REQUIRE(listed.size() == jobs.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) REQUIRE(*listed[i] == *jobs[i]);
  });
}

TEST_CASE("a page stops at its byte limit") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const std::string large = "{\"x\":\"" + std::string(10'000, 'x') + "\"}";
    for (JobId id = 1; id <= 6; ++id) {
      client.ask(
          InsertJob{sketch_job({.id = id, .entity = std::to_string(id), .parameters = large})});
    }
    const auto page = client.ask(ListJobs{{}, 0, 50, 25'000});
    CHECK_FALSE(page.jobs.empty());
    CHECK(page.jobs.size() <= 3);
    CHECK(page.next == page.jobs.back()->id);
  });
}

TEST_CASE("the end of a page reveals nothing about jobs that its filter excludes") {
  with_each_store([](Client& client, StoreUnderTest&) {
    for (JobId id = 1; id <= 9; ++id) {
      JobSketch sketch;
      sketch.id = id;
      sketch.customer = id == 5 || id == 9 ? "acme" : "bolt";
      sketch.entity = "shared";
      sketch.labels = {{"ticket", "T-1"}};
      sketch.services = {sketch.customer + "-dns"};
      client.ask(InsertJob{sketch_job(sketch)});
    }
    JobFilter by_service;
    by_service.service = "acme-dns";
    JobFilter by_entity;
    by_entity.customer = "acme";
    JobFilter by_label = by_entity;
    by_entity.entity_id = "shared";
    by_label.labels = {{"ticket", "T-1"}};
    for (const auto& filter : {by_entity, by_label, by_service}) {
      CHECK(client.ask(ListJobs{filter, 0, 2}).next == 0);
      const auto first = client.ask(ListJobs{filter, 0, 1});
      CHECK(first.next == 6);
      CHECK(client.ask(ListJobs{filter, first.next, 1}).jobs.front()->id == 5);
      CHECK(client.ask(ListJobs{filter, first.next, 1}).next == 0);
    }
  });
}

TEST_CASE("the oldest queued job of a cell is found, even behind a running job") {
  with_each_store([](Client& client, StoreUnderTest&) {
    CHECK(client.ask(FindOldestQueued{{acme_cell}}).places == std::vector<JobId>{0});
    const auto first = sketch_job({.id = 1});
    client.ask(InsertJob{first});
    client.ask(InsertJob{sketch_job({.id = 2})});
    client.ask(InsertJob{sketch_job({.id = 3, .entity = "other", .customer = "b", .priority = 9})});
    client.ask(InsertJob{sketch_job({.id = 4, .entity = "x", .run_at = at_ms(10)})});
    CHECK(client.ask(FindOldestQueued{{acme_cell}}).places == std::vector<JobId>{1});
    client.tell(ClaimJob{running(first, {1, 1})});
    client.ask(FlushStore{});
    CHECK(client.ask(FindOldestQueued{{acme_cell}}).places == std::vector<JobId>{2});
    CHECK(client.ask(FindOldestQueued{{{"nobody", "*"}}}).places == std::vector<JobId>{0});
  });
}

TEST_CASE("the oldest queued job is found behind any number of jobs of another priority") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto insert = [&](JobId id, int priority) {
      const auto entity = std::to_string(id);
      client.ask(InsertJob{sketch_job({.id = id, .entity = entity, .priority = priority})});
    };
    for (JobId id = 21; id <= 40; ++id) insert(id, 6);
    insert(10, 5);
    CHECK(client.ask(FindOldestQueued{{acme_cell}}).places == std::vector<JobId>{10});
    insert(9, 9);
    CHECK(client.ask(FindOldestQueued{{acme_cell}}).places == std::vector<JobId>{9});
  });
}

TEST_CASE("the search for the oldest job looks at few of each customer's, whatever their turns") {
  celld::store::SqliteOptions options;
  options.writes.generation_jobs = 1000;
  SqliteUnderTest under_test{options};
  Client client{under_test};
  // Each customer has a runnable job, and nine behind it in the line of its entity.
  const CellKey shared{"*", "*"};
  for (JobId id = 1; id <= 10'000; ++id) {
    const auto customer = "c" + std::to_string((10'000 - id) / 10);
    client.tell(InsertJob{sketch_job({.id = id, .customer = customer, .cell = shared})});
  }
  const auto head = sketch_job({.id = 1, .customer = "c999", .cell = shared});
  client.tell(ClaimJob{running(head, {1, 1})});
  client.ask(FlushStore{});
  ThousandsOfInstructions thousands;
  celld::store::SqliteReads reads{under_test.database(), {}};
  thousands.count = 0;
  CHECK(reads.read(FindOldestQueued{{shared}}).places == std::vector<JobId>{2});
  // A thousand recent rows, and for each customer ten keys.
  CHECK(thousands.count < 150);
}

TEST_CASE("the oldest queued job is found however few keys its search passes over") {
  celld::store::SqliteOptions options;
  options.writes.generation_jobs = 3;
  options.writes.jobs_per_move = 1;
  SqliteUnderTest under_test{options};
  Client client{under_test};
  // The jobs of each of three customers have three priorities. Some are behind others in a line.
  constexpr JobId last = 36;
  for (JobId id = 1; id <= last; ++id) {
    JobSketch sketch;
    sketch.id = id;
    sketch.entity = std::to_string(id % 27);
    sketch.customer = "c" + std::to_string(id % 3);
    sketch.priority = 6 - static_cast<int>(id / 3 % 3);
    client.ask(InsertJob{sketch_job(sketch)});
  }
  for (JobId oldest = 1; oldest <= last; ++oldest) {
    for (const std::size_t passed_max : {0, 1, 2, 3, 100}) {
      celld::store::SqliteReads reads{under_test.database(), {.passed_max = passed_max}};
      CHECK(reads.read(FindOldestQueued{{acme_cell}}).places == Ids{oldest});
    }
    client.ask(CancelWaiting{oldest, acme_cell, at_ms(9)});
  }
}

TEST_CASE("the search for the oldest job passes over any number of jobs that are not queued") {
  celld::store::SqliteOptions options;
  options.writes.generation_jobs = 100;
  options.commits.operations_max = 100;
  SqliteUnderTest under_test{options};
  Client client{under_test};
  constexpr JobId scheduled = 3000;
  for (JobId id = 1; id <= scheduled; ++id) {
    const auto entity = std::to_string(id);
    client.tell(InsertJob{sketch_job({.id = id, .entity = entity, .run_at = at_ms(9000)})});
  }
  client.ask(InsertJob{sketch_job({.id = scheduled + 1})});
  ThousandsOfInstructions thousands;
  celld::store::SqliteReads reads{under_test.database(), {}};
  thousands.count = 0;
  CHECK(reads.read(FindOldestQueued{{acme_cell}}).places == std::vector{scheduled + 1});
  // A few hundred recent rows. A key that the search passes over costs five instructions or more.
  CHECK(thousands.count < 10);
}

TEST_CASE("the search for the oldest job looks at a bounded number of jobs that are tried again") {
  celld::store::SqliteOptions options;
  options.writes.generation_jobs = 2;
  SqliteUnderTest under_test{options};
  Client client{under_test};
  constexpr JobId retried = 9;
  for (JobId id = 1; id <= retried; ++id) {
    const auto job = sketch_job({.id = id, .entity = std::to_string(id)});
    client.ask(InsertJob{job});
    const auto claimed = running(job, {id, 1});
    client.tell(ClaimJob{claimed});
    client.ask(RecordJob{{id, 1}, retrying(claimed, at_ms(9))});
  }
  client.ask(InsertJob{sketch_job({.id = retried + 1, .entity = "last"})});
  client.ask(AdvanceDue{acme_cell, at_ms(9)});
  const auto oldest = [&](std::size_t states_max) {
    celld::store::SqliteReads reads{under_test.database(), {.states_max = states_max}};
    return reads.read(FindOldestQueued{{acme_cell}}).places.at(0);
  };
  CHECK(oldest(retried) == retried + 1);
  CHECK(oldest(4) == 5);
}

TEST_CASE("a reader remembers the names of a limited number of cells and routing keys") {
  SqliteUnderTest under_test;
  Client client{under_test};
  for (JobId id = 1; id <= 3; ++id) {
    const auto customer = "c" + std::to_string(id);
    client.ask(InsertJob{sketch_job({.id = id, .customer = customer, .cell = {customer, "*"}})});
  }
  celld::store::SqliteReads reads{under_test.database(), {.names_max = 2}};
  const auto products_of = [&](JobId id) {
    const auto job = reads.read(FindJob{id}).job;
    REQUIRE(job);
    return job->cell.product + " " + job->spec->product;
  };
  CHECK(products_of(1) == "* dns");
  CHECK(products_of(2) == "* dns");
  // celld never renames anything; other names show what the reader reads again.
  celld::store::Connection other{under_test.database(),
                                 celld::store::Connection::Access::read_write};
  other.execute("UPDATE cells SET product = 'read'; UPDATE origins SET product = 'again'");
  CHECK(products_of(1) == "* dns");
  CHECK(products_of(3) == "read again");
  CHECK(products_of(1) == "read again");
}

TEST_CASE("a job that does not exist is not found") {
  with_each_store([](Client& client, StoreUnderTest&) {
    CHECK_FALSE(client.ask(FindJob{1}).job);
    CHECK(client.ask(ListJobs{}).next == 0);
  });
}

TEST_CASE("the oldest queued job is the one with the lowest place, whatever its id") {
  with_each_store([](Client& client, StoreUnderTest&) {
    client.ask(InsertJob{sketch_job({.id = 1, .entity = "late", .run_at = at_ms(10)})});
    client.ask(InsertJob{sketch_job({.id = 2, .entity = "other"})});
    client.ask(AdvanceDue{acme_cell, at_ms(10), 50, 10});  // Job 1 gets place 50.
    CHECK(client.ask(FindOldestQueued{{acme_cell}}).places == std::vector<JobId>{2});
  });
}

TEST_CASE("a count of needs gives up when it is to stop") {
  SqliteUnderTest under_test{celld::store::SqliteOptions{}};
  Client client{under_test};
  for (JobId id = 1; id <= 500; ++id) {
    client.tell(InsertJob{sketch_job({.id = id, .entity = std::to_string(id)})});
  }
  client.ask(FlushStore{});
  celld::store::SqliteReads reads{under_test.database(), {}};
  const auto stop = std::make_shared<std::atomic<bool>>(false);
  reads.stop_when(stop);
  CHECK(reads.read(CountNeeds{{"dns"}}).jobs.at("dns") == 500);
  *stop = true;
  CHECK_THROWS_AS(reads.read(CountNeeds{{"dns"}}), celld::store::SqliteFailure);
}
