// The endpoints for workers outside, with an engine that the test scripts.

#include "cells/model/job_machine.hpp"
#include "src/http/api/base64url.hpp"
#include "src/http/api/digest.hpp"
#include "src/http/api/lease_gateway.hpp"
#include "src/http/api/lease_names.hpp"
#include "src/json/time_text.hpp"
#include "tests/unit/src/http/api/daemon.hpp"
#include "tests/unit/src/http/api/stepped_system.hpp"
#include "tests/unit/src/http/fixture.hpp"

using namespace celld::api;
using namespace celld::api::testing;
using namespace std::chrono_literals;
using celld::json::Value;

namespace {

const cells::Lease a_lease{7, 3};

/// A job that a worker outside has a lease for.
cells::JobPtr leased_job(cells::Lease lease = a_lease) {
  auto spec = std::make_shared<cells::JobSpec>();
  spec->customer = "acme";
  spec->product = "vm";
  spec->action = "create";
  spec->entity = {"vm", "", "a"};
  spec->services = {"vm"};
  auto job = std::make_shared<cells::Job>();
  job->id = 42;
  job->spec = spec;
  job->state = cells::JobState::running;
  job->lease = lease;
  job->steps.resize(1);
  job->steps[0].state = cells::StepState::running;
  job->steps[0].attempts = 2;
  job->steps[0].worker = "host-1";
  return job;
}

/// The same job after its worker has reported that it succeeded.
std::shared_ptr<cells::Job> reported_job() {
  auto job = std::make_shared<cells::Job>(*leased_job());
  job->state = cells::JobState::succeeded;
  job->steps[0].worker.clear();
  job->steps[0].report = cells::StepReport{a_lease, true};
  return job;
}

cells::LeaseOut out() {
  const auto steady = std::chrono::steady_clock::now().time_since_epoch() + 30s;
  return {leased_job(), cells::SteadyTime{std::chrono::duration_cast<cells::microseconds>(steady)}};
}

std::string path(const std::string& action, cells::Lease lease = a_lease) {
  return "/v1/leases/" + lease_names.name({42, lease}) + action;
}

Answer post_to(const Daemon& daemon, const std::string& where, const std::string& body = "{}",
               const httplib::Headers& headers = {}) {
  return post(daemon, body, headers, "application/json", where);
}

/// A report of several leases, here of the one that they all are about.
std::string report_of_one() {
  return R"([{"lease":")" + lease_names.name({42, a_lease}) + R"(","outcome":"complete"}])";
}

/// Whether the two ways in which a lease shows its end name the same time.
bool shows_one_end(const Value& shown) {
  const std::chrono::milliseconds left{shown.value("expires_in_ms", 0)};
  return celld::json::parse_time(shown.value("deadline", "")) == wall_now + left;
}

Value errors_of(const Answer& answer) {
  Value errors = Value::object();
  for (const auto& error : answer.body.value("errors", Value::array())) {
    errors[error["pointer"].get<std::string>()] = error["detail"];
  }
  return errors;
}

celld::config::Token token(const std::string& text, std::optional<std::string> customer,
                           std::optional<std::set<std::string>> services) {
  return {text, sha256(text), {Scope::work}, std::move(customer), std::move(services)};
}

/// Of these, only "gpus" and "other" may not work for `leased_job`.
std::vector<celld::config::Token> bound_tokens() {
  return {token("all", {}, {}), token("vms", {}, std::set<std::string>{"vm"}),
          token("gpus", {}, std::set<std::string>{"gpu"}), token("acme", "acme", {}),
          token("other", "other", {})};
}

httplib::Headers as(const std::string& name) {
  return {{"Authorization", "Bearer " + name}};
}

/// A gateway whose requests for leases all come from one client.
class SteppedLeaseGateway : public SteppedSystem {
 public:
  SteppedLeaseGateway() = default;
  ~SteppedLeaseGateway() {
    end({caf::actor_cast<caf::actor>(gateway_), caf::actor_cast<caf::actor>(dispatcher_),
         caf::actor_cast<caf::actor>(reader_)});
  }
  SteppedLeaseGateway(const SteppedLeaseGateway&) = delete;
  SteppedLeaseGateway& operator=(const SteppedLeaseGateway&) = delete;

  void ask(std::chrono::milliseconds wait) {
    caf::anon_send(gateway_, PostLeases{"vm", {"w", 1, wait}, std::nullopt, responder_});
    take_messages();
  }
  void report(std::vector<Report> reports, WorkAccess access) {
    caf::anon_send(gateway_, PostReports{std::move(reports), std::move(access), responder_});
    take_messages();
  }

  celld::http::test::RunningServer server;
  celld::http::test::Client client = server.connect();
  std::shared_ptr<Script> script = std::make_shared<Script>();

