// Requests end to end: from the socket to the engine and back.
#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/http/api/pending_submissions.hpp"
#include "src/http/api/waiters.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/api/daemon.hpp"
#include "tests/unit/src/http/api/stepped_system.hpp"
#include "tests/unit/src/http/fixture.hpp"

using namespace celld;
using namespace celld::api;
using namespace celld::api::testing;
using cells::JobPtr;
using cells::JobState;
using std::chrono::milliseconds;

namespace {

JobPtr in_state(const JobPtr& job, JobState state) {
  auto next = std::make_shared<cells::Job>(*job);
  next->state = state;
  return next;
}

cells::CellStatus status_of_cell(const std::string& customer, std::uint64_t queued) {
  cells::CellStatus status;
  status.key.customer = customer;
  status.queue.counts[JobState::queued] = queued;
  return status;
}

/// Its store fails unless a test scripts it.
class SteppedGateway : public SteppedSystem {
 public:
  SteppedGateway() { send(ServeEngine{dispatcher_, reader_}); }
  ~SteppedGateway() {
    end({caf::actor_cast<caf::actor>(gateway_), caf::actor_cast<caf::actor>(dispatcher_),
         caf::actor_cast<caf::actor>(reader_)});
  }
  SteppedGateway(const SteppedGateway&) = delete;
  SteppedGateway& operator=(const SteppedGateway&) = delete;

  template <class Message>
  void send(Message message) {
    caf::anon_send(gateway_, std::move(message));
  }
  const Gateway& actor() const { return gateway_; }

  std::shared_ptr<Script> script = std::make_shared<Script>();

 private:
  Gateway gateway_ = spawn_gateway(system(), [] { return wall_now; });
  cells::CellDispatcher dispatcher_ = spawn_dispatcher(system(), script);
  cells::JobReader reader_ = spawn_reader(system(), script);
};

}  // namespace

TEST_CASE("a submission is answered with 202, the job and its location") {
  Daemon daemon;
  const Answer answer = post(daemon, good_job);
  CHECK(answer.status == 202);
  CHECK(answer.header("Content-Type") == "application/json");
  CHECK(answer.header("Location") == "/v1/jobs/" + answer.body["id"].get<std::string>());
  CHECK(answer.header("Preference-Applied").empty());
  CHECK(answer.body["state"] == "queued");
  CHECK(answer.body["created_at"] == "2026-11-20T22:42:56.123Z");
}

TEST_CASE("a trace context is kept with its job unless it is malformed") {
  Daemon daemon;
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  post(daemon, good_job, {{"traceparent", trace}});
  CHECK(daemon.last_request.spec.traceparent == trace);
  post(daemon, good_job, {{"traceparent", "nonsense"}});
  CHECK(daemon.last_request.spec.traceparent.empty());
}

TEST_CASE("an invalid submission never reaches the engine") {
  Daemon daemon;
  daemon.script->submit = nullptr;
  CHECK(post(daemon, "{").status == 400);
  CHECK(post(daemon, "{}").status == 422);
  CHECK(post(daemon, "{}").header("Content-Type") == "application/problem+json");
  const Answer form = post(daemon, good_job, {}, "application/x-www-form-urlencoded");
  CHECK(form.status == 415);
  CHECK(form.body["detail"].get<std::string>().find("-H 'Content-Type: application/json'") !=
        std::string::npos);
  const Answer key = post(daemon, good_job, {{"Idempotency-Key", "a b"}});
  CHECK(key.status == 422);
  CHECK(key.body["errors"][0]["detail"].get<std::string>().find("Idempotency-Key") !=
        std::string::npos);
  CHECK(post(daemon, good_job, {}, "application/json", "/v1/jobs?dry=1").status == 422);
  CHECK(post(daemon, good_job, {{"Origin", "http://evil.example"}}).status == 403);
}

TEST_CASE("a refusal by the engine becomes its problem") {
  Daemon daemon;
  daemon.script->submit = [](const cells::SubmitJob&) {
    return cells::JobSubmitted{
        nullptr, cells::Refusal{cells::Refusal::Kind::queue_full, {}, 10, 10, milliseconds(4000)}};
  };
  const Answer answer = post(daemon, good_job, {{"Prefer", "wait=5"}});
  CHECK(answer.status == 429);
  CHECK(answer.header("Retry-After") == "4");
  CHECK(answer.body["limit"] == 10);
}

TEST_CASE("if the engine fails, every request is answered with a 503") {
  Daemon daemon;
  {
    const std::lock_guard lock{script_mutex};  // The batch desk begins by reading its batches.
    *daemon.script = Script{};
  }
  const std::string id = cells::format_job_id(cells::first_job_id_at(wall_now));
  for (const Answer& answer :
       {post(daemon, good_job), get(daemon, "/v1/jobs/" + id), get(daemon, "/v1/jobs"),
        get(daemon, "/v1/cells"), get(daemon, "/v1/cells/a/b"),
        put_pool(daemon, "/v1/admin/cells/a/b/pool", R"({"size":1})")}) {
    CHECK(answer.status == 503);
    CHECK(answer.body["type"] == "/problems/store-unavailable");
    CHECK_FALSE(answer.header("Retry-After").empty());
  }
}

