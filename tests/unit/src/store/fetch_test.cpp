// FetchRunnable, which fills a dispatcher's window.
#include <algorithm>
#include <chrono>

#include "tests/unit/machine.hpp"
#include "tests/unit/src/store/contract.hpp"
#include "tests/unit/src/store/sqlite_under_test.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store::test;

namespace {

const CellKey shared{"*", "*"};

/// Inserts without waiting for each answer.
void insert_many(Client& client, const std::vector<JobPtr>& jobs) {
  for (const auto& job : jobs) client.tell(InsertJob{job});
  client.ask(FlushStore{});
}

}  // namespace

TEST_CASE("a customer's jobs are ordered by priority, then by place") {
  with_each_store([](Client& client, StoreUnderTest&) {
    client.ask(InsertJob{sketch_job({.id = 1, .entity = "a", .priority = 5})});
    client.ask(InsertJob{sketch_job({.id = 2, .entity = "b", .product = "mail", .priority = 9})});
    client.ask(InsertJob{sketch_job({.id = 3, .entity = "c", .product = "mail", .priority = 5})});
    client.ask(InsertJob{sketch_job({.id = 4, .entity = "d", .priority = 9})});
    client.ask(InsertJob{sketch_job({.id = 5, .entity = "e", .priority = 1})});
    CHECK(runnable_ids(client) == Ids{2, 4, 1, 3, 5});
    const auto fetched = client.ask(FetchRunnable{acme_cell, "", false, 1, 3});
    REQUIRE(fetched.customers.size() == 1);
    CHECK(ids(fetched.customers[0].jobs) == Ids{2, 4, 1});
    CHECK_FALSE(fetched.customers[0].complete);
    CHECK(fetched.complete);
    CHECK(client.ask(FetchRunnable{acme_cell, "", false, 1, 5}).customers[0].complete);
  });
}

TEST_CASE("the first jobs of a customer come from all of its products, however few are fetched") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    std::vector<JobPtr> jobs;
    for (JobId id = 1; id <= 60; ++id) {
      jobs.push_back(sketch_job({.id = id,
                                 .entity = std::to_string(id),
                                 .product = "p" + std::to_string(id * 7 % 20),
                                 .priority = static_cast<int>(id % 3) + 1}));
    }
    insert_many(client, jobs);
    std::stable_sort(jobs.begin(), jobs.end(), [](const JobPtr& one, const JobPtr& other) {
      return one->spec->priority > other->spec->priority;
    });
    under_test.reopen();
    for (const std::size_t count : {1, 7, 59, 60, 100}) {
      Ids expected;
      for (const auto& job : jobs) {
        if (expected.size() < count) expected.push_back(job->id);
      }
      const auto fetched = client.ask(FetchRunnable{acme_cell, "", false, 1, count});
      CHECK(ids(fetched.customers[0].jobs) == expected);
      CHECK(fetched.customers[0].complete == (count >= 60));
    }
  });
}

TEST_CASE("with a priority step, a customer's jobs are ordered by age and priority") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const auto place = [](std::int64_t ms) { return first_job_id_at(at_ms(ms)); };
    client.ask(InsertJob{sketch_job({.id = place(1000), .entity = "a", .priority = 1})});
    client.ask(InsertJob{
        sketch_job({.id = place(1099), .entity = "b", .product = "mail", .priority = 2})});
    client.ask(InsertJob{sketch_job({.id = place(1101), .entity = "c", .priority = 2})});
    client.ask(InsertJob{
        sketch_job({.id = place(1799), .entity = "d", .product = "mail", .priority = 9})});
    client.ask(InsertJob{sketch_job({.id = place(1900), .entity = "e", .priority = 9})});
    const auto first = [&](std::size_t jobs_max, milliseconds step) {
      FetchRunnable request{acme_cell, "", false, 1, jobs_max};
      request.priority_step = step;
      const auto fetched = client.ask(request);
      CHECK(fetched.customers[0].complete == (jobs_max >= 5));
      return ids(fetched.customers[0].jobs);
    };
    client.ask(FlushStore{});
    under_test.reopen();
    const Ids by_age{place(1099), place(1799), place(1000), place(1101), place(1900)};
    CHECK(first(5, milliseconds{100}) == by_age);
    CHECK(first(2, milliseconds{100}) == Ids{by_age[0], by_age[1]});
    CHECK(first(3, milliseconds{1}) == Ids{place(1000), place(1099), place(1101)});
    CHECK(first(2, milliseconds{0}) == Ids{place(1799), place(1900)});
  });
}