 private:
  celld::http::Responder responder_ = server.park(client);
  cells::CellDispatcher dispatcher_ = spawn_dispatcher(system(), script);
  cells::JobReader reader_ = spawn_reader(system(), script);
  LeaseGateway gateway_ =
      spawn_lease_gateway(system(), {dispatcher_, reader_, lease_names, [] { return wall_now; }});
};

}  // namespace

// Leases outlive an upgrade of celld, so their names must too. This one is HMAC-SHA-256 as Python's
// hmac module computes it.
TEST_CASE("the name of a lease stays the same from version to version") {
  CHECK(LeaseNames{{1, 2}}.name({42, {3, 4}}) ==
        "AAAAAAAAACoAAAAAAAAAAwAAAAAAAAAEkp2Qu_z8x-S-0yXkyiJN6A");
}

TEST_CASE("the name of a lease can be read with its secret alone") {
  const NamedLease lease{42, a_lease};
  const std::string name = lease_names.name(lease);
  CHECK(lease_names.parse(name) == lease);
  CHECK_FALSE(LeaseNames{{1, 3}}.parse(name));
  CHECK_FALSE(LeaseNames{{2, 2}}.parse(name));
  CHECK_FALSE(lease_names.parse(""));
  CHECK_FALSE(lease_names.parse(name + "A"));
  CHECK_FALSE(lease_names.parse(name.substr(1)));
  for (std::size_t at = 0; at < name.size(); ++at) {
    std::string other = name;
    other[at] = other[at] == 'A' ? 'B' : 'A';
    CHECK_FALSE(lease_names.parse(other));
  }
  CHECK(lease_names.name({42, {7, 4}}) != name);
  CHECK(lease_names.name({43, a_lease}) != name);
}

TEST_CASE("base64url has one text for any bytes") {
  const std::vector<std::pair<std::string, std::vector<std::uint8_t>>> cases = {
      {"", {}},
      {"-_8", {0xfb, 0xff}},
      {"AA", {0}},
      {"_w", {0xff}},
      {"Zm9vYg", {'f', 'o', 'o', 'b'}}};
  for (const auto& [text, bytes] : cases) {
    CHECK(base64url(bytes.data(), bytes.size()) == text);
    CHECK(parse_base64url(text) == bytes);
  }
  for (const auto* text : {"A", "AB", "AA==", "A+", "/w", "A A", "AAAAA"}) {
    CHECK_FALSE(parse_base64url(text));
  }
}

TEST_CASE("a lease is shown with all that its worker needs") {
  Daemon daemon;
  daemon.script->request_leases = [](const cells::RequestLeases& request) {
    CHECK(request.service == "vm");
    CHECK(request.worker == "host-1");
    CHECK(request.max == 5);
    CHECK_FALSE(request.customer);
    CHECK_FALSE(request.wait);
    return cells::LeasesGranted{{out()}};
  };
  const auto answer = post_to(daemon, "/v1/services/vm/leases", R"({"worker":"host-1","max":5})");
  CHECK(answer.status == 200);
  REQUIRE(answer.body["leases"].size() == 1);
  const Value& lease = answer.body["leases"][0];
  CHECK(lease["lease"] == lease_names.name({42, a_lease}));
  CHECK(lease["expires_in_ms"] > 20'000);
  CHECK(lease["expires_in_ms"] <= 30'000);
  CHECK(shows_one_end(lease));
  CHECK(lease["service"] == "vm");
  CHECK(lease["attempt"] == 2);
  CHECK(lease["undo"] == false);
  CHECK(lease["idempotency_key"] == "000000000001a.vm");
  CHECK(lease["traceparent"].is_null());
  CHECK(lease["job"]["id"] == "000000000001a");
  CHECK_FALSE(lease.contains("worker"));
}

TEST_CASE("a lease has the trace context of its job") {
  Daemon daemon;
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  auto job = std::make_shared<cells::Job>(*leased_job());
  auto spec = std::make_shared<cells::JobSpec>(*job->spec);
  spec->traceparent = trace;
  job->spec = spec;
  daemon.script->request_leases = [&](const cells::RequestLeases&) {
    return cells::LeasesGranted{{{job, out().deadline}}};
  };
  const auto answer = post_to(daemon, "/v1/services/vm/leases", R"({"worker":"host-1"})");
  REQUIRE(answer.body["leases"].size() == 1);
  CHECK(answer.body["leases"][0]["traceparent"] == trace);
}

TEST_CASE("the name of a worker has at most 255 bytes") {
  Daemon daemon;
  daemon.script->request_leases = [](const cells::RequestLeases&) {
    return cells::LeasesGranted{};
  };
  const auto ask = [&](std::size_t bytes) {
    return post_to(daemon, "/v1/services/vm/leases",
                   R"({"worker":")" + std::string(bytes, 'w') + "\"}");
  };
  CHECK(ask(255).status == 200);
  CHECK(errors_of(ask(256)) == Value{{"/worker", "must have at most 255 bytes"}});
}

TEST_CASE("the code of a failure has at most 64 characters") {
  Daemon daemon;
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{true}; };
  const auto fail = [&](std::size_t bytes) {
    return post_to(daemon, path("/fail"), R"({"code":")" + std::string(bytes, 'c') + "\"}");
  };
  CHECK(fail(64).status == 200);
  CHECK(errors_of(fail(65)) == Value{{"/code", "must have at most 64 bytes"}});
}

