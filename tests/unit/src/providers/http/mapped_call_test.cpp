// Calls of a mapped service, against a provider on raw sockets.
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/providers/http/mapped_call.hpp"
#include "src/providers/http/operation.hpp"
#include "src/providers/http/outcome.hpp"
#include "src/providers/http/provider.hpp"
#include "src/providers/http/transport.hpp"
#include "src/providers/steady_now.hpp"
#include "src/providers/transports.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/providers/call_fixture.hpp"
#include "tests/unit/src/providers/http/mapping/fixture.hpp"
#include "tests/unit/src/providers/http/misbehaving_provider.hpp"
#include "tests/unit/src/providers/http/transport_fixture.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using cells::CallEnded;
using cells::CallOutcome;
using test::a_mapping;
using test::Connection;
using test::http_answer;
using test::make_call;
using test::make_job;
using test::MisbehavingProvider;
using Kind = CallOutcome::Kind;

constexpr auto patience = 20s;

struct Answer {
  std::string status;
  std::string body;
  std::string more_headers{};
};

/// A server that gives these answers in order, and keeps what it was sent.
class Scripted {
 public:
  Scripted(std::initializer_list<Answer> answers) : answers_(answers) {}

  MisbehavingProvider::Script script() {
    return [this](Connection& connection) {
      while (auto request = connection.read_request()) {
        const std::lock_guard lock(mutex_);
        requests_.push_back(std::move(*request));
        const std::size_t index = std::min(requests_.size(), answers_.size()) - 1;
        const auto& [status, body, more_headers] = answers_[index];
        connection.send(http_answer(status, body, more_headers));
      }
    };
  }

  std::vector<test::SentRequest> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  const std::vector<Answer> answers_;
  std::mutex mutex_;
  std::vector<test::SentRequest> requests_;
};

std::string first_line(const test::SentRequest& request) {
  return request.head.substr(0, request.head.find("\r\n"));
}

/// One mapped service at one server. The transport must be destroyed before the system.
class Fixture {
 public:
  Fixture(MisbehavingProvider::Script script, const json::Value& mapping)
      : server_(std::move(script)), system_(config_.set("scheduler.max-threads", 2)) {
    HttpService service{
        server_.url(), {{"X-Key", {"env:KEY", "s3cret/key+1"}}}, a_mapping(mapping)};
    provider_ = spawn_http_provider(system_, "dns", std::move(service), transport_.calls(),
                                    abort_through({aborts_of(transport_.calls())}), [] {
                                      return cells::WallTime{milliseconds{1'795'214'576'000}};
                                    });
  }
  ~Fixture() { caf::anon_send_exit(provider_, caf::exit_reason::kill); }

  CallOutcome call(const cells::StartCall& call) {
    CallOutcome outcome;
    caf::scoped_actor self(system_);
    self->request(provider_, patience, call)
        .receive([&](CallEnded& ended) { outcome = std::move(ended.outcome); },
                 [](const caf::error&) { FAIL("no answer"); });
    return outcome;
  }
  CallOutcome call() { return call(make_call({1, 1}, make_job(1, {"dns"}))); }

  caf::actor_system& system() { return system_; }
  const cells::Provider& provider() { return provider_; }

 private:
  caf::actor_system_config config_;
  MisbehavingProvider server_;
  caf::actor_system system_;
  HttpTransport transport_;
  cells::Provider provider_;
};

/// The calls of one mapped service, without the actor that makes them.
class Direct {
 public:
  /// `since`: when celld has started.
  Direct(MisbehavingProvider::Script script, const json::Value& mapping, cells::SteadyTime since)
      : server_(std::move(script)),
        service_(std::make_shared<const HttpServiceContext>(
            HttpServiceContext{"dns",
                               {server_.url(), {}, a_mapping(mapping)},
                               {},
                               transport_.calls(),
                               [] { return cells::WallTime{}; },
                               std::make_shared<Outages>(since)})) {}

  CallOutcome call(const cells::StartCall& call) {
    std::promise<CallOutcome> outcome;
    const ServiceCalls::Ended ended = [&](const ServiceCalls::Outcome& result) {
      auto read = result();
      if (const auto* next = std::get_if<ServiceCalls::Next>(&read)) return next->start(again_);
      outcome.set_value(std::get<CallOutcome>(std::move(read)));
    };
    again_ = ended;
    start_mapped_call(service_, call, ended);
    auto future = outcome.get_future();
    REQUIRE(future.wait_for(patience) == std::future_status::ready);
    return future.get();
  }
  CallOutcome call() { return call(make_call({1, 1}, make_job(1, {"dns"}))); }

  const Outages& outages() const { return *service_->outages; }

 private:
  MisbehavingProvider server_;
  HttpTransport transport_;
  std::shared_ptr<const HttpServiceContext> service_;
  ServiceCalls::Ended again_;
};

const json::Value two_requests = json::Value::parse(R"({
  "actions": {
    "create": [
      {"method": "POST", "path": "/zones", "body": {"name": "{{entity.id}}."},
       "answer": {"done": [201], "properties": {"id": "/id"}, "messages": {"/note": "warning"}}},
      {"method": "PATCH", "path": "/zones/{{properties.id}}", "query": {"by": "{{customer}}"},
       "headers": {"X-Key": "{{job}}", "Accept": "text/json"}, "form": {"a": 1},
       "answer": {"properties": {"serial": "/serial"}}}],
    "check": {"method": "GET", "path": "", "answer": {"already_done": [404]}},
    "delete": {"method": "DELETE", "path": "/zones/{{entity.id}}"},
    "touch": {"method": "PUT", "path": "/"},
    "nothing": []}})");

