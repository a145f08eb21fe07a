#include "cells/model/dispatch_queue.hpp"

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"
#include "tests/unit/cells/model/runnable_jobs.hpp"

using namespace model_test;
using Limits = DispatchQueue::Limits;

namespace {

/// The ids of the jobs that the queue gives without being fed, in order.
std::vector<JobId> take_all(DispatchQueue& queue) {
  std::vector<JobId> ids;
  while (const JobPtr job = queue.take()) ids.push_back(job->id);
  return ids;
}

using Ids = std::vector<JobId>;

}  // namespace

TEST_CASE("an empty queue gives nothing and asks for nothing") {
  DispatchQueue queue;
  CHECK(queue.empty());
  CHECK(queue.empty());
  CHECK_FALSE(queue.take());
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a job that is offered is given once") {
  DispatchQueue queue;
  queue.offer(job_of("acme", 1));
  CHECK(queue.size() == 1);
  CHECK(queue.take()->id == 1);
  CHECK(queue.empty());
  CHECK_FALSE(queue.take());
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a job that is offered twice is given once") {
  DispatchQueue queue;
  queue.offer(job_of("acme", 1));
  queue.offer(job_of("acme", 1));
  CHECK(take_all(queue) == Ids{1});
}

TEST_CASE("within a customer the higher priority goes first, then the lower place") {
  DispatchQueue queue;
  queue.offer(job_of("acme", 3, 5));
  queue.offer(job_of("acme", 1, 1));
  queue.offer(job_of("acme", 4, 9));
  queue.offer(job_of("acme", 2, 5));
  CHECK(take_all(queue) == Ids{4, 2, 3, 1});
}

TEST_CASE("customers take turns, whatever their priorities and places") {
  DispatchQueue queue;
  for (const JobId id : {1, 2, 3}) queue.offer(job_of("a", id, 9));
  for (const JobId id : {11, 12}) queue.offer(job_of("b", id, 1));
  queue.offer(job_of("c", 21));
  CHECK(take_all(queue) == Ids{1, 11, 21, 2, 12, 3});
}

TEST_CASE("a job that is not runnable any more is not given") {
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

TEST_CASE("a customer whose last job in the window was removed is asked for the others") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, false}}, true, nobody_in_hand);
  queue.remove(*job_of("a", 1));
  CHECK_FALSE(queue.take());
  CHECK(queue.next_fetch()->customer == "a");
}

TEST_CASE("a customer that is to be asked for is kept, whatever a sweep says of it") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, false}}, true, nobody_in_hand);
  queue.expect_more();
  REQUIRE(queue.next_fetch()->customer.empty());
  queue.remove(*job_of("a", 1));
  queue.fetched({{"a", {}, true}}, true, nobody_in_hand);
  CHECK(queue.next_fetch()->customer == "a");
}

TEST_CASE("all jobs of one product can be removed, and nobody else's") {
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
  queue.remove_all("nobody", "mail");
  CHECK(queue.size() == 2);
  CHECK(take_all(queue) == Ids{1, 4});
}

TEST_CASE("a customer whose job was removed in the middle of its turn does not hold up others") {
  DispatchQueue queue;
  queue.offer(job_of("a", 1));
  queue.offer(job_of("a", 2));
  queue.offer(job_of("b", 3));
  CHECK(queue.take()->id == 1);
  queue.ended("a", 0us);
  queue.remove(*job_of("a", 2));
  CHECK(take_all(queue) == Ids{3});
}

TEST_CASE("an end that nobody waits for changes nothing") {
  DispatchQueue queue;
  queue.ended("nobody", 5s);
  queue.offer(job_of("a", 1));
  queue.ended("a", 5s);
  CHECK(take_all(queue) == Ids{1});
}