TEST_CASE("the names of properties count for their size") {
  Daemon daemon;
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{true}; };
  const auto complete = [&](std::size_t bytes) {  // Of the name and the one digit.
    return post_to(daemon, path("/complete"),
                   R"({"properties":{")" + std::string(bytes - 1, 'n') + R"(":1}})");
  };
  CHECK(complete(cells::properties_bytes_max).status == 200);
  CHECK(errors_of(complete(cells::properties_bytes_max + 1)) ==
        Value{{"/properties", "must not exceed 256 KiB"}});
}

TEST_CASE("what a worker asks for is checked") {
  const Daemon daemon;
  const std::string leases = "/v1/services/vm/leases";
  CHECK(post_to(daemon, "/v1/services/dns/leases", R"({"worker":"w"})").status == 404);
  CHECK(post_to(daemon, "/v1/services/none/leases", R"({"worker":"w"})").status == 404);
  CHECK(post(daemon, "", {}, "text/plain", leases).status == 415);
  CHECK(post_to(daemon, leases, "{").status == 400);
  CHECK(errors_of(post_to(daemon, leases + "?x=1", R"({"max":0,"wait_ms":60001,"y":1})")) ==
        Value{{"", "query parameter \"x\" is unknown"},
              {"/worker", "is required"},
              {"/max", "must be an integer from 1 to 1000"},
              {"/wait_ms", "must be an integer from 0 to 60000"},
              {"/y", "is unknown"}});
  for (const auto* worker : {R"({"worker":"a\nb"})", R"({"worker":"a\u007fb"})"}) {
    CHECK(errors_of(post_to(daemon, leases, worker)) ==
          Value{{"/worker", "must have no control characters"}});
  }
  CHECK(errors_of(post_to(daemon, path("/heartbeat"), R"({"progress":1.5,"message":""})")) ==
        Value{{"/progress", "must be a number from 0 to 1"}, {"/message", "must not be empty"}});
  CHECK(errors_of(post_to(daemon, path("/fail"), R"({"code":"a b","retry_after_ms":-1})")) ==
        Value{{"/code", "must match [A-Za-z0-9._-]{1,64}"},
              {"/retry_after_ms", "must be an integer from 0 to 86400000"}});
  CHECK(errors_of(post_to(daemon, path("/fail"))) == Value{{"/code", "is required"}});
  CHECK(errors_of(post_to(daemon, path("/complete"),
                          R"({"properties":7,"messages":[{"text":"x","severity":"bad"},{}]})")) ==
        Value{{"/properties", "must be an object"},
              {"/messages/0/severity", "must be `info`, `warning` or `error`"},
              {"/messages/1/text", "is required"}});
  const std::string large = R"({"properties":{"x":")" + std::string(256 << 10, 'x') + R"("}})";
  CHECK(errors_of(post_to(daemon, path("/complete"), large)) ==
        Value{{"/properties", "must not exceed 256 KiB"}});
  CHECK(errors_of(post_to(daemon, "/v1/leases/report", "{}")) ==
        Value{{"", "must be an array of up to 1000 reports"}});
  CHECK(errors_of(post_to(daemon, "/v1/leases/report", R"([{"outcome":"complete"},7])")) ==
        Value{{"/0/lease", "must be the name of a lease"}, {"/1", "must be an object"}});
}

TEST_CASE("a wait ends with an empty list") {
  Daemon daemon;
  SECTION("after its time") {
    CHECK(post_to(daemon, "/v1/services/vm/leases", R"({"worker":"w","wait_ms":1})").body ==
          Value{{"leases", Value::array()}});
  }
  SECTION("when the tokens changed just before it began") {
    daemon.on_help = [&daemon] {
      daemon.change_tokens({{.name = "new", .scopes = {}, .customer = {}}});
    };
    CHECK(post_to(daemon, "/v1/services/vm/leases", R"({"worker":"w","wait_ms":60000})").body ==
          Value{{"leases", Value::array()}});
  }
  SECTION("when celld stops") {
    daemon.stop_leasing();
    daemon.script->request_leases = [](const cells::RequestLeases&) {
      return cells::LeasesGranted{};
    };
    CHECK(post_to(daemon, "/v1/services/vm/leases", R"({"worker":"w","wait_ms":60000})").body ==
          Value{{"leases", Value::array()}});
  }
}

