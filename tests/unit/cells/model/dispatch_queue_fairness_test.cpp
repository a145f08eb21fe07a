// Customers take turns, charged by service time (promise P7).
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"
#include "tests/unit/cells/model/runnable_jobs.hpp"

using namespace model_test;

namespace {

void insert_jobs(FedQueue& fed, const std::string& customer, JobId first, int count) {
  for (int i = 0; i < count; ++i) fed.store.insert(job_of(customer, first + i));
  fed.queue.expect_more();
  fed.feed();
}

std::string customer_number(int number) {
  return "c" + std::string(number < 10 ? "0" : "") + std::to_string(number);
}

/// The number of jobs served before one of `customer`, at most `limit`.
int jobs_before(FedQueue& fed, const std::string& customer, microseconds service_time, int limit) {
  for (int i = 0; i < limit; ++i) {
    if (fed.serve(service_time) == customer) return i;
  }
  return limit;
}

struct Served {
  microseconds a{0};
  microseconds b{0};
};

/// Serves jobs of "a" and "b" with some workers, in simulated time.
Served serve_side_by_side(FedQueue& fed, std::size_t workers, int jobs, microseconds time_of_a,
                          microseconds time_of_b) {
  Served served;
  std::multimap<microseconds, JobPtr> running;
  microseconds now{0};
  for (int i = 0; i < jobs; ++i) {
    if (running.size() == workers) {
      const auto first = running.begin();
      const bool is_a = first->second->spec->customer == "a";
      now = first->first;
      fed.ended(*first->second, is_a ? time_of_a : time_of_b);
      running.erase(first);
    }
    const JobPtr job = fed.take();
    REQUIRE(job);
    const bool is_a = job->spec->customer == "a";
    (is_a ? served.a : served.b) += is_a ? time_of_a : time_of_b;
    running.emplace(now + (is_a ? time_of_a : time_of_b), job);
  }
  return served;
}

/// The customers served by unlimited workers, which take every job before each answer of the store.
std::set<std::string> served_by_many_workers(FedQueue& fed, int answers) {
  std::set<std::string> served;
  for (int i = 0; i < answers; ++i) {
    while (const JobPtr job = fed.take_unfed()) {
      served.insert(job->spec->customer);
      fed.ended(*job, 1ms);
    }
    const auto asked = fed.queue.next_fetch();
    if (!asked) break;
    auto answer = fed.store.fetch(*asked);
    fed.queue.fetched(std::move(answer.customers), answer.complete, none_in_hand);
  }
  return served;
}

/// A store with the jobs of many customers, and a queue with the first of them in its window.
FedQueue backlog_of(int customers, int jobs_each, DispatchQueue::Limits limits) {
  FedQueue fed(limits);
  for (int number = 0; number < customers; ++number) {
    for (int i = 1; i <= jobs_each; ++i) {
      fed.store.insert(job_of(customer_number(number), number * jobs_each + i));
    }
  }
  fed.queue.expect_more();
  REQUIRE(fed.feed());
  return fed;
}

/// The customers of the next jobs, served by one worker.
std::set<std::string> served_in_turns(FedQueue& fed, int jobs) {
  std::set<std::string> served;
  for (int i = 0; i < jobs; ++i) served.insert(fed.serve());
  return served;
}

std::size_t job_bytes() {
  return approximate_bytes(*job_of("a", 1));
}

}  // namespace