TEST_CASE("before the engine is attached, every request is answered with a 503") {
  Daemon starting(false);
  CHECK(post(starting, good_job).body["type"] == "/problems/starting");
  CHECK(get(starting, "/v1/cells").status == 503);
  const std::string id = cells::format_job_id(cells::first_job_id_at(wall_now));
  CHECK(get(starting, "/v1/jobs/" + id + "/events").body["type"] == "/problems/starting");
}

TEST_CASE("submissions that wait for the disk hold up none for a cell in memory") {
  http::test::RunningServer server;
  auto large = server.connect();
  auto on_disk = server.connect();
  auto in_memory = server.connect();
  const auto order = [&](http::test::Client& client, std::size_t bytes, bool spares_disk) {
    PostJob post{{}, std::nullopt, server.park(client), std::nullopt, spares_disk};
    post.request.spec.parameters.assign(bytes, ' ');
    return post;
  };
  std::vector<PostJob> orders;
  orders.push_back(order(large, PendingSubmissions::bytes_max, false));
  orders.push_back(order(on_disk, 1, false));
  orders.push_back(order(in_memory, 1, true));
  SteppedGateway gateway;
  gateway.script->submit = [](const cells::SubmitJob&) {
    return cells::JobSubmitted{std::make_shared<cells::Job>(cells::accept_job(
                                   {}, {}, {}, cells::first_job_id_at(wall_now), wall_now)),
                               std::nullopt};
  };
  // All of them arrive before the engine answers any.
  for (auto& each : orders) gateway.send(std::move(each));
  gateway.take_messages();
  const auto status_of = [](http::test::Client& client) {
    const auto answer = client.receive();
    return answer ? answer->status : 0;
  };
  CHECK(status_of(large) == 202);
  CHECK(status_of(on_disk) == 503);
  CHECK(status_of(in_memory) == 202);
}

TEST_CASE("a submission that waits for a reload to be decided holds up no other") {
  const bool spares_disk = GENERATE(false, true);
  http::test::RunningServer server;
  auto undecided = server.connect();
  auto during = server.connect();
  auto after = server.connect();
  auto later = server.connect();
  const auto order = [&](http::test::Client& client) {
    return PostJob{{}, std::nullopt, server.park(client), std::nullopt, spares_disk};
  };
  SteppedGateway gateway;
  const auto too_long = PendingSubmissions::wait_max + milliseconds{1};
  int submitted = 0;
  gateway.script->submit = [&](const cells::SubmitJob&) {
    switch (++submitted) {
      case 1:  // The first one gets its answer after the others.
        gateway.skip(too_long);
        gateway.send(order(during));
        gateway.send(Reloading{false});
        gateway.send(order(after));
        break;
      case 2:  // The reload does not hold these up.
        gateway.skip(too_long);
        gateway.send(order(later));
        break;
      default:
        break;
    }
    return cells::JobSubmitted{std::make_shared<cells::Job>(cells::accept_job(
                                   {}, {}, {}, cells::first_job_id_at(wall_now), wall_now)),
                               std::nullopt};
  };
  gateway.send(Reloading{true});
  gateway.send(order(undecided));
  gateway.take_messages();
  CHECK(undecided.receive().value().status == 202);
  CHECK(during.receive().value().status == 202);
  CHECK(after.receive().value().status == 202);
  CHECK(later.receive().value().status == 503);
}

TEST_CASE("requests that wait for a read are answered even if the reads before them fail") {
  http::test::RunningServer server;
  SteppedGateway gateway;
  // All of them arrive before the store answers any.
  std::vector<http::test::Client> clients;
  for (int n = 0; n < 5; ++n) {  // More than the gateway reads at a time.
    clients.push_back(server.connect());
    auto responder = server.park(clients.back());
    gateway.send(GetJob{{1}, std::move(responder)});
  }
  gateway.take_messages();
  for (auto& client : clients) {
    const auto answer = client.receive();
    CHECK((answer && answer->status == 503));
  }
}

TEST_CASE("a client that prefers to wait is answered when the job ends") {
  Daemon daemon;
  daemon.script->after_submit = [](const JobPtr& job) {
    return std::vector<JobPtr>{in_state(job, JobState::running),
                               in_state(job, JobState::succeeded)};
  };
  const Answer answer = post(daemon, good_job, {{"Prefer", "wait=30"}});
  CHECK(answer.status == 200);
  CHECK(answer.body["state"] == "succeeded");
  CHECK(answer.header("Preference-Applied") == "wait=30");
}

TEST_CASE("a client whose wait expires gets a 202 with the latest version of the job") {
  Daemon daemon;
  daemon.script->after_submit = [](const JobPtr& job) {
    return std::vector<JobPtr>{in_state(job, JobState::running)};
  };
  const auto start = std::chrono::steady_clock::now();
  const Answer answer = post(daemon, good_job, {{"Prefer", "wait=1"}});
  CHECK(std::chrono::steady_clock::now() - start >= milliseconds(990));
  CHECK(answer.status == 202);
  CHECK(answer.body["state"] == "running");
  CHECK(answer.header("Preference-Applied") == "wait=1");
}