cells::JobPtr with_action(const std::string& action) {
  auto job = make_job(1, {"dns"});
  auto spec = *job->spec;
  spec.action = action;
  job->spec = std::make_shared<const cells::JobSpec>(spec);
  return job;
}

}  // namespace

TEST_CASE("the requests of an action are made one after another") {
  Scripted server(
      {{"201 Created", R"({"id": "z/7", "note": "slow"})"}, {"200 OK", R"({"serial": 5})"}});
  Fixture fixture(server.script(), two_requests);
  const auto outcome = fixture.call();
  CHECK(outcome.kind == Kind::succeeded);
  CHECK(outcome.properties == cells::Properties{{"id", R"("z/7")"}, {"serial", "5"}});
  REQUIRE(outcome.messages.size() == 1);
  CHECK(outcome.messages[0].text == "slow");

  const auto sent = server.requests();
  REQUIRE(sent.size() == 2);
  CHECK(first_line(sent[0]) == "POST /call/zones HTTP/1.1");
  CHECK(sent[0].body == R"({"name":"example.com."})");
  CHECK(sent[0].header("Content-Type") == "application/json");
  CHECK(sent[0].header("Idempotency-Key") == "0000000000001.dns");
  CHECK(sent[0].header("X-Key") == "s3cret/key+1");
  CHECK(sent[0].header("Accept") == "application/json");
  CHECK(first_line(sent[1]) == "PATCH /call/zones/z%2F7?by=acme HTTP/1.1");
  CHECK(sent[1].body == "a=1");
  CHECK(sent[1].header("Content-Type") == "application/x-www-form-urlencoded");
  CHECK(sent[1].header("Idempotency-Key") == "0000000000001.dns:2");
  CHECK(sent[1].header("X-Key") == "0000000000001");
  CHECK(sent[1].header("Accept") == "text/json");
}

TEST_CASE("a failure after a request that has changed something leaves the step in doubt") {
  const auto in_doubt = [](const char* method, const char* first, const char* second) {
    Scripted server({{first, ""}, {second, ""}});
    Fixture fixture(server.script(), json::Value::parse(std::string{R"({"actions": {"create": [
      {"method": ")"} + method + R"(", "path": "/a", "answer": {"already_done": [409]}},
      {"method": "POST", "path": "/b/{{properties.missing | default 'b'}}"}]}})"));
    const auto outcome = fixture.call();
    CHECK(server.requests().size() == 2);
    CHECK((outcome.kind == Kind::succeeded) == (std::string{second} == "200 OK"));
    return outcome.in_doubt;
  };
  CHECK(in_doubt("POST", "201 Created", "503 Busy"));
  CHECK(in_doubt("DELETE", "204 No Content", "400 Bad Request"));
  CHECK(in_doubt("PUT", "200 OK", "401 Unauthorized"));
  CHECK_FALSE(in_doubt("GET", "200 OK", "503 Busy"));
  CHECK_FALSE(in_doubt("POST", "409 Conflict", "503 Busy"));
  CHECK_FALSE(in_doubt("POST", "201 Created", "200 OK"));
}

TEST_CASE("an operation that begins after a change leaves the step in doubt") {
  Scripted server({{"201 Created", ""}, {"202 Accepted", ""}});
  Fixture fixture(server.script(), json::Value::parse(R"({"actions": {"create": [
    {"method": "POST", "path": "/a"},
    {"method": "POST", "path": "/b", "answer": {"done": [202]},
     "poll": {"path": "/c", "interval_ms": 100,
              "until": {"value": "/status", "done": ["ready"]}}}]}})"));
  const auto outcome = fixture.call();
  CHECK(outcome.kind == Kind::pending);
  CHECK(outcome.in_doubt);
}

TEST_CASE("requests without a content have none") {
  Scripted server{{"204 No Content", ""}};
  Fixture fixture(server.script(), two_requests);
  for (const char* action : {"check", "delete", "touch"}) {
    CHECK(fixture.call(make_call({1, 1}, with_action(action))).kind == Kind::succeeded);
  }
  const auto sent = server.requests();
  REQUIRE(sent.size() == 3);
  CHECK(first_line(sent[0]) == "GET /call HTTP/1.1");
  CHECK(sent[0].header("Content-Length").empty());
  CHECK(first_line(sent[1]) == "DELETE /call/zones/example.com HTTP/1.1");
  CHECK(sent[1].header("Content-Length").empty());
  CHECK(first_line(sent[2]) == "PUT /call/ HTTP/1.1");
  CHECK(sent[2].header("Content-Length") == "0");
  for (const auto& request : sent) CHECK(request.header("Content-Type").empty());
}

TEST_CASE("an action without requests succeeds at once") {
  Scripted server{{"500 Never", ""}};
  Fixture fixture(server.script(), two_requests);
  CHECK(fixture.call(make_call({1, 1}, with_action("nothing"))).kind == Kind::succeeded);
  CHECK(server.requests().empty());
}

TEST_CASE("an action that the mapping does not have is rejected, and nothing is sent") {
  Scripted server{{"200 OK", ""}};
  Fixture fixture(server.script(), two_requests);
  const auto outcome = fixture.call(make_call({1, 1}, with_action("explode")));
  CHECK(outcome.kind == Kind::rejected);
  CHECK(outcome.code == "provider_rejected");
  CHECK(outcome.message ==
        R"(The mapping of dns has no action "explode"; it has "check", "create", "delete", )"
        R"("nothing", "touch".)");
  CHECK(server.requests().empty());
}