TEST_CASE("a claimed job is not fetched, even before its claim is on disk") {
  celld::store::SqliteOptions options;
  options.commits.claim_delay = milliseconds{60'000};
  SqliteUnderTest under_test{options};
  Client client{under_test};
  const auto first = sketch_job({.id = 1, .entity = "a"});
  client.ask(InsertJob{first});
  client.ask(InsertJob{sketch_job({.id = 2, .entity = "b"})});
  client.tell(ClaimJob{running(first, {1, 1})});
  CHECK(runnable_ids(client) == Ids{2});
}

TEST_CASE("a fetch passes over the excluded customers") {
  with_each_store([](Client& client, StoreUnderTest&) {
    for (const JobId id : {1, 2, 3, 4}) {
      client.ask(InsertJob{sketch_job({.id = id,
                                       .entity = "e",
                                       .customer = std::string(1, static_cast<char>('a' + id)),
                                       .cell = shared})});
    }
    FetchRunnable request{shared, "", false, 2, 1};
    request.except = {"b", "d"};
    auto fetched = client.ask(request);
    REQUIRE(fetched.customers.size() == 2);
    CHECK(fetched.customers[0].customer == "c");
    CHECK(fetched.customers[1].customer == "e");
    CHECK(fetched.complete);
    request.except = {"d", "e"};
    fetched = client.ask(request);
    REQUIRE(fetched.customers.size() == 2);
    CHECK(fetched.customers[1].customer == "c");
    CHECK(fetched.complete);
  });
}

TEST_CASE("each lane has its runnable jobs to itself") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const auto in_lane = [&](const std::string& lane) {
      FetchRunnable request{acme_cell, "acme", false, 1, 1000};
      request.lane = lane;
      const auto fetched = client.ask(request);
      CHECK(fetched.complete);
      if (fetched.customers.empty()) return Ids{};
      CHECK(fetched.customers[0].complete);
      return ids(fetched.customers[0].jobs);
    };
    client.ask(InsertJob{sketch_job({.id = 1, .entity = "a", .lane = "vm"})});
    client.ask(InsertJob{sketch_job({.id = 2, .entity = "b"})});
    client.ask(InsertJob{sketch_job({.id = 3, .entity = "c", .priority = 9, .lane = "vm"})});
    client.ask(InsertJob{sketch_job({.id = 4, .entity = "d", .product = "mail", .lane = "gpu"})});
    client.ask(InsertJob{sketch_job({.id = 5, .entity = "d", .product = "mail", .lane = "vm"})});
    client.ask(InsertJob{sketch_job({.id = 6, .entity = "e", .lane = "gpu"})});
    client.ask(FlushStore{});
    under_test.reopen();
    CHECK(in_lane("") == Ids{2});
    CHECK(in_lane("vm") == Ids{3, 1});
    CHECK(in_lane("gpu") == Ids{4, 6});
    CHECK(in_lane("unknown").empty());
    CHECK(client.ask(LoadCell{acme_cell}).runnable);
    CHECK(client.ask(LoadCell{acme_cell}).lanes == std::vector<std::string>{"gpu", "vm"});
  });
}