TEST_CASE("a client that prefers to wait for a second gets a 200 if its job has ended") {
  http::test::RunningServer server;
  auto client = server.connect();
  cells::JobIdSource ids;
  SteppedGateway gateway;
  gateway.script->submit = [&](const cells::SubmitJob& message) {
    const auto job = std::make_shared<const cells::Job>(
        cells::accept_job(message.request, {}, {}, ids.next(wall_now), wall_now));
    return cells::JobSubmitted{in_state(job, JobState::succeeded), std::nullopt};
  };
  gateway.send(PostJob{{}, std::chrono::seconds(1), server.park(client)});
  gateway.take_messages();
  const auto answer = client.receive().value();
  CHECK(answer.status == 200);
  CHECK(answer.headers.at("preference-applied") == "wait=1");
}

TEST_CASE("a client that prefers not to wait gets a 202 even if its job has ended") {
  http::test::RunningServer server;
  auto client = server.connect();
  SteppedGateway gateway;
  gateway.script->submit = [](const cells::SubmitJob& message) {
    const auto job = std::make_shared<const cells::Job>(
        cells::accept_job(message.request, {}, {}, cells::first_job_id_at(wall_now), wall_now));
    return cells::JobSubmitted{in_state(job, JobState::succeeded), std::nullopt};
  };
  gateway.send(PostJob{{}, std::chrono::seconds(0), server.park(client)});
  gateway.take_messages();
  CHECK(client.receive().value().status == 202);
}

TEST_CASE("a preference for zero seconds, or a malformed one, delays nothing") {
  Daemon daemon;
  CHECK(post(daemon, good_job, {{"Prefer", "wait=0"}}).header("Preference-Applied") == "wait=0");
  CHECK(post(daemon, good_job, {{"Prefer", "wait=soon"}}).header("Preference-Applied").empty());
}

TEST_CASE("a client that has left makes room for another that prefers to wait for a job") {
  http::test::RunningServer server;
  auto impatient = server.connect();
  auto client = server.connect();
  cells::JobIdSource ids;
  SteppedGateway gateway;
  gateway.script->submit = [&](const cells::SubmitJob& message) {
    return cells::JobSubmitted{std::make_shared<cells::Job>(cells::accept_job(
                                   message.request, {}, {}, ids.next(wall_now), wall_now)),
                               std::nullopt};
  };
  const auto submit = [&](const http::Responder& responder, std::size_t bytes) {
    PostJob order{{}, std::chrono::seconds(60), responder};
    order.request.spec.parameters.assign(bytes, ' ');
    gateway.send(std::move(order));
    gateway.take_messages();
  };
  const auto waited = [&] { return client.receive().value().headers.at("preference-applied"); };
  const auto leaving = server.park(impatient);
  submit(leaving, Waiters::bytes_max);
  submit(server.park(client), 1);
  CHECK(waited() == "wait=0");
  impatient.reset();
  REQUIRE(http::test::eventually([&] { return !leaving.connected(); }));
  gateway.pass(std::chrono::seconds(1));
  submit(server.park(client), 1);
  gateway.pass(std::chrono::seconds(60));
  CHECK(waited() == "wait=60");
}

TEST_CASE("clients that wait for different jobs each get their own") {
  Daemon daemon;
  std::promise<JobPtr> first;
  std::promise<JobPtr> second;
  std::atomic<int> count{0};
  daemon.script->after_submit = [&](const JobPtr& job) {
    (count++ == 0 ? first : second).set_value(job);
    return std::vector<JobPtr>{};
  };
  const auto submit = [&] { return post(daemon, good_job, {{"Prefer", "wait=30"}}); };
  auto one = std::async(std::launch::async, submit);
  auto two = std::async(std::launch::async, submit);
  const JobPtr a = first.get_future().get();
  const JobPtr b = second.get_future().get();
  // The engine guarantees that changes come after the answer; here another actor sends them.
  daemon.notify(in_state(b, JobState::failed));
  daemon.notify(in_state(a, JobState::cancelled));
  std::map<std::string, std::string> states;
  for (auto* answer : {&one, &two}) {
    const json::Value body = answer->get().body;
    states[body["id"]] = body["state"];
  }
  CHECK(states == std::map<std::string, std::string>{{cells::format_job_id(a->id), "cancelled"},
                                                     {cells::format_job_id(b->id), "failed"}});
}

TEST_CASE("a shutdown answers the clients that wait") {
  Daemon daemon;
  std::promise<void> submitted;
  daemon.script->after_submit = [&](const JobPtr&) {
    submitted.set_value();
    return std::vector<JobPtr>{};
  };
  auto answer = std::async(std::launch::async,
                           [&] { return post(daemon, good_job, {{"Prefer", "wait=60"}}); });
  submitted.get_future().get();
  SECTION("when the daemon releases them") {
    daemon.send(ReleaseWaiters{});
  }
  SECTION("when the gateway ends") {
    daemon.stop_gateway();
  }
  CHECK(answer.get().status == 202);
}

TEST_CASE("after the waiting clients were released, no client waits") {
  Daemon daemon;
  daemon.send(ReleaseWaiters{});
  CHECK(post(daemon, good_job, {{"Prefer", "wait=60"}}).status == 202);
}