TEST_CASE("a job that a later request cannot express is rejected before the first") {
  Scripted server{{"200 OK", ""}};
  Fixture fixture(server.script(), json::Value::parse(R"({"actions": {"create": [
    {"method": "POST", "path": "/a"}, {"method": "POST", "path": "/{{parameters.b}}"}]}})"));
  const auto outcome = fixture.call();
  CHECK(outcome.kind == Kind::rejected);
  CHECK(outcome.message == R"(Request 2 of the action "create" at dns cannot be made: )"
                           "`parameters.b` is missing.");
  CHECK(server.requests().empty());
}

TEST_CASE("a job that could not be undone is rejected before the first request") {
  Scripted server{{"201 Created", ""}};
  Fixture fixture(server.script(), json::Value::parse(R"({
    "actions": {"create": {"method": "PUT", "path": "/zones", "body": "{{entity.id}}"}},
    "undo": {"create": {"method": "DELETE", "path": "/{{parameters.dir}}/{{properties.id}}"}}})"));
  const auto call = [&](const char* parameters, cells::OnFailure on_failure) {
    auto job = make_job(1, {"dns"});
    auto spec = *job->spec;
    spec.parameters = parameters;
    spec.on_failure = on_failure;
    job->spec = std::make_shared<const cells::JobSpec>(spec);
    return fixture.call(make_call({1, 1}, job));
  };
  const auto refused = call(R"({"dir": ".."})", cells::OnFailure::compensate);
  CHECK(refused.kind == Kind::rejected);
  CHECK_FALSE(refused.in_doubt);
  CHECK(refused.message == R"(The request of the undo of the action "create" at dns cannot be )"
                           "made: `parameters.dir` has `.` or `..` as part of a path.");
  CHECK(server.requests().empty());
  CHECK(call(R"({"dir": ".."})", cells::OnFailure::stop).kind == Kind::succeeded);
  CHECK(call(R"({"dir": "a"})", cells::OnFailure::compensate).kind == Kind::succeeded);
}

TEST_CASE("an answer can make a later request impossible") {
  Scripted server{{"201 Created", R"({"id": ".."})"}};
  Fixture fixture(server.script(), two_requests);
  const auto outcome = fixture.call();
  CHECK(outcome.kind == Kind::rejected);
  CHECK(outcome.message == R"(Request 2 of the action "create" at dns cannot be made: )"
                           "`properties.id` has `.` or `..` as part of a path.");
  CHECK(outcome.in_doubt);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("the first request that fails ends the call") {
  Scripted server{{"503 Busy", ""}};
  Fixture fixture(server.script(), two_requests);
  const auto outcome = fixture.call();
  CHECK(outcome.kind == Kind::retryable);
  CHECK(outcome.message ==
        R"(Request 1 of the action "create": dns answered with HTTP status 503.)");
  CHECK(outcome.properties.empty());
  CHECK(server.requests().size() == 1);
}

TEST_CASE("what was done already is a success") {
  Scripted server{{"404 Not Found", "<html>"}};
  Fixture fixture(server.script(), two_requests);
  CHECK(fixture.call(make_call({1, 1}, with_action("check"))).kind == Kind::succeeded);
}

TEST_CASE("the properties of all requests together have at most 256 KiB") {
  const std::string text(properties_bytes_max * 2 / 3, 'x');
  Scripted server(
      {{"200 OK", R"({"a": ")" + text + "\"}"}, {"200 OK", R"({"b": ")" + text + "\"}"}});
  Fixture fixture(server.script(), json::Value::parse(R"({"actions": {"create": [
    {"method": "GET", "path": "/a", "answer": {"properties": {"a": "/a"}}},
    {"method": "GET", "path": "/b", "answer": {"properties": {"b": "/b"}}}]}})"));
  const auto outcome = fixture.call();
  CHECK(outcome.kind == Kind::retryable);
  CHECK(outcome.message == "dns answered with more than 256 KiB of properties.");
  CHECK(server.requests().size() == 2);
}

TEST_CASE("of the messages of all requests, the last hundred are kept") {
  json::Value notes = json::Value::array();
  for (int i = 0; i < 60; ++i) notes.push_back(std::to_string(i));
  Scripted server{{"200 OK", json::dump(notes)}};
  Fixture fixture(server.script(), json::Value::parse(R"({"actions": {"create": [
    {"method": "GET", "path": "/a", "answer": {"messages": {"": "info"}}},
    {"method": "GET", "path": "/b", "answer": {"messages": {"": "info"}}}]}})"));
  const auto outcome = fixture.call();
  REQUIRE(outcome.messages.size() == messages_max);
  CHECK(outcome.messages.front().text == "20");
  CHECK(outcome.messages.back().text == "59");
}

TEST_CASE("a mapped service cannot leak a secret, nor what filters make of it") {
  Scripted server{{"400 Bad Request", R"({"message": "bad czNjcmV0L2tleSsx s3cret%2Fkey%2B1"})"}};
  Fixture fixture(server.script(), json::Value::parse(R"({
    "secrets": {"key": "env:KEY"},
    "actions": {"create": {"method": "POST", "path": "", "query": {"k": "{{secrets.key}}"},
                           "headers": {"X": "{{secrets.key | base64}}"}}}})"));
  CHECK(fixture.call().message == "bad *** ***");
}