TEST_CASE("a runnable job changes its lane") {
  with_each_store([](Client& client, StoreUnderTest& under_test) {
    const auto job = sketch_job({.id = 1, .lane = "vm"});
    client.ask(InsertJob{job});
    client.ask(InsertJob{sketch_job({.id = 2, .lane = "vm"})});
    client.tell(ChangeLane{1, ""});
    client.tell(ChangeLane{2, ""});  // Not runnable: it is behind the other.
    client.tell(ChangeLane{3, ""});  // Unknown.
    client.ask(FlushStore{});
    under_test.reopen();
    CHECK(runnable_ids(client) == Ids{1});
    CHECK(client.ask(LoadCell{acme_cell}).lanes.empty());
    CHECK(client.ask(FindJob{1}).job->lane.empty());
    CHECK(client.ask(FindJob{2}).job->lane == "vm");
    CHECK(client.ask(RecordJob{{}, ended(client.ask(FindJob{1}).job)}).promoted->id == 2);
    CHECK_FALSE(client.ask(LoadCell{acme_cell}).runnable);
    CHECK(client.ask(LoadCell{acme_cell}).lanes == std::vector<std::string>{"vm"});
  });
}

TEST_CASE("a job that is moved or retried stays in its lane") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const auto job = sketch_job({.id = 1, .entity = "a", .cell = shared, .lane = "vm"});
    client.ask(InsertJob{job});
    client.ask(InsertJob{sketch_job({.id = 2, .entity = "b", .cell = shared, .lane = "gpu"})});
    client.ask(InsertJob{sketch_job({.id = 3, .entity = "c", .cell = shared})});
    client.ask(InsertJob{sketch_job({.id = 4, .entity = "c", .cell = shared})});
    // The runnable jobs of lane 0, those that are not runnable, then the other lanes by name.
    CHECK(client.ask(MoveJobs{{shared, "acme", "dns"}, acme_cell, 3}).moved == 3);
    CHECK(client.ask(LoadCell{acme_cell}).lanes == std::vector<std::string>{"gpu"});
    CHECK(client.ask(MoveJobs{{shared, "acme", "dns"}, acme_cell, 3}).moved == 1);
    CHECK(client.ask(LoadCell{acme_cell}).lanes == std::vector<std::string>{"gpu", "vm"});
    client.tell(ClaimJob{running(job, {1, 1})});
    CHECK(client.ask(RecordJob{{1, 1}, retrying(job, at_ms(50))}).applied);
    CHECK(client.ask(LoadCell{acme_cell}).lanes == std::vector<std::string>{"gpu"});
    CHECK(ids(client.ask(AdvanceDue{acme_cell, at_ms(60), 100, 5}).runnable) == Ids{1});
    CHECK(client.ask(LoadCell{acme_cell}).lanes == std::vector<std::string>{"gpu", "vm"});
  });
}

TEST_CASE("customers are listed by name, a bounded number at a time") {
  with_each_store([](Client& client, StoreUnderTest&) {
    std::vector<JobPtr> jobs;
    std::vector<std::string> names;
    for (JobId id = 1; id <= 500; ++id) {
      const auto customer = "customer " + std::to_string(1000 + (id * 7) % 250);
      jobs.push_back(sketch_job(
          {.id = id, .entity = std::to_string(id), .customer = customer, .cell = shared}));
    }
    insert_many(client, jobs);
    std::string after;
    for (bool complete = false; !complete;) {
      const auto fetched = client.ask(FetchRunnable{shared, after, true, 40, 10});
      complete = fetched.complete;
      REQUIRE(fetched.customers.size() <= 40);
      for (const auto& customer : fetched.customers) {
        REQUIRE(customer.customer > after);
        REQUIRE(customer.jobs.size() == 2);
        REQUIRE(customer.complete);
        after = customer.customer;
        names.push_back(after);
      }
      REQUIRE(names.size() <= 250);
    }
    CHECK(names.size() == 250);
    const auto from = client.ask(FetchRunnable{shared, names[10], false, 1, 10});
    CHECK(from.customers[0].customer == names[10]);
    CHECK_FALSE(from.complete);
    CHECK(client.ask(FetchRunnable{shared, "zzz", false, 1, 1}).complete);
    CHECK(client.ask(FetchRunnable{{"nobody", "*"}, "", false, 1, 1}).complete);
  });
}

