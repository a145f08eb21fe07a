#include "cells/model/dispatch_queue.hpp"

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"
#include "tests/unit/cells/model/runnable_jobs.hpp"

using namespace model_test;
using Limits = DispatchQueue::Limits;

namespace {

/// The ids of the jobs that the queue hands out, in order, without further fetches.
std::vector<JobId> take_all(DispatchQueue& queue) {
  std::vector<JobId> ids;
  while (const JobPtr job = queue.take()) ids.push_back(job->id);
  return ids;
}

using Ids = std::vector<JobId>;

}  // namespace

TEST_CASE("an empty queue hands out nothing and fetches nothing") {
  DispatchQueue queue;
  CHECK(queue.empty());
  CHECK(queue.empty());
  CHECK_FALSE(queue.take());
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a job that is offered is handed out once") {
  DispatchQueue queue;
  queue.offer(job_of("acme", 1));
  CHECK(queue.size() == 1);
  CHECK(queue.take()->id == 1);
  CHECK(queue.empty());
  CHECK_FALSE(queue.take());
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a job that is offered twice is handed out once") {
  DispatchQueue queue;
  queue.offer(job_of("acme", 1));
  queue.offer(job_of("acme", 1));
  CHECK(take_all(queue) == Ids{1});
}

TEST_CASE("a job that is offered again drives no other job out of the window") {
  DispatchQueue queue;
  queue.offer(job_of("acme", 1));
  queue.offer(job_of("acme", 2));
  queue.set_terms({{}, 0ms, 1});  // From now on, the window has room for one job of a customer.
  queue.offer(job_of("acme", 1));
  CHECK(take_all(queue) == Ids{1, 2});
}

TEST_CASE("within a customer the higher priority goes first, then the lower place") {
  DispatchQueue queue;
  queue.offer(job_of("acme", 3, 5));
  queue.offer(job_of("acme", 1, 1));
  queue.offer(job_of("acme", 4, 9));
  queue.offer(job_of("acme", 2, 5));
  CHECK(take_all(queue) == Ids{4, 2, 3, 1});
}

TEST_CASE("with a priority step, a job counts as older by its priority") {
  const auto at = [](int ms, JobId counter) {
    return first_job_id_at(WallTime{milliseconds{ms}}) + counter;
  };
  DispatchQueue queue;
  queue.set_terms({{}, 100ms, 0});
  queue.offer(job_of("acme", at(1000, 1), 1));
  queue.offer(job_of("acme", at(1099, 2), 2));  // Older than the first by a millisecond.
  queue.offer(job_of("acme", at(1101, 3), 2));
  queue.offer(job_of("acme", at(1799, 4), 9));
  queue.offer(job_of("acme", at(1900, 5), 9));
  CHECK(take_all(queue) == Ids{at(1099, 2), at(1799, 4), at(1000, 1), at(1101, 3), at(1900, 5)});
}

TEST_CASE("the order of a window follows a change of the priority step") {
  const auto at = [](int ms) { return first_job_id_at(WallTime{milliseconds{ms}}); };
  DispatchQueue queue;
  queue.offer(job_of("acme", at(1000), 1));
  queue.offer(job_of("acme", at(5000), 9));
  queue.set_terms({{}, 1ms, 0});
  CHECK(queue.take()->id == at(1000));
  queue.set_terms({});
  queue.offer(job_of("acme", at(1000), 1));
  CHECK(queue.take()->id == at(5000));
}

TEST_CASE("an answer in the order of an earlier priority step is not used") {
  DispatchQueue queue;
  queue.expect_more();
  REQUIRE(queue.next_fetch());
  queue.set_terms({{}, 1ms, 0});
  queue.fetched({{"acme", {job_of("acme", 1)}, false}}, true, none_in_hand);
  CHECK(queue.empty());
  CHECK(queue.next_fetch());
}

TEST_CASE("customers take turns, whatever their priorities and places") {
  DispatchQueue queue;
  for (const JobId id : {1, 2, 3}) queue.offer(job_of("a", id, 9));
  for (const JobId id : {11, 12}) queue.offer(job_of("b", id, 1));
  queue.offer(job_of("c", 21));
  CHECK(take_all(queue) == Ids{1, 11, 21, 2, 12, 3});
}

TEST_CASE("a job that is no longer runnable is not handed out") {
  DispatchQueue queue;
  queue.offer(job_of("acme", 1));
  queue.offer(job_of("acme", 2));
  queue.offer(job_of("other", 3));
  queue.remove(*job_of("acme", 1));
  queue.remove(*job_of("other", 3));
  CHECK(queue.size() == 1);
  CHECK(take_all(queue) == Ids{2});
}