TEST_CASE("a mapped service cannot leak a word of a secret, nor one that is only sent encoded") {
  Scripted server{{"400 Bad Request", R"({"message": "bad 0123456789 of admin:hunter22"})"}};
  Fixture fixture(server.script(), json::Value::parse(R"({
    "secrets": {"key": "Bearer 0123456789", "login": "admin:hunter22"},
    "actions": {"create": {"method": "POST", "path": "",
                           "headers": {"X": "{{secrets.key}}",
                                       "Y": "{{secrets.login | base64}}"}}}})"));
  CHECK(fixture.call().message == "bad *** of ***");
}

TEST_CASE("all requests share the timeout of the call") {
  std::promise<void> second;
  int seen = 0;
  Fixture fixture(
      [&](Connection& connection) {
        while (connection.read_request()) {
          if (++seen == 2) {
            second.set_value();
            connection.wait_closed(10s);
            return;
          }
          connection.send(http_answer("201 Created", R"({"id": 1})"));
        }
      },
      two_requests);
  const auto outcome = fixture.call(make_call({1, 1}, make_job(1, {"dns"}), 500ms));
  CHECK(outcome.kind == Kind::unknown);
  CHECK(outcome.code == "timeout");
  CHECK(second.get_future().wait_for(0s) == std::future_status::ready);
}

namespace {

const json::Value polled = json::Value::parse(R"({"actions": {"create": [
    {"method": "POST", "path": "/zones",
     "answer": {"done": [202], "already_done": [409], "properties": {"id": "/id"},
                "messages": {"/note": "info"}},
     "poll": {"path": "/operations/{{properties.id}}", "interval_ms": 250,
              "until": {"value": "/status", "done": ["ready"], "failed": ["broken"]},
              "answer": {"properties": {"zone": "/zone"}}}},
    {"method": "PUT", "path": "/zones/{{properties.zone}}"}]}})");

/// The call that follows on `outcome`.
cells::StartCall next_call(const CallOutcome& outcome, milliseconds timeout = 10s) {
  auto job = make_job(1, {"dns"});
  job->steps[0].operation = outcome.operation.value_or("");
  return make_call({1, 2}, job, timeout);
}

}  // namespace

TEST_CASE("an operation is polled by later calls, and then the action goes on") {
  Scripted server({{"202 Accepted", R"({"id": "o/1", "note": "begun"})"},
                   {"200 OK", R"({"status": "busy"})"},
                   {"200 OK", R"({"status": "ready", "zone": 7})"},
                   {"200 OK", "{}"}});
  Fixture fixture(server.script(), polled);
  const auto begun = fixture.call();
  CHECK(begun.kind == Kind::pending);
  CHECK(begun.retry_after == 250ms);
  REQUIRE(begun.messages.size() == 1);
  CHECK(begun.messages[0].text == "begun");
  REQUIRE(begun.operation);
  const auto busy = fixture.call(next_call(begun));
  CHECK(busy.kind == Kind::pending);
  const auto done = fixture.call(next_call(busy));
  CHECK(done.kind == Kind::succeeded);
  CHECK(done.properties == cells::Properties{{"id", R"("o/1")"}, {"zone", "7"}});

  const auto sent = server.requests();
  REQUIRE(sent.size() == 4);
  CHECK(first_line(sent[0]) == "POST /call/zones HTTP/1.1");
  CHECK(first_line(sent[1]) == "GET /call/operations/o%2F1 HTTP/1.1");
  CHECK(sent[1].header("Idempotency-Key").empty());
  CHECK(sent[1].header("X-Key") == "s3cret/key+1");
  CHECK(first_line(sent[2]) == first_line(sent[1]));
  CHECK(first_line(sent[3]) == "PUT /call/zones/7 HTTP/1.1");
  CHECK(sent[3].header("Idempotency-Key") == "0000000000001.dns:2");
}

TEST_CASE("what requests that are done had to say is kept when a later one fails, once") {
  Scripted server({{"202 Accepted", R"({"id": 1})"},
                   {"200 OK", R"({"status": "ready", "zone": 7, "note": "made"})"},
                   {"503 Busy", ""},
                   {"503 Busy", ""}});
  json::Value mapping = polled;
  mapping["actions"]["create"][0]["poll"]["answer"]["messages"] = {{"/note", "info"}};
  Fixture fixture(server.script(), mapping);
  const auto failed = fixture.call(next_call(fixture.call()));
  CHECK(failed.kind == Kind::retryable);
  REQUIRE(failed.messages.size() == 1);
  CHECK(failed.messages[0].text == "made");
  CHECK(fixture.call(next_call(failed)).messages.empty());
}

TEST_CASE("what requests that are done had to say is kept when a later one is rejected") {
  const Answer made{"201 Created", R"({"id": 1, "note": "slow"})"};
  Scripted server({made, {"400 Bad Request", ""}, made, {"503 Busy", ""}});
  Fixture fixture(server.script(), two_requests);
  const auto rejected = fixture.call();
  CHECK(rejected.kind == Kind::rejected);
  REQUIRE(rejected.messages.size() == 1);
  CHECK(rejected.messages[0].text == "slow");
  const auto failed = fixture.call();
  CHECK(failed.kind == Kind::retryable);
  CHECK(failed.messages.empty());  // The next attempt will say it again.
}