TEST_CASE("a request that does not wait is held for a second at most") {
  Daemon daemon;
  daemon.script->holds_leases = true;
  CHECK(post_to(daemon, "/v1/services/vm/leases", R"({"worker":"w"})").body ==
        Value{{"leases", Value::array()}});
  sync_with_script();
  CHECK(daemon.script->withdrawn.size() == 1);
}

TEST_CASE("a wait may last longer than the time between two looks at the workers") {
  SteppedLeaseGateway gateway;
  gateway.ask(2s);
  gateway.pass(1500ms);
  CHECK(gateway.script->withdrawn.empty());
  gateway.pass(1500ms);
  REQUIRE(gateway.script->withdrawn.size() == 1);
  CHECK(gateway.client.receive().value().status == 200);
}

TEST_CASE("after many short waits, the workers that still wait are looked at once a second") {
  SteppedLeaseGateway gateway;
  gateway.ask(std::chrono::minutes{1});
  for (int n = 0; n < 200; ++n) {
    gateway.ask(std::chrono::milliseconds{2});
    gateway.pass(std::chrono::milliseconds{3});
  }
  gateway.pass(std::chrono::seconds{2});
  std::size_t handled = 0;
  for (int n = 0; n < 20; ++n) handled += gateway.pass(std::chrono::seconds{1});
  CHECK(handled <= 40);
}

TEST_CASE("a request that the engine has failed is not withdrawn") {
  SteppedLeaseGateway gateway;
  gateway.ask(std::chrono::milliseconds{0});
  CHECK(gateway.client.receive().value().status == 503);
  gateway.pass(std::chrono::seconds{2});
  CHECK(gateway.script->withdrawn.empty());
}

TEST_CASE("leases for a worker that has gone are returned") {
  Daemon daemon;
  {
    httplib::Client client = daemon.client();
    client.set_read_timeout(0, 100'000);
    CHECK_FALSE(client.Post("/v1/services/vm/leases", R"({"worker":"w","wait_ms":60000})",
                            "application/json"));
    const std::lock_guard lock{script_mutex};
    daemon.script->request_leases = [](const cells::RequestLeases&) {
      return cells::LeasesGranted{{out()}};
    };
  }
  for (;;) {
    const std::lock_guard lock{script_mutex};
    if (daemon.script->returned == std::vector{a_lease}) break;
  }
  CHECK(daemon.script->withdrawn.size() == 1);
}

TEST_CASE("a heartbeat tells until when the lease is held") {
  Daemon daemon;
  daemon.script->extend_lease = [](const cells::ExtendLease& hold) {
    CHECK(hold.lease == a_lease);
    CHECK(hold.progress == 0.5);
    CHECK(hold.message == "halfway");
    return cells::LeaseExtended{out(), true};
  };
  const auto held = post_to(daemon, path("/heartbeat"), R"({"progress":0.5,"message":"halfway"})");
  CHECK(held.status == 200);
  CHECK(held.body["cancel"] == true);
  CHECK(held.body["expires_in_ms"] > 20'000);
  CHECK(shows_one_end(held.body));
}

TEST_CASE("a lease whose time is over is shown with no time left") {
  Daemon daemon;
  daemon.script->extend_lease = [](const cells::ExtendLease&) {
    return cells::LeaseExtended{cells::LeaseOut{leased_job(), cells::SteadyTime{}}, false};
  };
  const auto held = post_to(daemon, path("/heartbeat"));
  CHECK(held.body["expires_in_ms"] == 0);
  CHECK(shows_one_end(held.body));
}

TEST_CASE("a heartbeat for a lease that its cell does not know either is refused") {
  Daemon daemon;
  daemon.script->extend_lease = [](const cells::ExtendLease&) { return cells::LeaseExtended{}; };
  daemon.script->find = [](const cells::FindJob&) { return cells::JobFound{leased_job()}; };
  CHECK(post_to(daemon, path("/heartbeat")).status == 409);
}

TEST_CASE("a report of a lease that its cell does not know either is refused") {
  Daemon daemon;
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{}; };
  daemon.script->find = [](const cells::FindJob&) { return cells::JobFound{leased_job()}; };
  CHECK(post_to(daemon, path("/complete")).status == 409);
}

TEST_CASE("a lease that is not live is lost") {
  Daemon daemon;
  daemon.script->extend_lease = [](const cells::ExtendLease&) { return cells::LeaseExtended{}; };
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{}; };
  daemon.script->find = [](const cells::FindJob&) {
    return cells::JobFound{leased_job({7, 4})};  // A later attempt.
  };
  for (const auto* action : {"/heartbeat", "/complete", "/fail"}) {
    const auto lost = post_to(daemon, path(action), R"({"code":"x"})");
    const auto expected = std::string(action) == "/fail" ? 409 : 422;
    CHECK(lost.status == expected);
  }
  CHECK(post_to(daemon, path("/heartbeat")).body["type"] == "/problems/lease-lost");
  CHECK(post_to(daemon, path("/complete")).status == 409);
  CHECK(post_to(daemon, "/v1/leases/guessed/complete").status == 409);
  daemon.script->find = [](const cells::FindJob&) { return cells::JobFound{}; };
  CHECK(post_to(daemon, path("/heartbeat")).status == 409);
  CHECK(post_to(daemon, path("/complete")).status == 409);
}