TEST_CASE("a job is found by its id, and an invalid id is not found") {
  Daemon daemon;
  const auto known = std::make_shared<cells::Job>(
      cells::accept_job({}, {}, {}, cells::first_job_id_at(wall_now), wall_now));
  daemon.script->find = [&](const cells::FindJob& message) {
    return cells::JobFound{message.id == known->id ? known : nullptr};
  };
  const std::string id = cells::format_job_id(known->id);
  CHECK(get(daemon, "/v1/jobs/" + id).status == 200);
  CHECK(get(daemon, "/v1/jobs/" + id).body["id"] == id);
  CHECK(get(daemon, "/v1/jobs/" + id + "?x=1").status == 422);
  for (const std::string& other : {cells::format_job_id(known->id + 1), std::string("x"), id + "0",
                                   std::string("%00"), std::string("%ff")}) {
    const int status = get(daemon, "/v1/jobs/" + other).status;
    CHECK((status == 404 || (other[0] == '%' && status == 400)));
  }
}

TEST_CASE("a list of jobs passes its filters on and returns its cursor") {
  Daemon daemon;
  cells::ListJobs asked;
  daemon.script->list_jobs = [&](const cells::ListJobs& message) {
    asked = message;
    return cells::JobsListed{{}, message.before == 0 ? cells::JobId{1} << 40 : 0};
  };
  const Answer first = get(daemon, "/v1/jobs?customer=acme&label.a=b%20c&limit=7");
  CHECK(first.status == 200);
  CHECK(asked.filter.customer == "acme");
  CHECK(asked.filter.labels.at("a") == "b c");
  CHECK(asked.limit == 7);
  const Answer second =
      get(daemon, "/v1/jobs?cursor=" + first.body["next_cursor"].get<std::string>());
  CHECK(asked.before == cells::JobId{1} << 40);
  CHECK(second.body["next_cursor"].is_null());
  CHECK(get(daemon, "/v1/jobs?state=done&foo=bar").body["errors"].size() == 2);
}

TEST_CASE("a list of jobs breaks off if its next piece cannot be read") {
  Daemon daemon;
  const JobPtr job = daemon.script->submit(cells::SubmitJob{}).job;
  daemon.script->list_jobs = [&daemon, job](const cells::ListJobs&) {
    daemon.stop_reader();
    return cells::JobsListed{{job}, job->id, true};
  };
  sync_with_script();
  http::test::Client client(daemon.port());
  REQUIRE(client.send(http::test::request_text("GET", "/v1/jobs")));
  REQUIRE(client.receive(true));
  CHECK(client.receive_chunk().value_or("").find(cells::format_job_id(job->id)) !=
        std::string::npos);
  // The connection ends without the last chunk.
  REQUIRE(client.has_input_within(std::chrono::seconds(10)));
  CHECK_FALSE(client.receive_chunk());
}