TEST_CASE("removing a job that is not in the window changes nothing") {
  DispatchQueue queue;
  queue.remove(*job_of("acme", 1));
  queue.offer(job_of("acme", 1));
  queue.remove(*job_of("acme", 2));
  queue.remove(*job_of("other", 1));
  Job another = *job_of("acme", 9);
  another.place = 1;
  queue.remove(another);
  CHECK(take_all(queue) == Ids{1});
}

TEST_CASE("removing the last job of a customer in the window fetches its others") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, false}}, true, none_in_hand);
  queue.remove(*job_of("a", 1));
  CHECK_FALSE(queue.take());
  CHECK(queue.next_fetch()->customer == "a");
}

TEST_CASE("a customer that awaits a fetch is kept, even if a sweep finds no job of it") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, false}}, true, none_in_hand);
  queue.expect_more();
  REQUIRE(queue.next_fetch()->customer.empty());
  queue.remove(*job_of("a", 1));
  queue.fetched({{"a", {}, true}}, true, none_in_hand);
  CHECK(queue.next_fetch()->customer == "a");
}

TEST_CASE("all jobs of one customer and product can be removed at once") {
  const auto of_mail = [](const std::string& customer, JobId id) {
    Job job = *job_of(customer, id);
    JobSpec spec = *job.spec;
    spec.product = "mail";
    job.spec = std::make_shared<const JobSpec>(std::move(spec));
    return std::make_shared<const Job>(std::move(job));
  };
  DispatchQueue queue;
  queue.offer(job_of("a", 1));
  queue.offer(of_mail("a", 2));
  queue.offer(of_mail("a", 3));
  queue.offer(of_mail("b", 4));
  queue.remove_all("a", "mail");
  queue.remove_all("unknown", "mail");
  CHECK(queue.size() == 2);
  CHECK(take_all(queue) == Ids{1, 4});
}

TEST_CASE("removing a customer's job in the middle of its turn does not hold up others") {
  DispatchQueue queue;
  queue.offer(job_of("a", 1));
  queue.offer(job_of("a", 2));
  queue.offer(job_of("b", 3));
  CHECK(queue.take()->id == 1);
  queue.ended("a", 0us);
  queue.remove(*job_of("a", 2));
  CHECK(take_all(queue) == Ids{3});
}

TEST_CASE("the end of a job that was not taken changes nothing") {
  DispatchQueue queue;
  queue.ended("unknown", 5s);
  queue.offer(job_of("a", 1));
  queue.ended("a", 5s);
  CHECK(take_all(queue) == Ids{1});
}

TEST_CASE("a sweep begins with the first customer") {
  DispatchQueue queue({8, 64, 1 << 20});
  queue.expect_more();
  const auto asked = queue.next_fetch();
  REQUIRE(asked);
  CHECK(asked->customer.empty());
  CHECK_FALSE(asked->after);
  CHECK(asked->customers_max == 8);
  CHECK(asked->jobs_max >= 4);
  CHECK(asked->bytes_max == 1 << 20);
}

TEST_CASE("a queue has one fetch in flight at a time") {
  DispatchQueue queue;
  queue.expect_more();
  CHECK(queue.next_fetch());
  CHECK_FALSE(queue.next_fetch());
  queue.expect_more();
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a queue that holds every runnable job stops fetching") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, true}, {"b", {job_of("b", 2)}, true}}, true, none_in_hand);
  CHECK_FALSE(queue.next_fetch());
  CHECK(take_all(queue) == Ids{1, 2});
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a sweep continues after the last customer of the answer") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, true}, {"b", {job_of("b", 2)}, true}}, false,
                none_in_hand);
  const auto asked = queue.next_fetch();
  REQUIRE(asked);
  CHECK(asked->customer == "b");
  CHECK(asked->after);
  queue.fetched({}, true, none_in_hand);
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a sweep that goes on does not keep out jobs of the customer that it brought last") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, true}}, false, none_in_hand);
  REQUIRE(queue.take()->id == 1);
  queue.ended("a", 0us);
  queue.offer(job_of("a", 2));
  CHECK(take_all(queue) == Ids{2});
}