TEST_CASE("a report is passed on") {
  Daemon daemon;
  cells::CallOutcome seen;
  daemon.script->end_lease = [&](const cells::EndLease& end) {
    seen = end.outcome;
    return cells::LeaseEnded{end.lease == a_lease};
  };
  CHECK(post_to(daemon, path("/complete"),
                R"({"properties":{"ip":"10.0.0.1"},"messages":[{"text":"t","severity":"error"}]})")
            .status == 200);
  CHECK(seen.kind == cells::CallOutcome::Kind::succeeded);
  CHECK(seen.properties == cells::Properties{{"ip", "\"10.0.0.1\""}});
  REQUIRE(seen.messages.size() == 1);
  CHECK(seen.messages[0].severity == cells::Severity::error);
  CHECK(post(daemon, "", {}, "", path("/complete")).status == 200);
  CHECK(post_to(daemon, path("/fail"), R"({"code":"full","retry_after_ms":1})").status == 200);
  CHECK(seen.kind == cells::CallOutcome::Kind::retryable);
  CHECK(seen.code == "full");
  CHECK(seen.message == "the worker reported full");
  CHECK(seen.retry_after == 1ms);
  CHECK(post_to(daemon, path("/fail"),
                R"({"code":"full","message":"no","retryable":false,"retry_after_ms":0,)"
                R"("messages":[{"text":"99 % used","severity":"warning"}]})")
            .status == 200);
  CHECK(seen.kind == cells::CallOutcome::Kind::rejected);
  CHECK(seen.message == "no");
  REQUIRE(seen.messages.size() == 1);
  CHECK(seen.messages[0].text == "99 % used");
  CHECK_FALSE(seen.retry_after);
}

TEST_CASE("a report has at most 100 messages") {
  Daemon daemon;
  std::size_t seen = 0;
  daemon.script->end_lease = [&](const cells::EndLease& end) {
    seen = end.outcome.messages.size();
    return cells::LeaseEnded{true};
  };
  const auto complete = [&](std::size_t messages) {
    const Value body = {{"messages", std::vector<Value>(messages, Value{{"text", "t"}})}};
    return post_to(daemon, path("/complete"), celld::json::dump(body));
  };
  CHECK(complete(100).status == 200);
  CHECK(seen == 100);
  CHECK(errors_of(complete(101)) == Value{{"/messages", "must have at most 100 elements"}});
}

TEST_CASE("a repeated report is accepted, and the other outcome is not") {
  Daemon daemon;
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{}; };
  const auto ended = reported_job();
  daemon.script->find = [&](const cells::FindJob&) { return cells::JobFound{ended}; };
  CHECK(post_to(daemon, path("/complete")).status == 200);
  CHECK(post_to(daemon, path("/fail"), R"({"code":"x"})").status == 409);
  CHECK(post_to(daemon, path("/complete", {7, 2})).status == 409);
  ended->steps[0].report->succeeded = false;
  CHECK(post_to(daemon, path("/complete")).status == 409);
  CHECK(post_to(daemon, path("/fail"), R"({"code":"x"})").status == 200);
}

TEST_CASE("a lease that the engine does not know yet is looked up in its cell") {
  Daemon daemon;
  daemon.script->extend_lease = [](const cells::ExtendLease& hold) {
    return hold.job ? cells::LeaseExtended{out(), false} : cells::LeaseExtended{};
  };
  daemon.script->end_lease = [](const cells::EndLease& end) {
    return cells::LeaseEnded{end.job != nullptr};
  };
  daemon.script->find = [](const cells::FindJob& find) {
    CHECK(find.id == 42);
    return cells::JobFound{leased_job()};
  };
  CHECK(post_to(daemon, path("/heartbeat")).status == 200);
  CHECK(post_to(daemon, path("/complete")).status == 200);
}