TEST_CASE("an answer may ask for a longer wait before the next poll") {
  Scripted server({{"202 Accepted", R"({"id": 1})", "Retry-After: 2\r\n"},
                   {"200 OK", R"({"status": "busy"})", "Retry-After: 3\r\n"},
                   {"200 OK", R"({"status": "busy"})", "Retry-After: 0\r\n"}});
  Fixture fixture(server.script(), polled);
  const auto begun = fixture.call();
  CHECK(begun.retry_after == 2000ms);
  const auto busy = fixture.call(next_call(begun));
  CHECK(busy.retry_after == 3000ms);
  CHECK(fixture.call(next_call(busy)).retry_after == 250ms);
}

TEST_CASE("a wait that is cut to a day costs the operation no more than that day") {
  Scripted server({{"202 Accepted", R"({"id": 1})", "Retry-After: 604800\r\n"}});
  Fixture fixture(server.script(), polled);
  const auto begun = fixture.call(make_call({1, 1}, make_job(1, {"dns"}), 24h * 7));
  CHECK(begun.retry_after == 24h);
  CHECK(parse_operation(*begun.operation)->left > 24h * 5);
}

TEST_CASE("after a poll that failed, the next attempt polls again") {
  Scripted server({{"202 Accepted", R"({"id": 1})"}, {"503 Busy", ""}, {"503 Busy", ""}});
  Fixture fixture(server.script(), polled);
  const auto failed = fixture.call(next_call(fixture.call()));
  CHECK(failed.kind == Kind::retryable);
  REQUIRE(failed.operation);
  CHECK(parse_operation(*failed.operation)->left == 10s);
  fixture.call(next_call(failed));
  CHECK(first_line(server.requests().at(2)) == "GET /call/operations/1 HTTP/1.1");
}

TEST_CASE("a poll that the provider puts off gives its operation no more time") {
  const std::string status = GENERATE("429 Too Many Requests", "401 Unauthorized", "403 Forbidden");
  Scripted server({{"202 Accepted", R"({"id": 1})"}, {status, ""}, {status, ""}});
  Fixture fixture(server.script(), polled);
  auto operation = parse_operation(fixture.call().operation.value()).value();
  operation.left = 4min;
  CallOutcome outcome;
  outcome.operation = to_text(operation);
  const auto put_off = fixture.call(next_call(outcome, 10min));
  CHECK(parse_operation(put_off.operation.value())->has_begun);
  CHECK(parse_operation(*put_off.operation)->left <= 4min);
  CHECK(parse_operation(*put_off.operation)->left > 1min);
  CHECK(parse_operation(fixture.call(next_call(put_off, 10min)).operation.value())->left <= 4min);
}

TEST_CASE("a poll that celld cannot make gives its operation no more time") {
  Scripted server({{"202 Accepted", R"({"id": 1})"}});
  Fixture fixture(server.script(), polled);
  auto operation = parse_operation(fixture.call().operation.value()).value();
  operation.left = 4min;
  CallOutcome outcome;
  outcome.operation = to_text(operation);
  Fixture without_connections(server.script(), polled);
  const auto put_off = [&] {
    const test::NoDescriptors none;
    return without_connections.call(next_call(outcome, 10min));
  }();
  CHECK(put_off.kind == Kind::unable);
  CHECK(parse_operation(put_off.operation.value())->has_begun);
  CHECK(parse_operation(*put_off.operation)->left <= 4min);
}

TEST_CASE("an operation has no more time than the timeout of the call") {
  Scripted server{{"200 OK", R"({"status": "busy"})"}};
  Fixture fixture(server.script(), polled);
  CallOutcome begun;
  begun.operation = to_text({0, true, 1h, {{"id", "1"}}});
  const auto busy = fixture.call(next_call(begun, 1min));
  CHECK(server.requests().size() == 1);
  CHECK(parse_operation(busy.operation.value())->left <= 1min);
}

TEST_CASE("an operation that has less time than the interval of its polls is polled once") {
  Scripted server{{"202 Accepted", R"({"id": 1})"}};
  auto mapping = polled;
  mapping["actions"]["create"][0]["poll"]["interval_ms"] = 3'600'000;
  Fixture fixture(server.script(), mapping);
  const auto begun = fixture.call(make_call({1, 1}, make_job(1, {"dns"}), 30min));
  CHECK(begun.kind == Kind::pending);
  CHECK(begun.retry_after <= 30min - 1s);
}

TEST_CASE("an operation that has begun goes on even if it could not be undone") {
  Scripted server{{"200 OK", R"({"status": "busy"})"}};
  auto mapping = polled;
  mapping["undo"]["create"] = {{"method", "DELETE"}, {"path", "/{{parameters.dir}}"}};
  Fixture fixture(server.script(), mapping);
  auto job = make_job(1, {"dns"});
  auto spec = *job->spec;
  spec.parameters = R"({"dir": ".."})";
  spec.on_failure = cells::OnFailure::compensate;
  job->spec = std::make_shared<const cells::JobSpec>(spec);
  job->steps[0].operation = to_text({0, true, 1h, {{"id", "1"}}});
  CHECK(fixture.call(make_call({1, 2}, job, 1h)).kind == Kind::pending);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("an operation that sets too many properties is polled again, not begun again") {
  const std::string text(properties_bytes_max * 2 / 3, 'x');
  Scripted server({{"202 Accepted", R"({"a": ")" + text + "\"}"},
                   {"200 OK", R"({"status": "ready", "b": ")" + text + "\"}"}});
  Fixture fixture(server.script(), json::Value::parse(R"({"actions": {"create": [
    {"method": "POST", "path": "/a", "answer": {"properties": {"a": "/a"}},
     "poll": {"path": "/b", "interval_ms": 100, "answer": {"properties": {"b": "/b"}},
              "until": {"value": "/status", "done": ["ready"]}}}]}})"));
  const auto outcome = fixture.call(next_call(fixture.call()));
  CHECK(outcome.message == "dns answered with more than 256 KiB of properties.");
  CHECK(parse_operation(outcome.operation.value())->has_begun);
}

