#include "src/http/api/event_feed.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/http/api/job_json.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/api/fake_engine.hpp"
#include "tests/unit/src/http/api/stepped_system.hpp"
#include "tests/unit/src/http/fixture.hpp"

namespace celld::api {
namespace {

class Feed : public testing::SteppedSystem {
 public:
  explicit Feed(const FeedLimits& limits) : inlet_(std::in_place, system(), "run", limits) {
    take_messages();
  }
  ~Feed() {
    inlet_.reset();
    take_messages();
  }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  void notify(int changes) {
    auto job = std::make_shared<cells::Job>();
    job->spec = std::make_shared<cells::JobSpec>();
    for (int i = 0; i < changes; ++i) inlet_->notify(job);
  }

  void notify(const cells::JobPtr& job) { inlet_->notify(job); }

  /// Sends an order to follow the job, which the feed takes with its next messages.
  void follow(const http::Responder& responder, const cells::JobPtr& job) {
    follow(responder, job, [job](const cells::FindJob&) { return cells::JobFound{job}; });
  }
  void follow(const http::Responder& responder, const cells::JobPtr& job,
              std::function<cells::JobFound(const cells::FindJob&)> find) {
    auto script = std::make_shared<testing::Script>();
    script->find = std::move(find);
    caf::anon_send(inlet_->feed(), ReadJobsFrom{testing::spawn_reader(system(), script)});
    caf::anon_send(inlet_->feed(), FollowJob{.job = {job->id}, .responder = responder});
  }
  /// The same for all jobs of a customer.
  void follow_customer(const http::Responder& responder, const std::string& customer) {
    caf::anon_send(inlet_->feed(), FollowJobs{.customer = customer, .responder = responder});
  }
  void follow_product(const http::Responder& responder, const std::string& product) {
    caf::anon_send(inlet_->feed(), FollowJobs{.product = product, .responder = responder});
  }
  void resume(const http::Responder& responder, const std::string& last_event_id) {
    caf::anon_send(inlet_->feed(),
                   FollowJobs{.last_event_id = last_event_id, .responder = responder});
  }
  void resume_job(const http::Responder& responder, const cells::JobPtr& job,
                  const std::string& last_event_id) {
    auto script = std::make_shared<testing::Script>();
    script->find = [job](const cells::FindJob&) { return cells::JobFound{job}; };
    caf::anon_send(inlet_->feed(), ReadJobsFrom{testing::spawn_reader(system(), script)});
    caf::anon_send(
        inlet_->feed(),
        FollowJob{.job = {job->id}, .last_event_id = last_event_id, .responder = responder});
  }
  void end_streams() { caf::anon_send(inlet_->feed(), EndStreams{}); }