TEST_CASE("many reports are answered one by one") {
  Daemon daemon;
  daemon.script->end_lease = [](const cells::EndLease& end) {
    return cells::LeaseEnded{end.lease == a_lease};
  };
  daemon.script->find = [](const cells::FindJob&) { return cells::JobFound{}; };
  const std::string good = lease_names.name({42, a_lease});
  const std::string lost = lease_names.name({42, {7, 9}});
  const Value reports = {{{"lease", good}, {"outcome", "complete"}},
                         {{"lease", lost}, {"outcome", "fail"}, {"code", "x"}},
                         {{"lease", "guessed"}, {"outcome", "complete"}},
                         {{"lease", good}, {"outcome", "fail"}},
                         {{"lease", good}, {"outcome", "perhaps"}},
                         {{"lease", good}},
                         {{"lease", good}, {"outcome", 7}},
                         {{"lease", ""}, {"outcome", "complete"}}};
  const auto answer = post_to(daemon, "/v1/leases/report", celld::json::dump(reports));
  CHECK(answer.status == 200);
  CHECK(answer.body ==
        Value{{"results",
               {{{"lease", good}, {"status", 200}},
                {{"lease", lost}, {"status", 409}},
                {{"lease", "guessed"}, {"status", 409}},
                {{"lease", good},
                 {"status", 422},
                 {"errors", {{{"pointer", "/3/code"}, {"detail", "is required"}}}}},
                {{"lease", good},
                 {"status", 422},
                 {"errors",
                  {{{"pointer", "/4/outcome"}, {"detail", "must be `complete` or `fail`"}}}}},
                {{"lease", good},
                 {"status", 422},
                 {"errors", {{{"pointer", "/5/outcome"}, {"detail", "is required"}}}}},
                {{"lease", good},
                 {"status", 422},
                 {"errors", {{{"pointer", "/6/outcome"}, {"detail", "must be a string"}}}}},
                {{"lease", ""}, {"status", 409}}}}});
  CHECK(post_to(daemon, "/v1/leases/report", "[]").body == Value{{"results", Value::array()}});
}

TEST_CASE("up to 1000 reports may be sent at once") {
  const Daemon daemon;
  const auto report = [&](std::size_t count) {
    const Value lost{{"lease", "guessed"}, {"outcome", "complete"}};
    return post_to(daemon, "/v1/leases/report",
                   celld::json::dump(Value(std::vector<Value>(count, lost))));
  };
  const auto most = report(1000);
  CHECK(most.status == 200);
  CHECK(most.body["results"].size() == 1000);
  const auto more = report(1001);
  CHECK(more.status == 422);
  CHECK(errors_of(more) == Value{{"", "must be an array of up to 1000 reports"}});
}

TEST_CASE("a number out of range refuses only the report that has it") {
  Daemon daemon;
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{true}; };
  const std::string good = lease_names.name({42, a_lease});
  std::string reports = "[";
  for (const auto* number : {"1", "1e999", "2"}) {
    reports +=
        R"({"outcome":"complete","lease":")" + good + R"(","properties":{"n":)" + number + "}},";
  }
  reports.back() = ']';
  const auto answer = post_to(daemon, "/v1/leases/report", reports);
  REQUIRE(answer.status == 200);
  const auto& results = answer.body["results"];
  CHECK(results[0]["status"] == 200);
  CHECK(results[1]["status"] == 422);
  CHECK(results[1]["errors"] ==
        Value{{{"pointer", "/1/properties/n"}, {"detail", "is a number out of range"}}});
  CHECK(results[2]["status"] == 200);
}

TEST_CASE("a number out of range in report 10 does not refuse report 1") {
  Daemon daemon;
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{true}; };
  const std::string good = lease_names.name({42, a_lease});
  std::string reports = "[";
  for (int i = 0; i <= 10; ++i) {
    reports += R"({"outcome":"complete","lease":")" + good + R"(","properties":{"n":)" +
               (i == 10 ? "1e999" : "1") + "}},";
  }
  reports.back() = ']';
  const auto answer = post_to(daemon, "/v1/leases/report", reports);
  REQUIRE(answer.status == 200);
  CHECK(answer.body["results"][1]["status"] == 200);
  CHECK(answer.body["results"][10]["status"] == 422);
}

TEST_CASE("more numbers out of range than are listed refuse only the reports that have some") {
  Daemon daemon;
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{true}; };
  const std::string begin =
      R"({"outcome":"complete","lease":")" + lease_names.name({42, a_lease}) + "\"";
  std::string many = "[0";
  for (int i = 0; i < 150; ++i) many += ",1e999";
  const std::string reports = "[" + begin + "}," + begin + R"(,"properties":{"n":)" + many +
                              "]}}," + begin + R"(,"properties":{"n":1e999}},)" + begin + "}]";
  const auto answer = post_to(daemon, "/v1/leases/report", reports);
  REQUIRE(answer.status == 200);
  const auto& results = answer.body["results"];
  CHECK(results[0]["status"] == 200);
  CHECK(results[1]["errors"].size() == 10);
  CHECK(results[2]["errors"] ==
        Value{{{"pointer", "/2"}, {"detail", "has more numbers out of range"}}});
  CHECK(results[3]["status"] == 200);
}

