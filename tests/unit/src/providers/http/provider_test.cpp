// The actor of an `http` service, against providers on raw sockets.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "src/providers/http/provider.hpp"
#include "src/providers/http/transport.hpp"
#include "src/providers/simulated/provider.hpp"
#include "src/providers/transports.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/machine.hpp"
#include "tests/unit/src/providers/call_fixture.hpp"
#include "tests/unit/src/providers/http/misbehaving_provider.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using cells::CallEnded;
using cells::CallOutcome;
using cells::Lease;
using test::Connection;
using test::http_answer;
using test::make_call;
using test::make_job;
using test::MisbehavingProvider;
using Kind = CallOutcome::Kind;

constexpr auto patience = 20s;

/// One service at one server. The transport must be destroyed before the system.
class Fixture {
 public:
  explicit Fixture(MisbehavingProvider::Script script)
      : server(std::move(script)), system(config_.set("scheduler.max-threads", 2)) {}
  ~Fixture() {
    for (auto& provider : spawned_) caf::anon_send_exit(provider, caf::exit_reason::kill);
  }

  cells::Provider spawn() {
    const HttpService service{server.url(),
                              {{"Authorization", {"env:KEY", "Bearer s3cret-token"}}}};
    return keep(spawn_http_provider(system, "dns", service, transport.calls(), aborts(), [] {
      return cells::WallTime{milliseconds{1'795'214'576'000}};
    }));
  }
  cells::Provider spawn_simulated() {
    return keep(spawn_simulated_provider(system, "dns", SimulatedService{}, aborts()));
  }

 private:
  caf::actor_system_config config_;

 public:
  MisbehavingProvider server;
  caf::actor_system system;
  HttpTransport transport;

 private:
  AbortByLease aborts() { return abort_through({aborts_of(transport.calls())}); }
  cells::Provider keep(cells::Provider provider) {
    spawned_.push_back(provider);
    return provider;
  }

  std::vector<cells::Provider> spawned_;
};

/// A provider that reports the arrival of a request, and then hangs.
class Hanging {
 public:
  MisbehavingProvider::Script script() {
    return [this](Connection& connection) {
      if (!connection.read_request()) return;
      arrived_.set_value();
      closed_.set_value(connection.wait_closed(10s));
    };
  }
  void wait_for_request() {
    REQUIRE(arrived_.get_future().wait_for(patience) == std::future_status::ready);
  }
  bool was_closed() { return closed_.get_future().get(); }

 private:
  std::promise<void> arrived_;
  std::promise<bool> closed_;
};

}  // namespace

TEST_CASE("a provider receives the document and answers with the result") {
  std::promise<test::SentRequest> seen;
  Fixture fixture([&](Connection& connection) {
    if (auto request = connection.read_request()) {
      seen.set_value(*request);
      connection.send(http_answer(
          "200 OK", R"({"properties": {"zone": "z-1"}, "messages": [{"text": "made"}]})"));
    }
  });
  caf::scoped_actor self(fixture.system);
  self->request(fixture.spawn(), patience, make_call({3, 4}, make_job(1, {"dns"}, 0, 2)))
      .receive(
          [](const CallEnded& ended) {
            CHECK(ended.lease == Lease{3, 4});
            CHECK(ended.outcome.kind == Kind::succeeded);
            CHECK(ended.outcome.properties == cells::Properties{{"zone", R"("z-1")"}});
            REQUIRE(ended.outcome.messages.size() == 1);
            CHECK(ended.outcome.messages[0].service == "dns");
          },
          [](const caf::error&) { FAIL("no answer"); });
  const auto sent = seen.get_future().get();
  CHECK(sent.head.starts_with("POST /call HTTP/1.1\r\n"));
  CHECK(sent.header("Idempotency-Key") == "0000000000001.dns");
  CHECK(sent.header("Content-Type") == "application/json");
  CHECK(sent.header("Authorization") == "Bearer s3cret-token");
  CHECK(sent.header("traceparent").empty());
  CHECK(sent.body.starts_with(R"({"job":"0000000000001","attempt":2,"customer":"acme",)"));
}

TEST_CASE("a provider cannot leak a configured header into messages") {
  Fixture fixture([](Connection& connection) {
    if (const auto request = connection.read_request()) {
      const auto token = request->header("Authorization").substr(std::string("Bearer ").size());
      connection.send(
          http_answer("400 Bad Request", R"({"message": "bad token )" + token + R"("})"));
    }
  });
  caf::scoped_actor self(fixture.system);
  self->request(fixture.spawn(), patience, make_call({1, 1}, make_job(1, {"dns"})))
      .receive(
          [](const CallEnded& ended) {
            CHECK(ended.outcome.kind == Kind::rejected);
            CHECK(ended.outcome.message == "bad token ***");
          },
          [](const caf::error&) { FAIL("no answer"); });
}