TEST_CASE("a fetch stops at its byte limit, but returns at least one job") {
  with_each_store([](Client& client, StoreUnderTest&) {
    const std::string large = "{\"x\":\"" + std::string(10'000, 'x') + "\"}";
    for (JobId id = 1; id <= 4; ++id) {
      client.ask(InsertJob{sketch_job({.id = id,
                                       .entity = std::to_string(id),
                                       .customer = id <= 3 ? "a" : "b",
                                       .cell = shared,
                                       .parameters = large})});
    }
    auto fetched = client.ask(FetchRunnable{shared, "", false, 10, 10, 1});
    REQUIRE(fetched.customers.size() == 1);
    CHECK(ids(fetched.customers[0].jobs) == Ids{1});
    CHECK_FALSE(fetched.customers[0].complete);
    CHECK_FALSE(fetched.complete);
    fetched = client.ask(FetchRunnable{shared, "", false, 10, 10, 25'000});
    CHECK(ids(fetched.customers[0].jobs) == Ids{1, 2});
    std::size_t bytes = 0;
    for (const auto& job : fetched.customers[0].jobs) bytes += approximate_bytes(*job);
    fetched = client.ask(FetchRunnable{shared, "", false, 10, 10, bytes});
    CHECK(ids(fetched.customers[0].jobs) == Ids{1, 2});
    fetched = client.ask(FetchRunnable{shared, "", false, 10, 10, bytes - 1});
    CHECK(ids(fetched.customers[0].jobs) == Ids{1});
    fetched = client.ask(FetchRunnable{shared, "", false, 10, 10, 35'000});
    REQUIRE(fetched.customers.size() == 1);
    CHECK(fetched.customers[0].complete);
    CHECK_FALSE(fetched.complete);
  });
}

TEST_CASE("thirty thousand followers of one entity neither hide nor slow other jobs") {
  with_each_store([](Client& client, StoreUnderTest&) {
    std::vector<JobPtr> jobs;
    const auto head = sketch_job({.id = 1, .entity = "crowded", .cell = shared});
    jobs.push_back(head);
    for (JobId id = 2; id <= 30'001; ++id) {
      jobs.push_back(changed(head, [id](Job& job) { job.id = job.place = id; }));
    }
    jobs.push_back(sketch_job({.id = 30'002, .entity = "other", .priority = 1, .cell = shared}));
    jobs.push_back(sketch_job({.id = 30'003, .customer = "bolt", .cell = shared}));
    insert_many(client, jobs);

    const test::Stopwatch watch;
    auto current = head;
    for (std::uint64_t turn = 1; turn <= 300; ++turn) {
      const auto fetched = client.ask(FetchRunnable{shared, "", false, 10, 10});
      REQUIRE(fetched.customers.size() == 2);
      REQUIRE(ids(fetched.customers[0].jobs) == Ids{current->id, 30'002});
      REQUIRE(fetched.customers[0].complete);
      REQUIRE(ids(fetched.customers[1].jobs) == Ids{30'003});
      client.tell(ClaimJob{running(current, {1, turn})});
      current = client.ask(RecordJob{{1, turn}, ended(running(current, {1, turn}))}).promoted;
      REQUIRE(current);
    }
    // Far more than this takes, but far less than scanning the followers each time would take.
    CHECK(watch.is_within(std::chrono::seconds{10}, "three hundred turns beside many followers"));
    CHECK(client.ask(FindOldestQueued{{shared}}).places == std::vector{current->place});
  });
}