TEST_CASE("a report may have as many values as fit into its properties") {
  Daemon daemon;
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{true}; };
  daemon.script->find = [](const cells::FindJob&) { return cells::JobFound{leased_job()}; };
  std::string properties = R"("properties":{"x":[1)";
  while (properties.size() < cells::properties_bytes_max) properties += ",1";
  properties += "]}}";
  CHECK(post_to(daemon, path("/complete"), "{" + properties).status == 200);
  const auto lease = lease_names.name({42, a_lease});
  const auto report = R"([{"lease":")" + lease + R"(","outcome":"complete",)" + properties + "]";
  CHECK(post_to(daemon, "/v1/leases/report", report).body["results"][0]["status"] == 200);
}

TEST_CASE("a report may be nested as deep as the completion that it stands for") {
  Daemon daemon;
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{true}; };
  daemon.script->find = [](const cells::FindJob&) { return cells::JobFound{leased_job()}; };
  const auto body_of = [](std::size_t depth) {  // `depth` levels as a completion.
    return R"("properties":{"x":)" + std::string(depth - 2, '[') + std::string(depth - 2, ']') +
           "}}";
  };
  const std::string report =
      R"([{"lease":")" + lease_names.name({42, a_lease}) + R"(","outcome":"complete",)";
  CHECK(post_to(daemon, path("/complete"), "{" + body_of(64)).status == 200);
  CHECK(post_to(daemon, path("/complete"), "{" + body_of(65)).status == 400);
  CHECK(post_to(daemon, "/v1/leases/report", report + body_of(64) + "]").status == 200);
  CHECK(post_to(daemon, "/v1/leases/report", report + body_of(65) + "]").status == 400);
}

TEST_CASE("leases are listed with their workers") {
  Daemon daemon;
  daemon.script->list_leases = [](const cells::ListLeases& list) {
    CHECK(list.worker == "host-1");
    CHECK(list.limit == 1);
    return cells::LeasesListed{{out()}, true};
  };
  const auto answer = get(daemon, "/v1/leases?worker=host-1&limit=1");
  CHECK(answer.status == 200);
  CHECK(answer.body["items"][0]["worker"] == "host-1");
  CHECK(answer.body["next_cursor"] == "7-3");
  daemon.script->list_leases = [](const cells::ListLeases& list) {
    CHECK(list.after == a_lease);
    CHECK(list.service == "vm");
    return cells::LeasesListed{};
  };
  const auto next = get(daemon, "/v1/admin/leases?cursor=7-3&service=vm");
  CHECK(next.body == Value{{"items", Value::array()}, {"next_cursor", nullptr}});
  for (const auto* cursor : {"7", "7-", "-3", "7-3x", "x-3", ""}) {
    CHECK(get(daemon, std::string("/v1/leases?cursor=") + cursor).status == 422);
  }
}

TEST_CASE("a token may be bound to services and to a customer") {
  Daemon daemon{true, {}, bound_tokens()};
  std::optional<std::string> customer;
  daemon.script->request_leases = [&](const cells::RequestLeases& request) {
    customer = request.customer;
    return cells::LeasesGranted{{out()}};
  };
  daemon.script->find_lease = [](const cells::FindLease&) { return cells::LeaseFound{out()}; };
  daemon.script->extend_lease = [](const cells::ExtendLease&) {
    return cells::LeaseExtended{out(), false};
  };
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{true}; };
  daemon.script->list_leases = [](const cells::ListLeases& list) {
    CHECK((list.services || list.customer));
    return cells::LeasesListed{};
  };
  const std::string order = R"({"worker":"w"})";
  const std::string leases = "/v1/services/vm/leases";
  CHECK(post_to(daemon, leases, order).status == 401);
  for (const std::string name : {"all", "vms", "acme"}) {
    CHECK(post_to(daemon, leases, order, as(name)).status == 200);
    CHECK(customer.value_or("any") == (name == "acme" ? "acme" : "any"));
    CHECK(post_to(daemon, path("/heartbeat"), "{}", as(name)).status == 200);
    CHECK(post_to(daemon, path("/complete"), "{}", as(name)).status == 200);
  }
  CHECK(post_to(daemon, leases, order, as("gpus")).status == 404);
  const auto is_hidden_from_others = [&] {
    for (const auto* name : {"gpus", "other"}) {
      CHECK(post_to(daemon, path("/heartbeat"), "{}", as(name)).status == 404);
      CHECK(post_to(daemon, path("/complete"), "{}", as(name)).status == 404);
      const auto reported = post_to(daemon, "/v1/leases/report", report_of_one(), as(name));
      REQUIRE(reported.status == 200);
      CHECK(reported.body["results"][0]["status"] == 404);
    }
  };
  is_hidden_from_others();
  // Just after a start, only the lease's cell knows it.
  daemon.script->find_lease = [](const cells::FindLease&) { return cells::LeaseFound{}; };
  daemon.script->find = [](const cells::FindJob&) { return cells::JobFound{leased_job()}; };
  daemon.script->extend_lease = [](const cells::ExtendLease& hold) {
    return hold.job ? cells::LeaseExtended{out(), false} : cells::LeaseExtended{};
  };
  daemon.script->end_lease = [](const cells::EndLease& end) {
    return cells::LeaseEnded{end.job != nullptr};
  };
  is_hidden_from_others();
  CHECK(post_to(daemon, path("/heartbeat"), "{}", as("vms")).status == 200);
  CHECK(post_to(daemon, path("/complete"), "{}", as("acme")).status == 200);
  for (const auto* name : {"vms", "acme"}) {
    CHECK(answer_of(daemon.client().Get("/v1/leases", as(name))).status == 200);
  }
  CHECK(answer_of(daemon.client().Get("/v1/admin/leases", as("all"))).status == 403);
}