TEST_CASE("after an operation has ended, the next attempt begins with the next request") {
  Scripted server({{"202 Accepted", R"({"id": 1})"},
                   {"200 OK", R"({"status": "ready", "zone": 7})"},
                   {"503 Busy", ""},
                   {"200 OK", ""}});
  Fixture fixture(server.script(), polled);
  const auto failed = fixture.call(next_call(fixture.call()));
  CHECK(failed.kind == Kind::retryable);
  CHECK(failed.in_doubt);
  const auto done = fixture.call(next_call(failed));
  CHECK(done.kind == Kind::succeeded);
  CHECK(done.properties.at("zone") == "7");
  CHECK(first_line(server.requests().at(3)) == "PUT /call/zones/7 HTTP/1.1");
}

TEST_CASE("an operation that failed rejects the job") {
  Scripted server({{"202 Accepted", R"({"id": 1})"}, {"200 OK", R"({"status": "broken"})"}});
  Fixture fixture(server.script(), polled);
  const auto outcome = fixture.call(next_call(fixture.call()));
  CHECK(outcome.kind == Kind::rejected);
  CHECK(outcome.message == R"(The operation at dns has failed: `/status` is "broken".)");
  CHECK_FALSE(outcome.in_doubt);
}

TEST_CASE("a poll that is rejected leaves it open whether its operation goes on") {
  Scripted server({{"202 Accepted", R"({"id": 1})"}, {"404 Not Found", ""}});
  Fixture fixture(server.script(), polled);
  const auto outcome = fixture.call(next_call(fixture.call()));
  CHECK(outcome.kind == Kind::rejected);
  CHECK(outcome.in_doubt);
}