TEST_CASE("a sweep that may have missed a job begins again") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.expect_more();
  queue.fetched({}, true, none_in_hand);
  const auto again = queue.next_fetch();
  REQUIRE(again);
  CHECK(again->customer.empty());
  queue.fetched({}, true, none_in_hand);
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a job that leaves during a fetch does not come back with its answer") {
  DispatchQueue queue;
  queue.offer(job_of("a", 1));
  queue.expect_more();
  REQUIRE(queue.next_fetch());
  queue.left(queue.take()->id);
  queue.ended("a", microseconds{0});
  queue.fetched({{"a", {job_of("a", 1), job_of("a", 2)}, true}}, true, none_in_hand);
  CHECK(take_all(queue) == Ids{2});
  queue.expect_more();
  REQUIRE(queue.next_fetch());
  queue.fetched({{"a", {job_of("a", 1)}, true}}, true, none_in_hand);  // It is back.
  CHECK(take_all(queue) == Ids{1});
}

TEST_CASE("fetched jobs that are in hand are not handed out again") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1), job_of("a", 2)}, true}}, true,
                [](JobId id) { return id == 1; });
  CHECK(take_all(queue) == Ids{2});
}

TEST_CASE("a fetch that brings only jobs in hand is repeated while there are others") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, false}}, true, [](JobId) { return true; });
  const auto asked = queue.next_fetch();
  REQUIRE(asked);
  CHECK(asked->customer == "a");
  CHECK_FALSE(asked->after);
  CHECK(asked->customers_max == 1);
  queue.fetched({{"a", {job_of("a", 2)}, true}}, true, none_in_hand);
  CHECK(take_all(queue) == Ids{2});
}

TEST_CASE("the next jobs of a customer are fetched before it runs out") {
  FedQueue fed({1, 8, 1 << 20});
  for (JobId id = 1; id <= 100; ++id) fed.store.insert(job_of("a", id));
  fed.queue.expect_more();
  REQUIRE(fed.feed());
  CHECK(fed.queue.size() < 100);
  for (JobId id = 1; id <= 100; ++id) {
    CHECK(fed.take()->id == id);
    CHECK(fed.queue.empty() == (id == 100));
  }
}

TEST_CASE("an answer without the customer asked for means that it has no jobs left") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, false}}, true, none_in_hand);
  CHECK(queue.take()->id == 1);
  REQUIRE(queue.next_fetch()->customer == "a");
  SECTION("with a job of another customer") {
    queue.fetched({{"b", {job_of("b", 2)}, true}}, true, none_in_hand);
  }
  SECTION("with no customer at all") {
    queue.fetched({}, true, none_in_hand);
  }
  CHECK_FALSE(queue.next_fetch());
  queue.offer(job_of("a", 3));
  CHECK(take_all(queue) == Ids{3});
}

TEST_CASE("an unexpected answer is ignored") {
  DispatchQueue queue;
  queue.fetched({{"a", {job_of("a", 1)}, true}}, true, none_in_hand);
  CHECK(queue.empty());
}

TEST_CASE("a failed fetch of a sweep is repeated") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetch_failed();
  const auto asked = queue.next_fetch();
  REQUIRE(asked);
  CHECK(asked->customer.empty());
}

TEST_CASE("a failed fetch for a customer is repeated") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, false}, {"b", {job_of("b", 2)}, true}}, true,
                none_in_hand);
  CHECK(queue.take()->id == 1);
  REQUIRE(queue.next_fetch()->customer == "a");
  queue.fetch_failed();
  CHECK(queue.next_fetch());
}

TEST_CASE("the failure of a fetch that was never sent changes nothing") {
  DispatchQueue queue;
  queue.fetch_failed();
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a failed fetch is not repeated for a customer that has left") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1), job_of("a", 2)}, false}}, true, none_in_hand);
  CHECK(queue.take()->id == 1);
  REQUIRE(queue.next_fetch()->customer == "a");
  queue.expect_more();  // The sweep brings in whatever the customer has.
  CHECK(queue.take()->id == 2);
  queue.ended("a", 0us);
  queue.ended("a", 0us);
  queue.fetch_failed();
  CHECK(queue.next_fetch()->customer.empty());
}

TEST_CASE("a job is left to the store if jobs outside the window may precede it") {
  FedQueue fed({1, 8, 1 << 20});
  for (JobId id = 1; id <= 20; ++id) fed.store.insert(job_of("a", id));
  fed.queue.expect_more();
  REQUIRE(fed.feed());
  const std::size_t size = fed.queue.size();
  fed.offer(job_of("a", 30));
  CHECK(fed.queue.size() == size);
  fed.offer(job_of("a", 31, 9));
  CHECK(fed.take()->id == 31);
  for (JobId id = 1; id <= 20; ++id) CHECK(fed.take()->id == id);
  CHECK(fed.take()->id == 30);
}