 private:
  std::optional<FeedInlet> inlet_;
};

cells::JobPtr job_with_id(cells::JobId id, const std::string& product = "") {
  auto spec = std::make_shared<cells::JobSpec>();
  spec->product = product;
  auto job = std::make_shared<cells::Job>();
  job->id = id;
  job->spec = std::move(spec);
  return job;
}

cells::JobPtr ended(const cells::JobPtr& job) {
  auto next = std::make_shared<cells::Job>(*job);
  next->state = cells::JobState::succeeded;
  return next;
}

}  // namespace

TEST_CASE("a feed that is behind receives one message about all changes that it loses") {
  Feed feed({.waiting_max = 2});
  for (int round = 0; round < 2; ++round) {
    INFO(round);
    feed.notify(2);
    CHECK(feed.take_messages() == 2);
    feed.notify(2 + 100);
    CHECK(feed.take_messages() == 2 + 1);
  }
}

TEST_CASE("a client gets no stream if all streams end while its job is being looked up") {
  http::test::RunningServer server;
  auto client = server.connect();
  const auto responder = server.park(client);
  Feed feed({});
  feed.follow(responder, job_with_id(7));
  feed.end_streams();
  feed.take_messages();
  REQUIRE(client.receive(true));
  CHECK(client.receive_chunk() == ":\n\n");
  CHECK(client.receive_chunk() == "");
}

TEST_CASE("a client whose job changes while its state is being read gets the change alone") {
  http::test::RunningServer server;
  auto client = server.connect();
  const auto job = job_with_id(7);
  int looks = 0;
  Feed feed({});
  feed.follow(server.park(client), job, [&](const cells::FindJob&) {
    if (++looks == 2) feed.notify(job);  // Reaches the feed before this answer.
    return cells::JobFound{job};
  });
  feed.take_messages();
  feed.end_streams();
  feed.take_messages();
  REQUIRE(client.receive(true));
  std::string text;
  for (auto chunk = client.receive_chunk(); chunk && !chunk->empty();
       chunk = client.receive_chunk()) {
    text += *chunk;
  }
  CHECK(text == ":\n\nid: run-1\nevent: job.state\ndata: " + job_json(*job) + "\n\n");
}

TEST_CASE("the stream of a job that is removed before its state is read ends") {
  http::test::RunningServer server;
  auto client = server.connect();
  const auto job = job_with_id(7);
  int looks = 0;
  Feed feed({});
  feed.follow(server.park(client), job,
              [&](const cells::FindJob&) { return cells::JobFound{++looks == 1 ? job : nullptr}; });
  feed.take_messages();
  REQUIRE(client.receive(true));
  CHECK(client.receive_chunk() == ":\n\n");
  CHECK(client.receive_chunk() == "");
}

TEST_CASE("a client that missed the end of its job gets it, and its stream ends") {
  http::test::RunningServer server;
  auto client = server.connect();
  const auto job = job_with_id(7);
  Feed feed({});
  feed.notify(job);
  feed.notify(ended(job));
  feed.resume_job(server.park(client), ended(job), "run-1");
  feed.take_messages();
  REQUIRE(client.receive(true));
  CHECK(client.receive_chunk() ==
        ":\n\nid: run-2\nevent: job.state\ndata: " + job_json(*ended(job)) + "\n\n");
  CHECK(client.receive_chunk() == "");
}

TEST_CASE("a client that has followed its job to the end gets a 204 when it reconnects") {
  http::test::RunningServer server;
  auto client = server.connect();
  const auto job = ended(job_with_id(7));
  Feed feed({});
  feed.notify(job);
  feed.resume_job(server.park(client), job, "run-1");
  feed.take_messages();
  CHECK(client.receive(true).value().status == 204);
}

TEST_CASE("a client that has not got all that it missed gets no more once all streams end") {
  // More than sockets hold by default.
  const auto large = job_with_id(7, std::string(7 << 20, 'x'));
  const auto small = job_with_id(8);
  http::Limits limits;
  limits.unsent_bytes_max = 64 << 20;
  // The server's thread sends to the feed, which a SteppedSystem does not allow.
  caf::actor_system_config config;
  caf::actor_system system{config};
  http::test::RunningServer server{limits};
  auto client = server.connect();
  FeedInlet inlet{system, "run", {.piece_bytes = 1}};
  for (const auto& job : {large, small}) inlet.notify(job);
  caf::anon_send(inlet.feed(),
                 FollowJobs{.last_event_id = "run-0", .responder = server.park(client)});
  caf::anon_send(inlet.feed(), EndStreams{});
  REQUIRE(client.receive(true));
  CHECK(client.receive_chunk().value_or("").size() > std::size_t{7 << 20});
  CHECK(client.receive_chunk() == "");
}

TEST_CASE("a feed forgets a client that has left, even if its job never changes") {
  http::test::RunningServer server;
  auto client = std::make_optional(server.connect());
  const auto responder = std::make_optional(server.park(*client));
  const auto job = job_with_id(7);
  Feed feed({});
  feed.follow(*responder, job);
  feed.take_messages();
  feed.pass(std::chrono::seconds{15});
  CHECK(feed.has_timer());
  client.reset();
  REQUIRE(http::test::eventually([&] { return !responder->connected(); }));
  feed.pass(std::chrono::seconds{15});
  CHECK_FALSE(feed.has_timer());
}

TEST_CASE("a feed forgets a client that has left before it got all that it missed") {
  http::test::RunningServer server;
  auto client = server.connect();
  const auto responder = server.park(client);
  client.reset();
  REQUIRE(http::test::eventually([&] { return !responder.connected(); }));
  Feed feed({.piece_bytes = 1});
  feed.notify(2);
  feed.resume(responder, "run-0");
  feed.take_messages();
  CHECK(feed.has_timer());
  feed.pass(std::chrono::seconds{15});
  CHECK_FALSE(feed.has_timer());
}

TEST_CASE("a client's position moves forward while other customers' jobs change, until it leaves") {
  http::test::RunningServer server;
  auto client = server.connect();
  const auto responder = server.park(client);
  Feed feed({});
  feed.follow_customer(responder, "acme");
  feed.take_messages();
  REQUIRE(client.receive(true));
  CHECK(client.receive_chunk() == ":\n\nid: run-0\n\n");
  for (int changes = 1; changes <= 3; ++changes) {
    feed.notify(1);
    feed.pass(std::chrono::seconds{15});
    CHECK(client.receive_chunk() == ":\nid: run-" + std::to_string(changes) + "\n\n");
    REQUIRE(feed.has_timer());
  }
  client.reset();
  REQUIRE(http::test::eventually([&] { return !responder.connected(); }));
  feed.pass(std::chrono::seconds{15});
  CHECK_FALSE(feed.has_timer());
}

TEST_CASE("a client that follows a product gets no changes of others") {
  http::test::RunningServer server;
  auto client = server.connect();
  const auto mail = job_with_id(8, "mail");
  Feed feed({});
  feed.follow_product(server.park(client), "mail");
  feed.take_messages();
  REQUIRE(client.receive(true));
  CHECK(client.receive_chunk() == ":\n\nid: run-0\n\n");
  feed.notify(job_with_id(7, "dns"));
  feed.notify(mail);
  feed.take_messages();
  CHECK(client.receive_chunk() == "id: run-2\nevent: job.state\ndata: " + job_json(*mail) + "\n\n");
}

TEST_CASE("a client gets the changes that it missed in pieces, and then all later ones") {
  const auto job = job_with_id(7);
  const auto event = [&](int number) {
    return "id: run-" + std::to_string(number) + "\nevent: job.state\ndata: " + job_json(*job) +
           "\n\n";
  };
  const auto one = event(1).size();
  std::string missed = ":\n\n";
  for (int number = 1; number <= 5; ++number) missed += event(number);
  missed += "id: run-5\n\n";
  for (const auto& [piece_bytes, pieces] :
       std::vector<std::pair<std::size_t, int>>{{1, 5}, {one, 5}, {one + 1, 3}, {5 * one, 1}}) {
    INFO(piece_bytes);
    // The server's thread sends to the feed, which a SteppedSystem does not allow.
    caf::actor_system_config config;
    caf::actor_system system{config};
    http::test::RunningServer server;
    auto client = server.connect();
    FeedInlet inlet{system, "run", {.piece_bytes = piece_bytes}};
    for (int change = 0; change < 5; ++change) inlet.notify(job);
    caf::anon_send(inlet.feed(),
                   FollowJobs{.last_event_id = "run-0", .responder = server.park(client)});
    REQUIRE(client.receive(true));
    std::string text;
    for (int piece = 0; piece < pieces; ++piece) text += client.receive_chunk().value_or("");
    CHECK(text == missed);
    inlet.notify(job);
    CHECK(client.receive_chunk() == event(6));
  }
}

}  // namespace celld::api