TEST_CASE("a client that leaves in the middle of a long list of jobs leaves nothing behind") {
  constexpr std::size_t piece_bytes = 8 << 20;  // More than sockets hold by default.
  caf::actor_system_config config;
  caf::actor_system system{config};
  http::Limits limits;
  limits.unsent_bytes_max = 2 * piece_bytes;
  http::test::TestServer server{limits};
  std::weak_ptr<int> request;  // Lives as long as a Responder of the request.
  server.server.handle("GET", "/list", [&](const http::Request&, http::Responder responder) {
    const auto lives = std::make_shared<int>();
    request = lives;
    responder.on_answer([lives](int) {});
    server.parked.put(std::move(responder));
  });
  server.start();
  cells::JobRequest large;
  large.spec.parameters = '"' + std::string(piece_bytes, 'x') + '"';
  const JobPtr job = std::make_shared<cells::Job>(
      cells::accept_job(std::move(large), {}, {}, cells::first_job_id_at(wall_now), wall_now));
  const auto script = std::make_shared<Script>();
  script->list_jobs = [job](const cells::ListJobs&) { return cells::JobsListed{{job}, 1, true}; };
  cells::ListJobs list;
  list.bytes_max = 2 * piece_bytes;
  auto client = server.connect();
  client.send(http::test::request_text("GET", "/list"));
  GetJobs order{list, server.parked.take().value()};
  // The server's thread sends to the gateway, which a SteppedSystem does not allow.
  const auto gateway = spawn_gateway(system, [] { return wall_now; });
  const auto dispatcher = spawn_dispatcher(system, script);
  const auto reader = spawn_reader(system, script);
  caf::anon_send(gateway, ServeEngine{dispatcher, reader});
  caf::anon_send(gateway, std::move(order));
  CHECK_FALSE(client.receive_bytes().empty());
  client.reset();
  CHECK(http::test::eventually([&] { return request.expired(); }));
  caf::anon_send_exit(gateway, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(dispatcher, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(reader, caf::exit_reason::user_shutdown);
}

TEST_CASE("a cell is shown with the age of its oldest queued job") {
  Daemon daemon;
  daemon.script->describe = [](const cells::DescribeCell& message) {
    cells::CellDescribed described;
    if (message.cell == cells::CellKey{"acme", "*"}) described.status = status_of_cell("acme", 2);
    return described;
  };
  daemon.script->oldest = [](const cells::FindOldestQueued&) {
    return cells::OldestQueued{{cells::first_job_id_at(wall_now - milliseconds(350)) + 5}};
  };
  const Answer answer = get(daemon, "/v1/cells/acme/*");
  CHECK(answer.status == 200);
  CHECK(answer.body["queue"]["oldest_queued_ms"] == 350);
  CHECK(get(daemon, "/v1/cells/acme/%2A").status == 200);
  CHECK(get(daemon, "/v1/cells/acme/dns").status == 404);
  CHECK(get(daemon, "/v1/cells/ac%20me/dns").status == 404);

  daemon.script->oldest = nullptr;
  CHECK(get(daemon, "/v1/cells/acme/*").status == 503);
}

TEST_CASE("a cell whose queued jobs have left meanwhile shows no age") {
  Daemon daemon;
  daemon.script->describe = [](const cells::DescribeCell&) {
    return cells::CellDescribed{status_of_cell("acme", 2)};
  };
  daemon.script->oldest = [](const cells::FindOldestQueued&) { return cells::OldestQueued{{0}}; };
  CHECK(get(daemon, "/v1/cells/acme/*").body["queue"]["oldest_queued_ms"] == 0);
}

TEST_CASE("a job that was queued before the clock was set back has no age") {
  Daemon daemon;
  daemon.script->describe = [](const cells::DescribeCell&) {
    return cells::CellDescribed{status_of_cell("acme", 2)};
  };
  daemon.script->oldest = [](const cells::FindOldestQueued&) {
    return cells::OldestQueued{{cells::first_job_id_at(wall_now + std::chrono::hours{1})}};
  };
  CHECK(get(daemon, "/v1/cells/acme/*").body["queue"]["oldest_queued_ms"] == 0);
}

TEST_CASE("a list of cells shows the age of each cell's oldest queued job") {
  Daemon daemon;
  daemon.script->list = [](const cells::ListCells& message) {
    if (message.after) return cells::CellsListed{};
    // More with queued jobs than are asked about at a time.
    return cells::CellsListed{
        {status_of_cell("a", 1), status_of_cell("b", 0), status_of_cell("c", 1),
         status_of_cell("d", 1), status_of_cell("e", 1), status_of_cell("f", 1)},
        cells::CellKey{"f", "*"}};
  };
  daemon.script->oldest = [](const cells::FindOldestQueued& message) {
    cells::OldestQueued oldest;
    for (const auto& cell : message.cells) {
      const milliseconds age{10 * (cell.customer.front() - 'a' + 1)};
      oldest.places.push_back(cells::first_job_id_at(wall_now - age));
    }
    return oldest;
  };
  const Answer first = get(daemon, "/v1/cells");
  std::vector<int> ages;
  for (const auto& item : first.body["items"]) ages.push_back(item["queue"]["oldest_queued_ms"]);
  CHECK(ages == std::vector<int>{10, 0, 30, 40, 50, 60});
  const Answer last =
      get(daemon, "/v1/cells?cursor=" + first.body["next_cursor"].get<std::string>());
  CHECK(last.body["items"].empty());
  CHECK(last.body["next_cursor"].is_null());
}

TEST_CASE("a pool is resized and reset") {
  Daemon daemon;
  daemon.script->resize = [](const cells::ResizePool& message) {
    cells::CellDescribed described;
    if (message.cell != cells::CellKey{"*", "*"}) return described;
    if (message.weight == 7U) return cells::CellDescribed{{}, cells::PoolRefusal::beyond_capacity};
    if (message.weight == 8U) return cells::CellDescribed{{}, cells::PoolRefusal::burst_below_size};
    described.status = status_of_cell("*", 0);
    described.status->changed.pool_size = message.size;
    described.status->changed.pool_burst = message.burst;
    return described;
  };
  const std::string path = "/v1/admin/cells/*/*/pool";
  const Answer grown = put_pool(daemon, path, R"({"size":12})");
  CHECK(grown.status == 202);
  CHECK(grown.body["overrides"] == json::Value{{"pool.size", 12}});
  CHECK(put_pool(daemon, path, R"({"burst":12})").body["overrides"] ==
        json::Value{{"pool.burst", 12}});
  const auto pointer = [&](const char* body) {
    const Answer refused = put_pool(daemon, path, body);
    CHECK(refused.status == 422);
    return refused.body["errors"][0]["pointer"];
  };
  CHECK(pointer(R"({"size":12,"weight":7})") == "/size");
  CHECK(pointer(R"({"size":12,"weight":8})") == "/size");
  CHECK(pointer(R"({"burst":12,"weight":8})") == "/burst");
  CHECK(pointer(R"({"size":12,"burst":11})") == "/burst");
  const Answer undone = answer_of(daemon.client().Delete(path));
  CHECK(undone.status == 202);
  CHECK(undone.body["overrides"].empty());
  CHECK(put_pool(daemon, "/v1/admin/cells/a/b/pool", R"({"size":12})").status == 404);
  for (const auto* body :
       {"{}", R"({"size":0})", R"({"size":100001})", R"({"size":1.0})", R"({"size":1,"x":2})",
        R"({"burst":0})", R"({"weight":1001})", "[]", R"({"size":1e999})"})
    CHECK(put_pool(daemon, path, body).status == 422);
  CHECK(put_pool(daemon, path, "").status == 400);
}

TEST_CASE("limits of a cell are set and restored") {
  Daemon daemon;
  daemon.script->change_quota = [](const cells::ChangeQuota& message) {
    cells::CellDescribed described;
    if (message.cell != cells::CellKey{"*", "*"}) return described;
    described.status = status_of_cell("*", 0);
    described.status->settings.bytes_max = 90'000;
    described.status->changed.quota = message.quota;
    return described;
  };
  const std::string path = "/v1/admin/cells/*/*/quota";
  const Answer set =
      put_pool(daemon, path,
               R"({"queue":{"max_jobs":5,"max_bytes":70000},)"
               R"("customers":{"quota":{"max_running":null,"submissions_per_s":0.5}}})");
  CHECK(set.status == 202);
  CHECK(set.body["overrides"] == json::Value::parse(R"({"queue.max_jobs":5,"queue.max_bytes":70000,
      "customers.quota.max_running":null,"customers.quota.submissions_per_s":0.5})"));
  CHECK(set.body["queue"]["max_jobs"] == 5);
  CHECK(set.body["queue"]["max_bytes"] == 70'000);
  const Answer undone = answer_of(daemon.client().Delete(path));
  CHECK(undone.status == 202);
  CHECK(undone.body["overrides"].empty());
  CHECK(undone.body["queue"]["max_bytes"] == 90'000);
  CHECK(put_pool(daemon, "/v1/admin/cells/a/b/quota", R"({"queue":{"max_jobs":5}})").status == 404);
  for (const auto* body :
       {"{}", R"({"queue":{}})", R"({"queue":{"max_jobs":0}})", R"({"queue":{"max_jobs":null}})",
        R"({"queue":{"max_jobs":1.5}})", R"({"pool":{"size":1}})", R"({"queue":5})",
        R"({"queue":{"max_jobs":5},"pool":{}})", R"({"customers":{"weights":{"a":1}}})",
        R"({"customers":{"quota":{"submissions_per_s":0}}})", R"({"queue":{"max_bytes":1e999}})",
        "[]"}) {
    INFO(body);
    CHECK(put_pool(daemon, path, body).status == 422);
  }
  CHECK(put_pool(daemon, path, "").status == 400);
}

TEST_CASE("celld reports its liveness and its readiness") {
  Daemon daemon;
  CHECK(get(daemon, "/livez").body == json::Value::parse(R"({"status":"ok"})"));
  CHECK(get(daemon, "/readyz").body["type"] == "/problems/starting");
  daemon.readiness->state = ReadyState::ready;
  CHECK(get(daemon, "/readyz").status == 200);
  daemon.readiness->state = ReadyState::shutting_down;
  CHECK(get(daemon, "/readyz").body["type"] == "/problems/draining");
  daemon.readiness->state = ReadyState::store_failed;
  CHECK(get(daemon, "/readyz").body["type"] == "/problems/store-unavailable");
  CHECK(get(daemon, "/livez").status == 200);
}

TEST_CASE("unknown paths and wrong methods are problems") {
  Daemon daemon;
  CHECK(get(daemon, "/v2/jobs").body["type"] == "/problems/not-found");
  const Answer wrong = answer_of(daemon.client().Delete("/v1/jobs"));
  CHECK(wrong.status == 405);
  CHECK(wrong.header("Allow").find("POST") != std::string::npos);
  CHECK(wrong.header("Content-Type") == "application/problem+json");
}

// --- Requests about existing jobs ----------------------------------------------------------------

TEST_CASE("a replayed submission is answered with 200 and marked as replayed") {
  Daemon daemon;
  const auto submit = daemon.script->submit;
  daemon.script->submit = [submit](const cells::SubmitJob& message) {
    auto reply = submit(message);
    reply.replayed = true;
    return reply;
  };
  const Answer answer = post(daemon, good_job, {{"Idempotency-Key", "k"}});
  CHECK(answer.status == 200);
  CHECK(answer.header("Idempotent-Replayed") == "true");
  CHECK(daemon.last_request.idempotency->key == "k");
}

TEST_CASE("a refusal by the configuration is reported only if no job has the idempotency key") {
  Daemon daemon;
  const std::string job = std::string(good_job).replace(good_job.find("\"dns\"]"), 5, "\"gone\"");
  const Answer without_key = post(daemon, job);
  CHECK(without_key.status == 422);
  const auto submit = daemon.script->submit;
  daemon.script->submit = [](const cells::SubmitJob& message) {
    CHECK(message.only_replay);
    return cells::JobSubmitted{};
  };
  const Answer fresh = post(daemon, job, {{"Idempotency-Key", "k"}});
  CHECK(fresh.status == 422);
  CHECK(fresh.body == without_key.body);
  daemon.script->submit = [submit](const cells::SubmitJob& message) {
    auto reply = submit(message);
    reply.replayed = true;
    return reply;
  };
  const Answer held = post(daemon, job, {{"Idempotency-Key", "k"}});
  CHECK(held.status == 200);
  CHECK(held.header("Idempotent-Replayed") == "true");
}

TEST_CASE("a waiting client is answered even if the job ended before the submission was answered") {
  const bool replayed = GENERATE(false, true);
  CAPTURE(replayed);
  Daemon daemon;
  const auto submit = daemon.script->submit;
  JobPtr submitted;
  daemon.script->submit = [&](const cells::SubmitJob& message) {
    auto reply = submit(message);
    reply.replayed = replayed;
    submitted = reply.job;
    return reply;
  };
  daemon.script->find = [&](const cells::FindJob&) {
    return cells::JobFound{in_state(submitted, JobState::succeeded)};
  };
  const Answer answer = post(daemon, good_job, {{"Idempotency-Key", "k"}, {"Prefer", "wait=30"}});
  CHECK(answer.status == 200);
  CHECK(answer.body["state"] == "succeeded");
  CHECK(answer.header("Idempotent-Replayed") == (replayed ? "true" : ""));
}

TEST_CASE("a waiting client is answered even if the notification of the end was lost") {
  Daemon daemon;
  const auto submit = daemon.script->submit;
  JobPtr submitted;
  daemon.script->submit = [&](const cells::SubmitJob& message) {
    const auto reply = submit(message);
    submitted = reply.job;
    return reply;
  };
  int looks = 0;
  daemon.script->find = [&](const cells::FindJob&) {
    if (++looks > 1) return cells::JobFound{in_state(submitted, JobState::succeeded)};
    caf::anon_send(daemon.script->observer, cells::ChangesLost{});
    return cells::JobFound{submitted};
  };
  const Answer answer = post(daemon, good_job, {{"Prefer", "wait=30"}});
  CHECK(answer.status == 200);
  CHECK(answer.body["state"] == "succeeded");
}

struct FirstEvent {
  int status = 0;
  std::string text;

  std::string id() const {
    const auto begin = text.find("id: ") + 4;
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  bool is_in(JobState state) const {
    return text.find("\"state\":\"" + std::string(to_string(state))) != std::string::npos;
  }
};

/// The first event on a job's stream; then disconnects.
FirstEvent follow(const Daemon& daemon, const JobPtr& job, const std::string& last_event_id = {}) {
  FirstEvent first;
  httplib::Headers headers;
  if (!last_event_id.empty()) headers.emplace("Last-Event-ID", last_event_id);
  auto client = daemon.client();
  const auto whole = client.Get(
      "/v1/jobs/" + cells::format_job_id(job->id) + "/events", headers,
      [&](const httplib::Response& response) {
        first.status = response.status;
        return true;
      },
      [&](const char* data, std::size_t size) {
        first.text.append(data, size);
        const auto event = first.text.find("id: ");
        return event == std::string::npos || first.text.find("\n\n", event) == std::string::npos;
      });
  if (whole) first.status = whole->status;
  sync_with_script();
  return first;
}

TEST_CASE("a client that follows a job sees it running before that is on disk") {
  Daemon daemon;
  const JobPtr job = daemon.script->submit(cells::SubmitJob{}).job;
  daemon.script->find = [job](const cells::FindJob&) { return cells::JobFound{job}; };
  daemon.notify(job);
  daemon.notify(in_state(job, JobState::running));
  CHECK(follow(daemon, job).is_in(JobState::running));
}

TEST_CASE("a reopened job is shown in its present state, not its former end") {
  Daemon daemon;
  const JobPtr job = daemon.script->submit(cells::SubmitJob{}).job;
  daemon.script->find = [job](const cells::FindJob&) { return cells::JobFound{job}; };
  daemon.notify(in_state(job, JobState::failed));
  CHECK(follow(daemon, job).is_in(JobState::queued));
}

TEST_CASE("a client that reconnects receives an end that is on disk but was never sent") {
  Daemon daemon;
  const JobPtr job = daemon.script->submit(cells::SubmitJob{}).job;
  const auto find = [&](JobState state) {
    const std::lock_guard lock{script_mutex};
    daemon.script->find = [found = in_state(job, state)](const cells::FindJob&) {
      return cells::JobFound{found};
    };
  };
  find(JobState::running);
  SECTION("when an earlier change was sent") {
    daemon.notify(in_state(job, JobState::running));
  }
  SECTION("when nothing was sent") {}
  const auto running = follow(daemon, job);
  REQUIRE(running.is_in(JobState::running));
  find(JobState::succeeded);
  const auto other = daemon.script->submit(cells::SubmitJob{}).job;
  daemon.notify(in_state(other, JobState::failed));
  const auto ended = follow(daemon, job, running.id());
  CHECK(ended.status == 200);
  CHECK(ended.is_in(JobState::succeeded));
  CHECK(follow(daemon, job, ended.id()).status == 204);
}

TEST_CASE("a client that has seen the end of a job gets a 204 when it reconnects") {
  Daemon daemon;
  const JobPtr job = daemon.script->submit(cells::SubmitJob{}).job;
  daemon.script->find = [ended = in_state(job, JobState::failed)](const cells::FindJob&) {
    return cells::JobFound{ended};
  };
  const auto shown = follow(daemon, job);
  REQUIRE(shown.is_in(JobState::failed));
  CHECK(follow(daemon, job, shown.id()).status == 204);
}

TEST_CASE("a cancellation is retried while the job moves to another cell") {
  Daemon daemon;
  const JobPtr job = daemon.script->submit(cells::SubmitJob{}).job;
  daemon.script->find = [job](const cells::FindJob&) { return cells::JobFound{job}; };
  int asked = 0;
  daemon.script->cancel = [&](const cells::CancelJob& message) {
    const bool arrived = ++asked == 3;
    return cells::CancelAnswered{arrived ? in_state(message.job, JobState::cancelled) : message.job,
                                 arrived};
  };
  const std::string path = "/v1/jobs/" + cells::format_job_id(job->id) + "/cancel";
  const Answer answer = post(daemon, "", {}, "application/json", path);
  CHECK(answer.status == 200);
  CHECK(answer.body["state"] == "cancelled");
  asked = -100;
  const Answer refused = post(daemon, "", {}, "application/json", path);
  CHECK(refused.status == 503);
  CHECK(refused.body["type"] == "/problems/unavailable");
  CHECK(refused.body["detail"] ==
        "The job is changing its cell or its state and was not cancelled. Try again.");
  CHECK(asked == -95);
}

TEST_CASE("a job that cannot be cancelled or reopened is a conflict that names its state") {
  Daemon daemon;
  const JobPtr job = daemon.script->submit(cells::SubmitJob{}).job;
  daemon.script->find = [job](const cells::FindJob&) { return cells::JobFound{job}; };
  daemon.script->cancel = [](const cells::CancelJob& message) {
    return cells::CancelAnswered{in_state(message.job, JobState::succeeded), false};
  };
  daemon.script->retry = [](const cells::ReopenJob& message) {
    return cells::ReopenAnswered{message.job, false, std::nullopt};
  };
  const std::string path = "/v1/jobs/" + cells::format_job_id(job->id);
  const Answer cancel = post(daemon, "", {}, "application/json", path + "/cancel");
  CHECK(cancel.status == 409);
  CHECK(cancel.body["type"] == "/problems/not-cancellable");
  CHECK(cancel.body["detail"] == "The job has ended: its state is `succeeded`.");
  const Answer retry = post(daemon, "", {}, "application/json", path + "/retry");
  CHECK(retry.status == 409);
  CHECK(retry.body["type"] == "/problems/not-retryable");
}

TEST_CASE("a job that runs an undo is not said to have ended") {
  Daemon daemon;
  auto job = std::make_shared<cells::Job>(*daemon.script->submit(cells::SubmitJob{}).job);
  job->state = JobState::running;
  job->error = cells::JobError{"full", "no room", "dns"};
  daemon.script->find = [job](const cells::FindJob&) { return cells::JobFound{job}; };
  daemon.script->cancel = [](const cells::CancelJob& message) {
    return cells::CancelAnswered{message.job, false};
  };
  const std::string path = "/v1/jobs/" + cells::format_job_id(job->id) + "/cancel";
  CHECK(post(daemon, "", {}, "application/json", path).body["detail"] ==
        "The job has failed and is being undone. An undo cannot be cancelled.");
}

TEST_CASE("why a job cannot be retried depends on how it has ended") {
  Daemon daemon;
  const JobPtr job = daemon.script->submit(cells::SubmitJob{}).job;
  daemon.script->find = [job](const cells::FindJob&) { return cells::JobFound{job}; };
  const auto detail_of = [&](JobState state) {
    {
      const std::lock_guard lock{script_mutex};
      daemon.script->retry = [state](const cells::ReopenJob& message) {
        return cells::ReopenAnswered{in_state(message.job, state), false, std::nullopt};
      };
    }
    const std::string path = "/v1/jobs/" + cells::format_job_id(job->id) + "/retry";
    return post(daemon, "", {}, "application/json", path).body["detail"].get<std::string>();
  };
  const std::string undone = "A service has undone its part of the job. Submit a new job.";
  CHECK(detail_of(JobState::failed) == undone);
  CHECK(detail_of(JobState::cancelled) == undone);
  CHECK(detail_of(JobState::succeeded) ==
        "Only a failed or cancelled job can be retried; this one is succeeded.");
}

TEST_CASE("event streams end when changes of jobs were lost") {
  Daemon daemon;
  bool is_told = false;
  const auto whole = daemon.client().Get("/v1/events", [&](const char*, std::size_t) {
    if (!std::exchange(is_told, true)) {
      caf::anon_send(daemon.script->observer, cells::ChangesLost{});
    }
    return true;
  });
  REQUIRE(whole);  // Otherwise the read has timed out.
  CHECK(whole->status == 200);
}

TEST_CASE("an event stream ends if the tokens changed just before it began") {
  const JobPtr job = std::make_shared<cells::Job>(
      cells::accept_job({}, {}, {}, cells::first_job_id_at(wall_now), wall_now));
  const std::string id = cells::format_job_id(job->id);
  for (const std::string& path : {std::string{"/v1/events"}, "/v1/jobs/" + id + "/events"}) {
    INFO(path);
    http::test::Events<bool> changes;
    SteppedGateway gateway;
    gateway.script->find = [&](const cells::FindJob&) { return cells::JobFound{job}; };
    gateway.take_messages();
    const auto settings = std::make_shared<LiveSettings>(std::make_shared<Settings>());
    // The order to the gateway has been sent, but the tokens have not been compared. What a reload
    // itself sends came before that order.
    gateway.after_next_message([&] {
      auto changed = std::make_shared<Settings>(*settings->get());
      changed->access = AccessControl{{{.name = "new", .scopes = {}, .customer = {}}}};
      settings->set(std::move(changed));
      changes.put(true);
    });
    http::test::TestServer server;
    add_endpoints(
        server.server,
        {.gateway = gateway.actor(), .leases = {}, .settings = settings, .readiness = {}});
    server.start();
    auto client = server.connect();
    REQUIRE(client.send(http::test::request_text("GET", path)));
    REQUIRE(changes.take());
    // The same thread of the server serves this request, after the other.
    REQUIRE(server.ask(http::test::request_text("GET", "/seen")));
    REQUIRE(server.seen.take());
    gateway.take_messages();
    REQUIRE(client.receive(true));
    CHECK_FALSE(client.receive_chunk().value_or("").empty());
    CHECK(client.receive_chunk() == "");
  }
}