TEST_CASE("a poll that its answer makes impossible leaves it open whether its operation goes on") {
  Scripted server{{"202 Accepted", R"({"id": ".."})"}};
  Fixture fixture(server.script(), polled);
  const auto outcome = fixture.call(next_call(fixture.call()));
  CHECK(outcome.kind == Kind::rejected);
  CHECK(outcome.message == R"(The poll of request 1 of the action "create" at dns cannot be made: )"
                           "`properties.id` has `.` or `..` as part of a path.");
  CHECK(outcome.in_doubt);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("an operation ends within the timeout of its step") {
  Scripted server({{"202 Accepted", R"({"id": 1})"}, {"200 OK", R"({"status": "busy"})"}});
  Fixture fixture(server.script(), polled);
  auto outcome = fixture.call(make_call({1, 1}, make_job(1, {"dns"}), 900ms));
  int polls = 0;
  for (; outcome.kind == Kind::pending && polls < 10; ++polls)
    outcome = fixture.call(next_call(outcome, 900ms));
  CHECK(polls >= 1);
  CHECK(polls <= 3);
  CHECK(outcome.kind == Kind::unknown);
  CHECK(outcome.code == "timeout");
  CHECK(outcome.message ==
        R"(The operation at dns did not end in time: at its last poll, `/status` was "busy".)");
  CHECK(parse_operation(outcome.operation.value())->left == 900ms);
}

TEST_CASE("the time that a poll waits for its turn counts towards the timeout") {
  const Answer begun{"202 Accepted", R"({"id": 1})"};
  const Answer busy{"200 OK", R"({"status": "busy"})"};
  const auto left = [](const CallOutcome& outcome) {
    return parse_operation(outcome.operation.value())->left;
  };
  /// The outcome of a poll that comes so much too late.
  const auto poll = [](Direct& direct, milliseconds late) {
    auto operation = parse_operation(direct.call().operation.value()).value();
    operation.due = operation.due.value() - 250ms - late;  // It is polled at once.
    CallOutcome outcome;
    outcome.operation = to_text(operation);
    return direct.call(next_call(outcome));
  };
  SECTION("as far as celld has run") {
    Scripted server({begun, busy});
    Direct direct(server.script(), polled, steady_now() - 1h);
    const auto outcome = poll(direct, 4s);
    CHECK(outcome.kind == Kind::pending);
    CHECK(left(outcome) <= 5'500ms);
    CHECK(parse_operation(*outcome.operation)->due);
  }
  SECTION("but not the time before the start of celld") {
    Scripted server({begun, busy});
    Direct direct(server.script(), polled, steady_now());
    CHECK(left(poll(direct, 20s)) > 5'500ms);
  }
  SECTION("and if the machine has started anew, its clock says nothing") {
    Scripted server({begun, busy});
    Direct direct(server.script(), polled, steady_now() - 1h);
    CHECK(left(poll(direct, -1h)) > 5'500ms);
  }
  SECTION("and if nothing is left, there is one more poll") {
    Scripted server({begun, busy});
    Direct direct(server.script(), polled, steady_now() - 2h);
    const auto outcome = poll(direct, 20s);
    CHECK(outcome.kind == Kind::unknown);
    CHECK(outcome.code == "timeout");
    CHECK(server.requests().size() == 2);
    CHECK(left(outcome) == 10s);
    CHECK_FALSE(parse_operation(*outcome.operation)->due);
  }
  SECTION("and that poll may find that the operation has ended") {
    Scripted server({begun, {"200 OK", R"({"status": "ready", "zone": 7})"}, {"200 OK", ""}});
    Direct direct(server.script(), polled, steady_now() - 2h);
    CHECK(poll(direct, 20s).kind == Kind::succeeded);
  }
}

TEST_CASE("a call that fails begins an outage, and one that does not ends it") {
  Scripted server({{"503 Busy", ""}, {"202 Accepted", R"({"id": 1})"}});
  Direct direct(server.script(), polled, steady_now());
  CHECK(direct.call().kind == Kind::retryable);
  const auto failed_at = steady_now();
  CHECK(direct.outages().callable_within(failed_at, failed_at + 1h) == 0ms);
  CHECK(direct.call().kind == Kind::pending);
  const auto begun_at = steady_now();
  CHECK(direct.outages().callable_within(begun_at, begun_at + 1h) == 1h);
}

TEST_CASE("a request that is done ends an outage, even if the next one cannot be made") {
  Scripted server({{"503 Busy", ""}, {"201 Created", R"({"id": ".."})"}});
  Direct direct(server.script(), two_requests, steady_now());
  CHECK(direct.call().kind == Kind::retryable);
  CHECK(direct.call().kind == Kind::rejected);
  const auto done_at = steady_now();
  CHECK(direct.outages().callable_within(done_at, done_at + 1h) == 1h);
}

TEST_CASE("what was done already is polled at once, if its answer says where") {
  SECTION("it does") {
    Scripted server({{"409 Conflict", R"({"id": 1})"},
                     {"200 OK", R"({"status": "ready", "zone": 7})"},
                     {"200 OK", ""}});
    Fixture fixture(server.script(), polled);
    CHECK(fixture.call().kind == Kind::succeeded);
    CHECK(server.requests().size() == 3);
  }
  SECTION("it does not") {
    Scripted server({{"409 Conflict", ""}});
    Fixture fixture(server.script(), polled);
    const auto outcome = fixture.call();
    CHECK(outcome.kind == Kind::rejected);  // The second request needs what the poll would say.
    CHECK(server.requests().size() == 1);
  }
}

TEST_CASE("the URL of an operation is not that of the next one") {
  const auto mapping = json::Value::parse(R"({"actions": {"create": [
      {"method": "POST", "path": "/zones", "answer": {"done": [202], "already_done": [409]},
       "poll": {"url": {"header": "Location"}, "interval_ms": 100,
                "until": {"value": "/status", "done": ["ready"]}}},
      {"method": "POST", "path": "/keys", "answer": {"done": [202], "already_done": [409]},
       "poll": {"url": {"header": "Location"}, "interval_ms": 100,
                "until": {"value": "/status", "done": ["ready"]}}}]}})");
  Scripted server({{"409 Conflict\r\nLocation: /ops/7", ""},
                   {"200 OK", R"({"status": "ready"})"},
                   {"409 Conflict", ""}});
  Fixture fixture(server.script(), mapping);
  CHECK(fixture.call().kind == Kind::succeeded);
  const auto sent = server.requests();
  REQUIRE(sent.size() == 3);
  CHECK(first_line(sent[1]) == "GET /ops/7 HTTP/1.1");
  CHECK(first_line(sent[2]) == "POST /call/keys HTTP/1.1");
}

TEST_CASE("an operation is polled at the URL that its answer says") {
  const auto mapping = [](const char* url) {
    return json::Value::parse(R"({"actions": {"create": [
      {"method": "POST", "path": "/zones", "answer": {"done": [202], "already_done": [409]},
       "poll": {"url": )" + std::string(url) +
                              R"(, "interval_ms": 100,
                "until": {"value": "/status", "done": ["ready"]}}},
      {"method": "PUT", "path": "/rest"}]}})");
  };
  const Answer busy{"200 OK", R"({"status": "busy"})"};
  const Answer ready{"200 OK", R"({"status": "ready"})"};
  SECTION("in its body") {
    Scripted server(
        {{"202 Accepted", R"({"href": "ops/7?full=1#x"})"}, busy, ready, {"200 OK", ""}});
    Fixture fixture(server.script(), mapping(R"("/href")"));
    const auto done = fixture.call(next_call(fixture.call(next_call(fixture.call()))));
    CHECK(done.kind == Kind::succeeded);
    const auto sent = server.requests();
    REQUIRE(sent.size() == 4);
    CHECK(first_line(sent[1]) == "GET /call/ops/7?full=1 HTTP/1.1");
    CHECK(sent[1].header("X-Key") == "s3cret/key+1");
    CHECK(first_line(sent[2]) == first_line(sent[1]));
    CHECK(first_line(sent[3]) == "PUT /call/rest HTTP/1.1");
  }
  SECTION("in a header") {
    Scripted server({{"202 Accepted\r\noperation-location: /ops/7", ""}, ready, {"200 OK", ""}});
    Fixture fixture(server.script(), mapping(R"({"header": "Operation-Location"})"));
    CHECK(fixture.call(next_call(fixture.call())).kind == Kind::succeeded);
    CHECK(first_line(server.requests().at(1)) == "GET /ops/7 HTTP/1.1");
  }
  SECTION("also if it was begun already") {
    Scripted server({{"409 Conflict\r\nLocation: /ops/7", ""}, ready, {"200 OK", ""}});
    Fixture fixture(server.script(), mapping(R"({"header": "Location"})"));
    CHECK(fixture.call().kind == Kind::succeeded);
    CHECK(server.requests().size() == 3);
  }
  SECTION("and not polled if it was done already and the answer says nothing") {
    Scripted server({{"409 Conflict", ""}, {"200 OK", ""}});
    Fixture fixture(server.script(), mapping(R"({"header": "Location"})"));
    CHECK(fixture.call().kind == Kind::succeeded);
    CHECK(first_line(server.requests().at(1)) == "PUT /call/rest HTTP/1.1");
  }
  SECTION("but never at another server") {
    Scripted server({{"202 Accepted\r\nLocation: http://127.0.0.2:1/s3cret%2Fkey", ""}});
    Fixture fixture(server.script(), mapping(R"({"header": "Location"})"));
    const auto outcome = fixture.call();
    CHECK(outcome.kind == Kind::retryable);
    CHECK(outcome.code == "invalid_response");
    CHECK(outcome.message.starts_with(
        "Request 1 of the action \"create\": dns answered with a URL of its operation at "
        "http://127.0.0.2:1 instead of http://127.0.0.1:"));
    CHECK_FALSE(outcome.operation);
    CHECK(server.requests().size() == 1);
  }
  SECTION("nor where the service no longer is") {
    Scripted server({{"200 OK", ""}});
    Fixture fixture(server.script(), mapping(R"("/href")"));
    CallOutcome begun;
    begun.operation = to_text({0, true, 1s, {}, {}, "http://127.0.0.2:1/ops/7"});
    const auto outcome = fixture.call(next_call(begun));
    CHECK(outcome.kind == Kind::rejected);
    CHECK(outcome.in_doubt);
    CHECK(outcome.message.starts_with(
        "celld cannot go on with the operation that dns has begun: its URL is at "
        "http://127.0.0.2:1 instead of "));
    CHECK(server.requests().empty());
  }
  SECTION("nor if none was kept") {
    Scripted server({{"200 OK", ""}});
    Fixture fixture(server.script(), mapping(R"("/href")"));
    CallOutcome begun;
    begun.operation = to_text({0, true, 1s, {}});
    CHECK(fixture.call(next_call(begun)).message ==
          "celld cannot go on with the operation that dns has begun: the mapping has changed, and "
          "has no such request.");
    CHECK(server.requests().empty());
  }
}

TEST_CASE("what was done already is not done if its operation is at another server") {
  Scripted server({{"409 Conflict\r\nLocation: http://127.0.0.2:1/ops/7", ""}});
  Fixture fixture(server.script(), json::Value::parse(R"({"actions": {"create": [
    {"method": "POST", "path": "/zones", "answer": {"already_done": [409]},
     "poll": {"url": {"header": "Location"}, "answer": {"pending": [202]}}},
    {"method": "PUT", "path": "/rest"}]}})"));
  const auto outcome = fixture.call();
  CHECK(outcome.kind == Kind::retryable);
  CHECK(outcome.code == "invalid_response");
  CHECK(server.requests().size() == 1);
}