TEST_CASE("a queue that expects more asks from the first customer on") {
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

TEST_CASE("a queue asks one question at a time") {
  DispatchQueue queue;
  queue.expect_more();
  CHECK(queue.next_fetch());
  CHECK_FALSE(queue.next_fetch());
  queue.expect_more();
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a queue that knows everything stops asking") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, true}, {"b", {job_of("b", 2)}, true}}, true,
                nobody_in_hand);
  CHECK_FALSE(queue.next_fetch());
  CHECK(take_all(queue) == Ids{1, 2});
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a sweep goes on after the last customer of the answer") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, true}, {"b", {job_of("b", 2)}, true}}, false,
                nobody_in_hand);
  const auto asked = queue.next_fetch();
  REQUIRE(asked);
  CHECK(asked->customer == "b");
  CHECK(asked->after);
  queue.fetched({}, true, nobody_in_hand);
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a sweep that may have passed something begins again") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.expect_more();
  queue.fetched({}, true, nobody_in_hand);
  const auto again = queue.next_fetch();
  REQUIRE(again);
  CHECK(again->customer.empty());
  queue.fetched({}, true, nobody_in_hand);
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("an answer's jobs that are in hand are not given again") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1), job_of("a", 2)}, true}}, true,
                [](JobId id) { return id == 1; });
  CHECK(take_all(queue) == Ids{2});
}

TEST_CASE("an answer of nothing but jobs in hand is asked for again when there are others") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, false}}, true, [](JobId) { return true; });
  const auto asked = queue.next_fetch();
  REQUIRE(asked);
  CHECK(asked->customer == "a");
  CHECK_FALSE(asked->after);
  CHECK(asked->customers_max == 1);
  queue.fetched({{"a", {job_of("a", 2)}, true}}, true, nobody_in_hand);
  CHECK(take_all(queue) == Ids{2});
}

TEST_CASE("a customer's next jobs are asked for before it runs out of them") {
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

TEST_CASE("an answer that begins with another customer says that there is nothing left") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, false}}, true, nobody_in_hand);
  CHECK(queue.take()->id == 1);
  REQUIRE(queue.next_fetch()->customer == "a");
  SECTION("with a job of the other") {
    queue.fetched({{"b", {job_of("b", 2)}, true}}, true, nobody_in_hand);
  }
  SECTION("with nothing at all") {
    queue.fetched({}, true, nobody_in_hand);
  }
  CHECK_FALSE(queue.next_fetch());
  queue.offer(job_of("a", 3));
  CHECK(take_all(queue) == Ids{3});
}

TEST_CASE("an answer that was not asked for is ignored") {
  DispatchQueue queue;
  queue.fetched({{"a", {job_of("a", 1)}, true}}, true, nobody_in_hand);
  CHECK(queue.empty());
}

TEST_CASE("a sweep whose question failed asks it again") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetch_failed();
  const auto asked = queue.next_fetch();
  REQUIRE(asked);
  CHECK(asked->customer.empty());
}

TEST_CASE("a customer whose question failed is asked for again") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1)}, false}, {"b", {job_of("b", 2)}, true}}, true,
                nobody_in_hand);
  CHECK(queue.take()->id == 1);
  REQUIRE(queue.next_fetch()->customer == "a");
  queue.fetch_failed();
  CHECK(queue.next_fetch());
}

TEST_CASE("a question that failed without having been asked changes nothing") {
  DispatchQueue queue;
  queue.fetch_failed();
  CHECK_FALSE(queue.next_fetch());
}

TEST_CASE("a customer that has left is not asked for again when its question fails") {
  DispatchQueue queue;
  queue.expect_more();
  queue.next_fetch();
  queue.fetched({{"a", {job_of("a", 1), job_of("a", 2)}, false}}, true, nobody_in_hand);
  CHECK(queue.take()->id == 1);
  REQUIRE(queue.next_fetch()->customer == "a");
  queue.expect_more();  // The sweep will bring in whatever it has.
  CHECK(queue.take()->id == 2);
  queue.ended("a", 0us);
  queue.ended("a", 0us);
  queue.fetch_failed();
  CHECK(queue.next_fetch()->customer.empty());
}

TEST_CASE("a job that others unseen may come before is left to the store") {
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

TEST_CASE("a customer does not fill the window beyond its share") {
  FedQueue fed({4, 16, 1 << 20});
  for (JobId id = 100; id > 0; --id) fed.offer(job_of("a", id));
  CHECK(fed.queue.size() <= 16);
  for (JobId id = 1; id <= 100; ++id) CHECK(fed.take()->id == id);
  CHECK_FALSE(fed.take());
}

TEST_CASE("the bytes of a window are bounded, though it holds at least one job") {
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

TEST_CASE("a customer with a job in service is not forgotten when the window is full of bytes") {
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