TEST_CASE("a call ends as unknown when its timeout has passed") {
  Hanging hanging;
  Fixture fixture(hanging.script());
  caf::scoped_actor self(fixture.system);
  const ::test::Stopwatch watch;
  self->request(fixture.spawn(), patience, make_call({1, 1}, make_job(1, {"dns"}), 200ms))
      .receive(
          [](const CallEnded& ended) {
            CHECK(ended.outcome.kind == Kind::unknown);
            CHECK(ended.outcome.code == "timeout");
          },
          [](const caf::error&) { FAIL("no answer"); });
  CHECK(watch.elapsed() >= 200ms);
  CHECK(watch.is_within(1200ms, "a call whose timeout has passed"));
  CHECK(hanging.was_closed());
}

TEST_CASE("an aborted call ends before the abort is confirmed") {
  Hanging hanging;
  Fixture fixture(hanging.script());
  const auto provider = fixture.spawn();
  caf::scoped_actor self(fixture.system);
  auto call = self->request(provider, patience, make_call({1, 1}, make_job(1, {"dns"})));
  hanging.wait_for_request();
  auto abort = self->request(provider, patience, cells::AbortCall{{1, 1}});
  call.receive([](const CallEnded& ended) { CHECK(ended.outcome.kind == Kind::aborted); },
               [](const caf::error&) { FAIL("no answer"); });
  abort.receive([](const cells::CallAborted& aborted) { CHECK(aborted.lease == Lease{1, 1}); },
                [](const caf::error&) { FAIL("no confirmation"); });
  CHECK(hanging.was_closed());
}

TEST_CASE("an abort without a call is confirmed") {
  Fixture fixture([](Connection&) {});
  caf::scoped_actor self(fixture.system);
  bool confirmed = false;
  self->request(fixture.spawn(), patience, cells::AbortCall{{9, 9}})
      .receive([&](const cells::CallAborted&) { confirmed = true; },
               [](const caf::error&) { FAIL("no confirmation"); });
  CHECK(confirmed);
}

TEST_CASE("a provider that dies aborts its calls and fails pending requests") {
  Hanging hanging;
  Fixture fixture(hanging.script());
  const auto provider = fixture.spawn();
  caf::scoped_actor self(fixture.system);
  auto call = self->request(provider, patience, make_call({1, 1}, make_job(1, {"dns"})));
  hanging.wait_for_request();
  self->send_exit(provider, caf::exit_reason::kill);
  call.receive([](const CallEnded&) { FAIL("an outcome without knowledge of the call's end"); },
               [](const caf::error& error) { CHECK(error == caf::sec::request_receiver_down); });
  CHECK(hanging.was_closed());
}

TEST_CASE("a successor confirms that a call of its predecessor is gone") {
  Hanging hanging;
  Fixture fixture(hanging.script());
  caf::scoped_actor self(fixture.system);
  // Started without an actor, as if its actor had died without a trace.
  std::promise<HttpResult> ended;
  HttpRequest request{fixture.server.url(), {}, "{}", 10'000ms};
  fixture.transport.calls()->start({1, 1}, request,
                                   [&](HttpResult result) { ended.set_value(std::move(result)); });
  hanging.wait_for_request();
  auto result = ended.get_future();
  cells::Provider successor;
  SECTION("of the same type") {
    successor = fixture.spawn();
  }
  SECTION("of another type") {
    successor = fixture.spawn_simulated();
  }
  self->request(successor, patience, cells::AbortCall{{1, 1}})
      .receive(
          [&](const cells::CallAborted&) {
            CHECK(result.wait_for(0s) == std::future_status::ready);
          },
          [](const caf::error&) { FAIL("no confirmation"); });
  CHECK(hanging.was_closed());
}

TEST_CASE("calls run side by side in one service") {
  constexpr int count = 50;
  std::atomic<int> arrived{0};
  std::promise<void> all_arrived;
  auto all = all_arrived.get_future().share();
  Fixture fixture([&](Connection& connection) {
    if (!connection.read_request()) return;
    if (++arrived == count) all_arrived.set_value();
    all.wait_for(patience);
    connection.send(http_answer("200 OK", ""));
  });
  const auto provider = fixture.spawn();
  caf::scoped_actor self(fixture.system);
  for (std::uint64_t i = 1; i <= count; ++i) {
    self->send(provider, make_call({1, i}, make_job(i, {"dns"})));
  }
  int succeeded = 0;
  for (int i = 0; i < count; ++i) {
    self->receive(
        [&](const CallEnded& ended) { succeeded += ended.outcome.kind == Kind::succeeded; },
        caf::after(patience) >> [] {});
  }
  CHECK(succeeded == count);
}

TEST_CASE("a call that starts after the transport is gone ends aborted") {
  MisbehavingProvider server([](Connection&) {});
  caf::actor_system_config config;
  caf::actor_system system(config);
  auto transport = std::make_unique<HttpTransport>();
  auto provider =
      spawn_http_provider(system, "dns", {server.url(), {}}, transport->calls(),
                          aborts_of(transport->calls()), [] { return cells::WallTime{}; });
  transport.reset();
  caf::scoped_actor self(system);
  self->request(provider, patience, make_call({1, 1}, make_job(1, {"dns"})))
      .receive([](const CallEnded& ended) { CHECK(ended.outcome.kind == Kind::aborted); },
               [](const caf::error&) { FAIL("no answer"); });
}

}  // namespace celld::providers
