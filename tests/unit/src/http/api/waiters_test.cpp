#include "src/http/api/waiters.hpp"

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/fixture.hpp"

using namespace celld::api;
using std::chrono::seconds;

namespace {

cells::JobPtr job(cells::JobId id, cells::JobState state, std::size_t bytes = 2) {
  cells::JobSpec spec;
  spec.parameters.assign(bytes, ' ');
  auto made = std::make_shared<cells::Job>();
  made->id = id;
  made->state = state;
  made->spec = std::make_shared<const cells::JobSpec>(std::move(spec));
  return made;
}

Waiter waiter(cells::JobId id, std::size_t bytes = 2) {
  return {job(id, cells::JobState::queued, bytes), celld::http::Responder(nullptr), seconds(1),
          false};
}

Waiters::Time at(int s) {
  return Waiters::Time(seconds(s));
}

}  // namespace

TEST_CASE("a waiter is returned once, when its job has ended") {
  Waiters waiters;
  waiters.add(waiter(1), at(10));
  CHECK(waiters.changed(job(2, cells::JobState::succeeded)).empty());
  CHECK(waiters.changed(job(1, cells::JobState::running)).empty());
  const auto ended = waiters.changed(job(1, cells::JobState::failed));
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].job->state == cells::JobState::failed);
  CHECK(waiters.changed(job(1, cells::JobState::failed)).empty());
  CHECK(waiters.size() == 0);
  CHECK_FALSE(waiters.next_deadline());
}

TEST_CASE("several clients wait for one job, each until its own deadline") {
  Waiters waiters;
  waiters.add(waiter(1), at(10));
  waiters.add(waiter(1), at(10));
  waiters.add(waiter(1), at(30));
  CHECK(waiters.take_expired(at(10)).size() == 2);
  CHECK(waiters.changed(job(1, cells::JobState::cancelled)).size() == 1);
  CHECK_FALSE(waiters.next_deadline());
}

TEST_CASE("waiters are returned at their deadlines, with the latest version of their jobs") {
  Waiters waiters;
  waiters.add(waiter(1), at(30));
  waiters.add(waiter(2), at(10));
  waiters.add(waiter(3), at(20));
  waiters.changed(job(3, cells::JobState::retrying));
  CHECK(waiters.next_deadline() == at(10));
  CHECK(waiters.take_expired(at(9)).empty());
  const auto expired = waiters.take_expired(at(20));
  REQUIRE(expired.size() == 2);
  CHECK(expired[0].job->id == 2);
  CHECK(expired[1].job->state == cells::JobState::retrying);
  CHECK(waiters.next_deadline() == at(30));
  CHECK(waiters.take_all().size() == 1);
  CHECK(waiters.size() == 0);
}

TEST_CASE("of the clients that seem to have gone, those with the latest jobs go on waiting") {
  celld::http::test::RunningServer server;
  std::vector<celld::http::test::Client> clients;
  Waiters waiters;
  for (const cells::JobId id : {2, 3, 1}) {
    clients.push_back(server.connect());
    auto each = waiter(id);
    each.responder = server.park(clients.back());
    clients.back().shut_down_writing();
    REQUIRE(celld::http::test::eventually([&] { return !each.responder.open_both_ways(); }));
    waiters.add(std::move(each), at(10));
  }
  const auto answered = waiters.take_gone(1);
  REQUIRE(answered.size() == 2);
  CHECK(waiters.jobs() == std::set<cells::JobId>{3});
  CHECK(waiters.take_gone(1).empty());
}

TEST_CASE("a client that seems to have gone is answered as one that did not wait") {
  celld::http::test::RunningServer server;
  auto client = server.connect();
  Waiters waiters;
  auto gone = waiter(1);
  gone.responder = server.park(client);
  client.shut_down_writing();
  REQUIRE(celld::http::test::eventually([&] { return !gone.responder.open_both_ways(); }));
  waiters.add(std::move(gone), at(10));
  const auto answered = waiters.take_gone(0);
  REQUIRE(answered.size() == 1);
  CHECK(answered[0].wait == seconds(0));
}

TEST_CASE("the memory of waiters is bounded, but a single job may have any size") {
  const auto fixed = cells::approximate_bytes(*job(9, cells::JobState::queued, 0));
  const auto bytes_max = Waiters::bytes_max - 2 * fixed;
  const auto fits = [](const Waiters& waiters, std::size_t bytes) {
    return waiters.has_room_for(*job(9, cells::JobState::queued, bytes));
  };
  Waiters waiters;
  CHECK(fits(waiters, 2 * Waiters::bytes_max));
  waiters.add(waiter(1, bytes_max - 10), at(10));
  CHECK(fits(waiters, 10));
  CHECK_FALSE(fits(waiters, 11));
  waiters.add(waiter(2, 10), at(20));
  CHECK_FALSE(fits(waiters, 1));
  waiters.take_expired(at(10));
  CHECK(fits(waiters, bytes_max - 10));
  CHECK_FALSE(fits(waiters, bytes_max - 9));
}

TEST_CASE("a job that grows beyond the memory of waiters is waited for no longer") {
  const auto grown = [](cells::JobId id, std::size_t bytes) {
    auto version = std::make_shared<cells::Job>(*job(id, cells::JobState::running));
    version->properties["p"] = std::string(bytes, 'x');
    return version;
  };
  Waiters waiters;
  waiters.add(waiter(1), at(10));
  waiters.add(waiter(2), at(10));
  CHECK(waiters.changed(grown(1, Waiters::bytes_max / 2)).empty());
  const auto answered = waiters.changed(grown(2, Waiters::bytes_max / 2));
  REQUIRE(answered.size() == 1);
  CHECK(answered[0].job->id == 2);
  CHECK(answered[0].job->state == cells::JobState::running);
  CHECK(answered[0].wait == seconds(0));
  CHECK(waiters.changed(grown(1, 2 * Waiters::bytes_max)).empty());  // It waits alone.
  CHECK_FALSE(waiters.has_room_for(*job(3, cells::JobState::queued)));
  CHECK(waiters.take_all().size() == 1);
  CHECK(waiters.has_room_for(*job(3, cells::JobState::queued)));
}
