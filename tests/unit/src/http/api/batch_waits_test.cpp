// Clients that wait until the jobs of their batch have ended.
#include <atomic>
#include <future>
#include <vector>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/api/batches.hpp"

using namespace celld;
using namespace celld::api;
using namespace celld::api::testing;
using cells::JobState;
using std::chrono::milliseconds;

TEST_CASE("a client that prefers to wait is answered when all jobs of its batch have ended") {
  Daemon daemon;
  std::atomic<int> looks{0};
  daemon.script->close_batch = [&](const cells::CloseBatch& message) {
    close(daemon.batch, message.now);
    daemon.batch.counts[JobState::running] = 1;
    return cells::BatchClosed{daemon.batch};
  };
  daemon.script->find_batch = [&](const cells::FindBatch&) {
    if (++looks == 3) {
      daemon.batch.counts = {};
      daemon.batch.counts[JobState::succeeded] = 1;
    }
    return cells::BatchFound{daemon.batch};
  };
  const auto answer = post_lines(daemon, good_job, {{"Prefer", "wait=30"}});
  CHECK(answer.status == 200);
  CHECK(answer.header("Preference-Applied") == "wait=30");
  CHECK(looks == 3);
}

TEST_CASE("a client that prefers to wait is answered at once if its batch has no job") {
  Daemon daemon;
  const auto answer = post_lines(daemon, "nonsense", {{"Prefer", "wait=60"}});
  CHECK(answer.status == 200);
  CHECK(answer.header("Preference-Applied") == "wait=60");
  CHECK(answer.body["rejected"] == 1);
}

TEST_CASE("a client whose wait expires or is released gets a 202") {
  Daemon daemon;
  daemon.script->close_batch = [&](const cells::CloseBatch& message) {
    close(daemon.batch, message.now);
    daemon.batch.counts[JobState::running] = 1;
    return cells::BatchClosed{daemon.batch};
  };
  refuse_after(daemon, 1, cells::Refusal::Kind::queue_full);
  const auto expired = post_lines(daemon, repeated(good_job + "\n", 2), {{"Prefer", "wait=1"}});
  CHECK(expired.status == 202);
  CHECK(expired.body["stopped_at_line"] == 2);
  CHECK(std::stoi(expired.header("Retry-After")) <= 3);  // A second less than at the refusal.
  std::promise<void> waits;
  std::atomic<bool> is_seen{false};
  daemon.script->find_batch = [&](const cells::FindBatch&) {
    if (!is_seen.exchange(true)) waits.set_value();
    return cells::BatchFound{daemon.batch};
  };
  auto released = std::async(std::launch::async,
                             [&] { return post_lines(daemon, good_job, {{"Prefer", "wait=60"}}); });
  waits.get_future().wait();
  daemon.send(ReleaseBatchWaiters{});
  CHECK(released.get().status == 202);
}

TEST_CASE("a client that sends a batch is answered at once when celld shuts down") {
  http::test::RunningServer server;
  auto client = server.connect();
  Desk desk;
  desk.begin(server, client);
  desk.send(EndReading{});
  desk.take_messages();
  REQUIRE_FALSE(desk.batch.is_open);
  CHECK(client.receive().value().status == 202);
}

TEST_CASE("no client waits for a batch that ends while celld shuts down") {
  http::test::RunningServer server;
  auto client = server.connect();
  Desk desk;
  desk.batch.counts[JobState::running] = 1;
  desk.script->submit = [&](const cells::SubmitJob& message) {
    desk.send(EndReading{});
    return accepted(message.request);
  };
  desk.send_lines(desk.begin(server, client, std::chrono::seconds{60}), 1, 0);
  desk.take_messages();
  desk.send(ReleaseBatchWaiters{});  // A client that still waits gets its answer now.
  desk.take_messages();
  CHECK(client.receive().value().headers.at("preference-applied") == "wait=0");
}

TEST_CASE("a client does not wait for a batch that celld no longer has") {
  http::test::RunningServer server;
  auto client = server.connect();
  Desk desk;
  desk.batch.counts[JobState::running] = 1;
  desk.script->find_batch = [](const cells::FindBatch&) { return cells::BatchFound{}; };
  desk.send_lines(desk.begin(server, client, std::chrono::seconds{60}), 0, 0);
  desk.take_messages();
  desk.pass(std::chrono::seconds{1});
  desk.send(ReleaseBatchWaiters{});  // If the client still waits, it gets a 202.
  desk.take_messages();
  CHECK(client.receive().value().status == 200);
}