TEST_CASE("a customer does not fill more than its share of the window") {
  FedQueue fed({4, 16, 1 << 20});
  for (JobId id = 100; id > 0; --id) fed.offer(job_of("a", id));
  CHECK(fed.queue.size() <= 16);
  for (JobId id = 1; id <= 100; ++id) CHECK(fed.take()->id == id);
  CHECK_FALSE(fed.take());
}

TEST_CASE("the window is bounded in bytes, but holds at least one job") {
  const std::size_t job_bytes = approximate_bytes(*job_of("a", 1));
  FedQueue fed({4, 100, 3 * job_bytes});
  for (JobId id = 1; id <= 50; ++id) {
    fed.offer(job_of("a", id));
    CHECK_FALSE(fed.queue.empty());
    CHECK(fed.queue.size() <= 4);
  }
  for (JobId id = 1; id <= 50; ++id) CHECK(fed.take()->id == id);

  FedQueue tiny({4, 100, 1});
  for (JobId id = 1; id <= 5; ++id) tiny.offer(job_of("a", id));
  for (JobId id = 1; id <= 5; ++id) CHECK(tiny.take()->id == id);
}

TEST_CASE(
    "a window leaves as much of the budget of all as it holds, and each may hold a few jobs") {
  const std::size_t job_bytes = approximate_bytes(*job_of("a", 1));
  const auto budget = std::make_shared<WindowBudget>(12 * job_bytes);
  std::vector<FedQueue> queues;
  for (const std::size_t held : {5U, 3U, 2U, 2U, 2U, 2U}) {
    auto& fed = queues.emplace_back(DispatchQueue::Limits{8, 100, 4 << 20, 2}, budget);
    for (JobId id = 1; id <= 50; ++id) fed.offer(job_of("a", id));
    CHECK(fed.queue.size() == held);
  }
  CHECK(budget->bytes() == 16 * job_bytes);
  for (auto& fed : queues) {
    for (JobId id = 1; id <= 50; ++id) CHECK(fed.take()->id == id);
  }
  CHECK(budget->bytes() == 0);
}

TEST_CASE("windows that all fetch at once, as after a start, keep to their budget") {
  const std::size_t job_bytes = approximate_bytes(*job_of("a", 1));
  const auto budget = std::make_shared<WindowBudget>(100 * 1024);
  std::vector<FedQueue> queues;
  for (int i = 0; i < 50; ++i) {
    queues.emplace_back(DispatchQueue::Limits{8, 100, 4 << 20, 2}, budget);
    for (JobId id = 1; id <= 200; ++id) queues.back().store.insert(job_of("a", id));
    queues.back().queue.expect_more();
  }
  std::vector<std::optional<DispatchQueue::Fetch>> fetches;
  for (auto& fed : queues) fetches.push_back(fed.queue.next_fetch());
  for (std::size_t i = 0; i < queues.size(); ++i) {
    REQUIRE(fetches[i]);
    auto answer = queues[i].store.fetch(*fetches[i]);
    queues[i].queue.fetched(std::move(answer.customers), answer.complete, none_in_hand);
  }
  CHECK(budget->bytes() <= (100 + 50 * 4) * job_bytes);
  for (auto& fed : queues) {
    for (JobId id = 1; id <= 200; ++id) CHECK(fed.take()->id == id);
  }
  CHECK(budget->bytes() == 0);
}

TEST_CASE("a window that ends gives its bytes back") {
  const auto budget = std::make_shared<WindowBudget>(1000);
  {
    DispatchQueue queue({}, {}, budget);
    queue.offer(job_of("a", 1));
    CHECK(budget->bytes() == approximate_bytes(*job_of("a", 1)));
    queue.expect_more();
    REQUIRE(queue.next_fetch());  // Also those that an answer would bring.
  }
  CHECK(budget->bytes() == 0);
}

TEST_CASE("a customer with a job in service is not forgotten when the window is out of bytes") {
  FedQueue fed({8, 8, 1});
  fed.offer(job_of("a", 1));
  CHECK(fed.take()->id == 1);  // Still in service.
  fed.offer(job_of("b", 2));
  fed.offer(job_of("a", 3));
  CHECK(fed.take()->id == 2);
  const JobPtr job = fed.take();
  REQUIRE(job);
  CHECK(job->id == 3);
}

