#include "src/http/api/batch_waiters.hpp"

#include <vector>

#include "tests/unit/catch.hpp"

using namespace celld::api;
using std::chrono::seconds;

namespace {

BatchWaiters::Time at(int s) {
  return BatchWaiters::Time(seconds(s));
}

BatchWaiter waiter(cells::BatchId id, int deadline, const std::string& report = "{}") {
  return {id, celld::http::Responder(nullptr), report, {}, seconds(1), at(deadline)};
}

std::vector<cells::BatchId> ids_of(const std::vector<BatchWaiter>& waiters) {
  std::vector<cells::BatchId> ids;
  for (const auto& each : waiters) ids.push_back(each.id);
  return ids;
}

using Ids = std::vector<cells::BatchId>;

}  // namespace

TEST_CASE("a client that waits for a batch is returned once, with its report") {
  BatchWaiters waiters(10, 100);
  waiters.add(waiter(1, 10, "one"));
  waiters.add(waiter(2, 10, "two"));
  waiters.add(waiter(3, 10, "three"));
  CHECK_FALSE(waiters.take(4));
  const auto taken = waiters.take(2);
  REQUIRE(taken);
  CHECK(taken->id == 2);
  CHECK(taken->report == "two");
  CHECK_FALSE(waiters.take(2));
  REQUIRE(waiters.size() == 2);
  CHECK(waiters.batch_at(0) == 1);
  CHECK(waiters.batch_at(1) == 3);
}

TEST_CASE("clients that wait for batches are returned at their deadlines, and the others stay") {
  BatchWaiters waiters(10, 100);
  waiters.add(waiter(1, 30));
  waiters.add(waiter(2, 10));
  waiters.add(waiter(3, 20));
  waiters.add(waiter(4, 40));
  CHECK(waiters.take_expired(at(9)).empty());
  CHECK(ids_of(waiters.take_expired(at(20))) == Ids{2, 3});
  CHECK(waiters.take_expired(at(20)).empty());
  CHECK(ids_of(waiters.take_all()) == Ids{1, 4});
  CHECK(waiters.size() == 0);
}

TEST_CASE("no more clients wait for batches than the limit, whichever way the others went") {
  BatchWaiters waiters(2, 100);
  const auto fill = [&] {
    while (waiters.has_room_for("{}")) waiters.add(waiter(waiters.size() + 1, 10));
    CHECK(waiters.size() == 2);
  };
  fill();
  waiters.take(1);
  CHECK(waiters.has_room_for("{}"));
  fill();
  waiters.take_expired(at(10));
  fill();
  waiters.take_all();
  fill();
}

TEST_CASE("the reports of clients that wait for batches are bounded together") {
  BatchWaiters waiters(100, 10);
  const auto fill = [&] {
    waiters.add(waiter(1, 10, "12345"));
    waiters.add(waiter(2, 20, "1234"));
    CHECK(waiters.has_room_for("1"));
    CHECK_FALSE(waiters.has_room_for("12"));
  };
  fill();
  waiters.take(1);
  CHECK(waiters.has_room_for("123456"));
  CHECK_FALSE(waiters.has_room_for("1234567"));
  waiters.take_expired(at(20));
  CHECK(waiters.has_room_for("1234567890"));
  fill();
  waiters.take_all();
  CHECK(waiters.has_room_for("1234567890"));
  CHECK_FALSE(waiters.has_room_for("12345678901"));
}