TEST_CASE("a repeated report is accepted only with a token that may work for its job") {
  Daemon daemon{true, {}, bound_tokens()};
  daemon.script->find_lease = [](const cells::FindLease&) { return cells::LeaseFound{}; };
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{}; };
  daemon.script->find = [](const cells::FindJob&) { return cells::JobFound{reported_job()}; };
  for (const auto* name : {"all", "vms", "acme"}) {
    CHECK(post_to(daemon, path("/complete"), "{}", as(name)).status == 200);
  }
  for (const auto* name : {"gpus", "other"}) {
    CHECK(post_to(daemon, path("/complete"), "{}", as(name)).status == 409);
  }
}

TEST_CASE("a repeated report needs a token for the service of its step, wherever the job is now") {
  Daemon daemon{true, {}, bound_tokens()};
  auto job = reported_job();
  auto spec = std::make_shared<cells::JobSpec>(*job->spec);
  spec->services = {"vm", "gpu"};
  job->spec = spec;
  job->state = cells::JobState::running;
  job->lease = {7, 9};
  job->step = 1;
  job->steps.resize(2);
  daemon.script->find_lease = [](const cells::FindLease&) { return cells::LeaseFound{}; };
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{}; };
  daemon.script->find = [&](const cells::FindJob&) { return cells::JobFound{job}; };
  CHECK(post_to(daemon, path("/complete"), "{}", as("vms")).status == 200);
  CHECK(post_to(daemon, path("/complete"), "{}", as("gpus")).status == 409);
}

TEST_CASE("a store that has failed is reported to workers") {
  const Daemon daemon;
  CHECK(post_to(daemon, "/v1/services/vm/leases", R"({"worker":"w"})").status == 503);
  CHECK(post_to(daemon, path("/heartbeat")).status == 503);
  CHECK(post_to(daemon, path("/complete")).status == 503);
  CHECK(get(daemon, "/v1/leases").status == 503);
  CHECK(post_to(daemon, "/v1/leases/report", report_of_one()).status == 503);
}

TEST_CASE("a store that fails while the engine does not know a lease is reported to workers") {
  Daemon daemon{true, {}, bound_tokens()};
  daemon.script->extend_lease = [](const cells::ExtendLease&) { return cells::LeaseExtended{}; };
  daemon.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{}; };
  daemon.script->find_lease = [](const cells::FindLease&) { return cells::LeaseFound{}; };
  // For a bound token, the store is asked before the lease's cell.
  for (const auto* name : {"all", "vms", "acme"}) {
    INFO(name);
    CHECK(post_to(daemon, path("/heartbeat"), "{}", as(name)).status == 503);
    CHECK(post_to(daemon, path("/complete"), "{}", as(name)).status == 503);
    CHECK(post_to(daemon, "/v1/leases/report", report_of_one(), as(name)).status == 503);
  }
}

TEST_CASE("many reports get a 503 if one cannot be decided, even if a later one is accepted") {
  SteppedLeaseGateway gateway;
  gateway.script->find_lease = [](const cells::FindLease& find) {
    return find.lease == a_lease ? cells::LeaseFound{out()} : cells::LeaseFound{};
  };
  gateway.script->end_lease = [](const cells::EndLease&) { return cells::LeaseEnded{true}; };
  cells::CallOutcome succeeded;
  succeeded.kind = cells::CallOutcome::Kind::succeeded;
  gateway.report(
      {{lease_names.name({43, {7, 9}}), succeeded}, {lease_names.name({42, a_lease}), succeeded}},
      {std::nullopt, std::set<std::string>{"vm"}});
  CHECK(gateway.client.receive().value().status == 503);
}