TEST_CASE("a customer that does not fit is brought in by a sweep") {
  FedQueue fed({1, 8, 1 << 20});
  fed.offer(job_of("b", 1));
  fed.offer(job_of("a", 2));
  fed.offer(job_of("c", 3));
  CHECK(fed.queue.size() == 1);
  CHECK(fed.take()->id == 1);
  CHECK(fed.take()->id == 2);
  CHECK(fed.take()->id == 3);
  CHECK_FALSE(fed.take());
}

TEST_CASE("a customer that a worker waits for is fetched although the window is full of others") {
  DispatchQueue queue{Limits{1, 4, 4 << 20}};
  queue.offer(job_of("acme", 1));
  queue.offer(job_of("bolt", 2));
  CHECK_FALSE(queue.has("bolt"));
  queue.seek("bolt");
  const auto fetch = queue.next_fetch();
  REQUIRE(fetch);
  CHECK(fetch->customer == "bolt");
  CHECK_FALSE(fetch->after);
  queue.fetched({{"bolt", {job_of("bolt", 2)}, true}}, true, [](JobId) { return false; });
  CHECK(queue.has("bolt"));
  CHECK(queue.take_of("bolt")->id == 2);
}

TEST_CASE("a customer that a worker waits for is fetched although the window is out of bytes") {
  FedQueue fed({8, 64, 1});
  fed.offer(job_of("acme", 1));
  fed.offer(job_of("bolt", 2));
  REQUIRE_FALSE(fed.queue.has("bolt"));
  fed.queue.seek("bolt");
  REQUIRE(fed.feed());
  CHECK(fed.queue.take_of("bolt")->id == 2);
}

TEST_CASE("a customer that was sought and has no job is not fetched again until it may have one") {
  FedQueue fed({1, 4, 4 << 20});
  fed.offer(job_of("acme", 1));
  fed.offer(job_of("bolt", 2));
  const auto fetches = [&](const std::string& customer) {
    fed.queue.seek(customer);
    const auto fetch = fed.queue.next_fetch();
    if (fetch) fed.queue.fetched(fed.store.fetch(*fetch).customers, true, none_in_hand);
    return fetch && fetch->customer == customer;
  };
  CHECK(fetches("acre"));
  CHECK_FALSE(fetches("acre"));
  SECTION("a job is offered") {
    fed.store.insert(job_of("acre", 3));
    fed.queue.offer(job_of("acre", 3));
    CHECK(fetches("acre"));
    CHECK(fed.queue.take_of("acre")->id == 3);
  }
  SECTION("the store may have more") {
    fed.store.insert(job_of("acre", 3));
    fed.queue.expect_more();
    CHECK(fetches("acre"));
    CHECK(fed.queue.take_of("acre")->id == 3);
  }
}

TEST_CASE("a customer is sought again if the store came to have more jobs during the fetch") {
  FedQueue fed({1, 4, 4 << 20});
  fed.offer(job_of("acme", 1));
  fed.offer(job_of("bolt", 2));
  fed.queue.seek("acre");
  REQUIRE(fed.queue.next_fetch()->customer == "acre");
  fed.store.insert(job_of("acre", 3));
  fed.queue.expect_more();
  fed.queue.fetched({}, true, none_in_hand);
  fed.queue.seek("acre");
  REQUIRE(fed.feed());
  CHECK(fed.queue.has("acre"));
}

TEST_CASE("a customer that left the window after its turn can be sought") {
  FedQueue fed({1, 4, 4 << 20});
  for (JobId id = 1; id <= 3; ++id) fed.offer(job_of("acme", id));
  fed.offer(job_of("bolt", 4));
  while (fed.queue.has("acme")) fed.take();
  fed.queue.seek("acme");
  REQUIRE(fed.feed());
  CHECK(fed.queue.has("acme"));
}

TEST_CASE("a fetch under way counts as the jobs that it may bring, not as all its bytes") {
  const auto budget = std::make_shared<WindowBudget>(64 << 20);
  DispatchQueue queue{Limits{1, 4, 4 << 20}, {}, budget};
  queue.expect_more();
  const auto asked = queue.next_fetch();
  REQUIRE(asked);
  CHECK(asked->bytes_max == 4 << 20);
  CHECK(budget->bytes() > 0);
  CHECK(budget->bytes() <= 4 * 2048);  // Four jobs of the usual size.
  queue.fetched({}, true, none_in_hand);
  CHECK(budget->bytes() == 0);
}