TEST_CASE("a failed look-up of a batch does not keep its client from an answer at the end") {
  http::test::RunningServer server;
  auto client = server.connect();
  int lookups = 0;
  Desk desk;
  const auto find_batch = [&](const cells::FindBatch&) {
    ++lookups;
    return cells::BatchFound{desk.batch};
  };
  desk.script->find_batch = find_batch;
  desk.batch.counts[JobState::running] = 1;
  desk.send_lines(desk.begin(server, client, std::chrono::seconds{60}), 0, 0);
  desk.take_messages();
  desk.pass(std::chrono::seconds{1});
  REQUIRE(lookups == 1);
  desk.script->find_batch = nullptr;
  desk.pass(std::chrono::seconds{1});
  desk.script->find_batch = find_batch;
  desk.batch.counts = {};
  desk.batch.counts[JobState::succeeded] = 1;
  desk.pass(std::chrono::seconds{1});
  CHECK(lookups == 2);
  desk.send(ReleaseBatchWaiters{});  // If the client still waits, it gets a 202.
  desk.take_messages();
  CHECK(client.receive().value().status == 200);
}

TEST_CASE("a batch that goes on keeps no client from learning of the end of another") {
  http::test::RunningServer server;
  auto first = server.connect();
  auto second = server.connect();
  Desk desk;
  desk.batch.counts[JobState::running] = 1;
  std::vector<cells::Batch> batches;
  for (auto* client : {&first, &second}) {
    desk.send_lines(desk.begin(server, *client, std::chrono::seconds{60}), 0, 0);
    desk.take_messages();
    batches.push_back(desk.batch);
  }
  batches[1].counts = {};
  batches[1].counts[JobState::succeeded] = 1;
  desk.script->find_batch = [&](const cells::FindBatch& message) {
    return cells::BatchFound{batches[message.id == batches[0].id ? 0 : 1]};
  };
  desk.pass(std::chrono::seconds{1});
  desk.send(ReleaseBatchWaiters{});  // A client that still waits gets a 202.
  desk.take_messages();
  CHECK(second.receive().value().status == 200);
  CHECK(first.receive().value().status == 202);
}

TEST_CASE("a client that has left makes room for another that prefers to wait") {
  BatchLimits limits;
  limits.waiting_max = 1;
  Daemon daemon{true, limits};
  daemon.script->close_batch = [&](const cells::CloseBatch& message) {
    close(daemon.batch, message.now);
    daemon.batch.counts[JobState::running] = 1;
    return cells::BatchClosed{daemon.batch};
  };
  daemon.script->find_batch = [&](const cells::FindBatch&) {
    return cells::BatchFound{daemon.batch};
  };
  const auto wait = [&] { return post_lines(daemon, good_job, {{"Prefer", "wait=1"}}); };
  {
    auto impatient = daemon.client();
    impatient.set_read_timeout(0, 200'000);
    CHECK_FALSE(
        impatient.Post("/v1/batches", {{"Prefer", "wait=60"}}, good_job, "application/x-ndjson"));
  }
  CHECK(http::test::eventually([&] { return wait().header("Preference-Applied") == "wait=1"; }));
}

TEST_CASE("a client that has left while it waited for its batch is forgotten") {
  http::test::RunningServer server;
  auto client = server.connect();
  Desk desk;
  desk.batch.counts[JobState::running] = 1;
  const auto post = desk.begin(server, client, std::chrono::seconds{60});
  desk.send_lines(post, 0, 0);
  desk.take_messages();
  desk.pass(milliseconds{100});
  CHECK(desk.has_timer());
  client.reset();
  REQUIRE(http::test::eventually([&] { return !post->responder.connected(); }));
  desk.pass(milliseconds{100});
  CHECK_FALSE(desk.has_timer());
}

TEST_CASE("a client may wait for its batch only if its report has room beside those of others") {
  http::test::RunningServer server;
  BatchLimits limits;
  limits.waiting_bytes_max = 2 * batch_report_json(1, BatchTally{}).size();
  Desk desk{limits};
  desk.batch.counts[JobState::running] = 1;
  std::vector<http::test::Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(server.connect());
    desk.send_lines(desk.begin(server, clients.back(), std::chrono::seconds{60}), 0, 0);
    desk.take_messages();
  }
  const auto wait_of = [&](std::size_t client) {
    return clients[client].receive().value().headers.at("preference-applied");
  };
  CHECK(wait_of(2) == "wait=0");
  desk.send(ReleaseBatchWaiters{});
  desk.take_messages();
  CHECK(wait_of(0) == "wait=60");
  CHECK(wait_of(1) == "wait=60");
}