TEST_CASE("a customer with one job waits for one turn, whatever another has queued") {
  FedQueue fed;
  insert_jobs(fed, "a", 1, 10'000);
  for (int i = 0; i < 500; ++i) REQUIRE(fed.serve() == "a");
  fed.offer(job_of("b", 1'000'000));
  CHECK(jobs_before(fed, "b", 1ms, 10) <= 2);
}

TEST_CASE("a customer with one job waits for one turn of each other customer") {
  FedQueue fed;
  for (int number = 0; number < 50; ++number) {
    insert_jobs(fed, customer_number(number), 1 + number * 1000, 1000);
  }
  for (int i = 0; i < 777; ++i) REQUIRE_FALSE(fed.serve().empty());
  fed.offer(job_of("z", 1'000'000));
  CHECK(jobs_before(fed, "z", 1ms, 1000) <= 100);
}

TEST_CASE("a customer with one job waits for one turn even when the window is small") {
  FedQueue fed({2, 4, 1 << 20});
  insert_jobs(fed, "a", 1, 1000);
  for (int i = 0; i < 50; ++i) REQUIRE(fed.serve() == "a");
  fed.offer(job_of("b", 1'000'000));
  CHECK(jobs_before(fed, "b", 1ms, 20) <= 4);
}

TEST_CASE("customers get the same service time, however long their jobs take") {
  const std::size_t workers = GENERATE(1, 8, 32);
  CAPTURE(workers);
  FedQueue fed;
  insert_jobs(fed, "a", 1, 3000);
  insert_jobs(fed, "b", 100'000, 3000);
  const Served served = serve_side_by_side(fed, workers, 1000, 10ms, 1ms);
  const double ratio = static_cast<double>(served.a.count()) / served.b.count();
  CHECK(ratio > 0.9);
  CHECK(ratio < 1.1);
}

TEST_CASE("customers whose jobs take the same time are served equally") {
  FedQueue fed;
  insert_jobs(fed, "a", 1, 1000);
  insert_jobs(fed, "b", 100'000, 1000);
  const Served served = serve_side_by_side(fed, 4, 500, 30s, 30s);
  CHECK(served.a == served.b);
}

TEST_CASE("an idle customer saves up no credit") {
  FedQueue fed;
  insert_jobs(fed, "a", 1, 1000);
  insert_jobs(fed, "b", 100'000, 1);
  for (int i = 0; i < 500; ++i) fed.serve();
  insert_jobs(fed, "b", 200'000, 500);
  int of_b = 0;
  for (int i = 0; i < 100; ++i) of_b += fed.serve() == "b" ? 1 : 0;
  CHECK(of_b >= 48);
  CHECK(of_b <= 52);
}

TEST_CASE("a customer in debt is served while no other waits") {
  FedQueue fed;
  insert_jobs(fed, "a", 1, 20);
  CHECK(fed.serve(1h) == "a");
  for (int i = 0; i < 19; ++i) CHECK(fed.serve(100us) == "a");
}

TEST_CASE("a service time of zero or of a year does no harm") {
  FedQueue fed;
  insert_jobs(fed, "a", 1, 200);
  insert_jobs(fed, "b", 1000, 200);
  int given = 0;
  for (int i = 0; i < 400; ++i) {
    const auto took = i % 3 == 0 ? microseconds{std::chrono::hours{24 * 365}} : microseconds{0};
    given += fed.serve(took).empty() ? 0 : 1;
  }
  CHECK(given == 400);
}

TEST_CASE("a refund gives a customer no claim on the turns of others") {
  FedQueue fed;
  insert_jobs(fed, "a", 1, 10'000);
  for (int i = 0; i < 200; ++i) fed.serve(30s);  // A provider times out …
  std::vector<JobPtr> running;
  for (int i = 0; i < 100; ++i) running.push_back(fed.take());
  for (const auto& job : running) fed.ended(*job, 1ms);  // … and recovers.
  fed.offer(job_of("b", 1'000'000));
  CHECK(jobs_before(fed, "b", 1ms, 5000) <= 10);
}

TEST_CASE("every customer gets its turn when there are more than fit") {
  const DispatchQueue::Limits limits =
      GENERATE(DispatchQueue::Limits{1, 8, 1 << 20}, DispatchQueue::Limits{3, 8, 1 << 20},
               DispatchQueue::Limits{8, 16, 1 << 20}, DispatchQueue::Limits{8, 1, 1 << 20});
  CAPTURE(limits.customers_max, limits.jobs_max);
  constexpr int customers = 40;
  constexpr int rounds = 10;
  FedQueue fed = backlog_of(customers, 100, limits);
  std::map<std::string, int> served;
  for (int i = 0; i < customers * rounds; ++i) served[fed.serve()] += 1;
  CHECK(served.size() == customers);
  for (const auto& [customer, count] : served) {
    CAPTURE(customer);
    CHECK(count >= rounds / 2);
    CHECK(count <= rounds * 2);
  }
}

TEST_CASE("every customer gets its turn when there are more bytes than fit") {
  const std::size_t jobs_that_fit = GENERATE(1, 3, 10);
  CAPTURE(jobs_that_fit);
  FedQueue fed = backlog_of(20, 100, {256, 1024, jobs_that_fit * job_bytes()});
  CHECK(served_in_turns(fed, 200).size() == 20);
}

TEST_CASE("every customer gets its turn with unlimited workers and more customers than fit") {
  FedQueue fed = backlog_of(20, 1000, {8, 8, 1 << 20});
  CHECK(served_by_many_workers(fed, 100).size() == 20);
}

TEST_CASE("customers get service time by their weights") {
  const DispatchQueue::Limits limits =
      GENERATE(DispatchQueue::Limits{}, DispatchQueue::Limits{2, 4, 1 << 20},
               DispatchQueue::Limits{1, 8, 1 << 20});
  CAPTURE(limits.customers_max);
  FedQueue fed(limits);
  fed.queue.set_terms({CustomerWeights{{{"a", 4}}, 2}, milliseconds{0}, 0});
  insert_jobs(fed, "a", 1, 3000);
  insert_jobs(fed, "b", 100'000, 3000);
  insert_jobs(fed, "c", 200'000, 3000);
  std::map<std::string, int> served;
  for (int n = 0; n < 800; ++n) served[fed.serve()] += 1;
  CHECK(served["a"] > 360);
  CHECK(served["a"] < 440);
  CHECK(served["b"] > 160);
  CHECK(served["c"] > 160);
  fed.queue.set_terms({});
  served.clear();
  for (int n = 0; n < 900; ++n) served[fed.serve()] += 1;
  CHECK(served["a"] < 380);  // It may catch up on what it lacked of its greater share.
}

TEST_CASE("customers at their limit of running jobs leave their places in the window to others") {
  FedQueue fed({2, 8, 1 << 20});
  JobId id = 1;
  for (const auto* name : {"a", "b", "c", "d"}) {
    insert_jobs(fed, name, id, 100);
    id += 1000;
  }
  insert_jobs(fed, "quiet", id, 1);
  std::deque<JobPtr> running;
  std::map<std::string, int> served;
  for (int n = 0; n < 60; ++n) {
    if (running.size() == 2) {
      const JobPtr ended = running.front();
      running.pop_front();
      fed.queue.unblock(ended->spec->customer);
      fed.ended(*ended, 1ms);
    }
    const JobPtr job = fed.take();
    REQUIRE(job);
    served[job->spec->customer] += 1;
    running.push_back(job);
    fed.queue.block(job->spec->customer);
  }
  CHECK(served["quiet"] == 1);
  for (const auto* name : {"a", "b", "c", "d"}) CHECK(served[name] > 10);
}

TEST_CASE("service beyond its share counts against a customer that leaves and comes back") {
  FedQueue fed;
  insert_jobs(fed, "a", 1, 1000);
  std::map<std::string, int> served;
  for (int n = 0; n < 20; ++n) {
    fed.offer(job_of("b", 100'000 + n));  // One long job at a time.
    while (served["b"] <= n) {
      const JobPtr job = fed.take();
      REQUIRE(job);
      fed.ended(*job, job->spec->customer == "b" ? 10ms : 1ms);
      served[job->spec->customer] += 1;
    }
  }
  CHECK(served["a"] > 160);
}

TEST_CASE("a customer that may start no job is neither in the window nor fetched") {
  FedQueue fed;
  for (JobId id = 1; id <= 10; ++id) fed.store.insert(job_of("a", id));
  fed.store.insert(job_of("b", 100));
  fed.queue.block("a");
  fed.queue.expect_more();
  const auto sweep = fed.queue.next_fetch();
  REQUIRE(sweep);
  CHECK(sweep->except == std::vector<std::string>{"a"});
  fed.queue.fetched({{"b", {job_of("b", 100)}, true}}, true, none_in_hand);
  CHECK(fed.take()->id == 100);
  fed.offer(job_of("a", 11));
  fed.queue.seek("a");
  CHECK_FALSE(fed.queue.next_fetch());
  CHECK(fed.queue.empty());
  CHECK_FALSE(fed.queue.is_done());
  fed.queue.unblock("a");
  REQUIRE(fed.feed());
  CHECK(fed.take()->id == 1);
}

TEST_CASE("the jobs of a customer that is blocked leave the window, and come back") {
  FedQueue fed;
  fed.queue.set_terms({{}, milliseconds{0}, 2});
  for (JobId id = 1; id <= 6; ++id) fed.offer(job_of("a", id));
  CHECK(fed.queue.size() <= 2);
  CHECK(fed.take()->id == 1);
  CHECK(fed.take()->id == 2);
  fed.queue.block("a");
  CHECK(fed.queue.empty());
  CHECK_FALSE(fed.take());
  fed.ended(*job_of("a", 1), 1ms);
  fed.queue.unblock("a");
  REQUIRE(fed.feed());
  CHECK(fed.take()->id == 3);
  fed.queue.block("a");
  fed.queue.block("a");
  fed.queue.unblock("a");
  fed.queue.unblock("a");
  REQUIRE(fed.feed());
  for (JobId id = 4; id <= 6; ++id) CHECK(fed.take()->id == id);
}

TEST_CASE("a fetch that was under way brings no job of a customer that is blocked since") {
  FedQueue fed;
  fed.store.insert(job_of("a", 1));
  fed.queue.expect_more();
  const auto sweep = fed.queue.next_fetch();
  REQUIRE(sweep);
  fed.queue.block("a");
  fed.queue.fetched(fed.store.fetch(*sweep).customers, true, none_in_hand);
  CHECK(fed.queue.empty());
  fed.queue.unblock("a");
  REQUIRE(fed.feed());
  CHECK(fed.take()->id == 1);
}

TEST_CASE("a blocked customer without jobs is forgotten") {
  FedQueue fed;
  fed.queue.block("a");
  fed.queue.expect_more();
  REQUIRE(fed.feed());
  fed.queue.unblock("a");
  REQUIRE(fed.feed());
  CHECK(fed.queue.is_done());
}

TEST_CASE("a customer that is blocked while it has no job pays for service elsewhere") {
  DispatchQueue queue;
  const auto serve = [&](JobId id, const char* customer, microseconds service_time) {
    queue.offer(job_of(customer, id));
    REQUIRE(queue.take()->id == id);
    queue.ended(customer, service_time);
  };
  serve(1, "a", 10ms);
  for (const JobId id : {2, 3}) serve(id, "b", 20ms);  // Now the service of "a" is over, too.
  queue.block("a");
  queue.owe("a", 1s);
  queue.unblock("a");
  queue.offer(job_of("a", 4));
  queue.offer(job_of("b", 5));
  CHECK(queue.take()->id == 5);
}

TEST_CASE("a customer without jobs pays for service elsewhere by its weight") {
  DispatchQueue queue;
  queue.set_terms({CustomerWeights{{{"a", 4}}, 1}, milliseconds{0}, 0});
  const auto serve = [&](JobId id, const char* customer, microseconds service_time) {
    queue.offer(job_of(customer, id));
    REQUIRE(queue.take()->id == id);
    queue.ended(customer, service_time);
  };
  serve(1, "a", 40ms);
  queue.owe("a", 100ms);  // Now its clock is at 35 ms.
  serve(2, "b", 50ms);
  queue.offer(job_of("b", 3));
  queue.offer(job_of("a", 4));
  CHECK(queue.take()->id == 4);
}

TEST_CASE("a job is passed over while there is another, of any customer") {
  DispatchQueue queue;
  for (const JobId id : {1, 2}) queue.offer(job_of("a", id));
  queue.offer(job_of("b", 3));
  CHECK(queue.take_other_than({1})->id == 2);
  CHECK(queue.take_other_than({1})->id == 3);
  CHECK(queue.take_other_than({1})->id == 1);
  CHECK(queue.take_other_than({1}) == nullptr);
}