TEST_CASE("after the operation of a request that a reload has made the last, the job is done") {
  Scripted server{{"500 Never", ""}};
  Fixture fixture(server.script(), two_requests);
  CallOutcome ended;
  ended.operation = to_text({2, false, 1s, {{"id", "7"}}});
  const auto outcome = fixture.call(next_call(ended));
  CHECK(outcome.kind == Kind::succeeded);
  CHECK(outcome.properties == cells::Properties{{"id", "7"}});
  CHECK(server.requests().empty());
}

TEST_CASE("an operation that the mapping no longer has is rejected") {
  Scripted server{{"200 OK", ""}};
  Fixture fixture(server.script(), two_requests);
  auto job = make_job(1, {"dns"});
  job->steps[0].operation = to_text({5, true, 1s, {}});
  const auto outcome = fixture.call(make_call({1, 1}, job));
  CHECK(outcome.kind == Kind::rejected);
  CHECK(outcome.message ==
        "celld cannot go on with the operation that dns has begun: the mapping has changed, and "
        "has no such request.");
  CHECK(outcome.in_doubt);
  CHECK(server.requests().empty());
}

TEST_CASE("an abort ends whichever request is being made") {
  std::promise<void> second;
  std::promise<bool> closed;
  int seen = 0;
  Fixture fixture(
      [&](Connection& connection) {
        while (connection.read_request()) {
          if (++seen == 2) {
            second.set_value();
            closed.set_value(connection.wait_closed(10s));
            return;
          }
          connection.send(http_answer("201 Created", R"({"id": 1})"));
        }
      },
      two_requests);
  caf::scoped_actor self(fixture.system());
  auto call = self->request(fixture.provider(), patience, make_call({1, 1}, make_job(1, {"dns"})));
  REQUIRE(second.get_future().wait_for(patience) == std::future_status::ready);
  auto abort = self->request(fixture.provider(), patience, cells::AbortCall{{1, 1}});
  call.receive([](const CallEnded& ended) { CHECK(ended.outcome.kind == Kind::aborted); },
               [](const caf::error&) { FAIL("no answer"); });
  abort.receive([](const cells::CallAborted&) {},
                [](const caf::error&) { FAIL("no confirmation"); });
  CHECK(closed.get_future().get());
}

}  // namespace celld::providers
