// The actor of a `command` service.
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "src/providers/command/provider.hpp"
#include "src/providers/http/provider.hpp"
#include "src/providers/http/transport.hpp"
#include "src/providers/simulated/provider.hpp"
#include "src/providers/transports.hpp"
#include "tests/unit/src/providers/call_fixture.hpp"
#include "tests/unit/src/providers/command/fixture.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using cells::CallEnded;
using test::command_patience;
using test::make_call;
using test::make_job;
using Kind = cells::CallOutcome::Kind;

CommandService shell(const std::string& text) {
  return {{"/bin/sh", "-c", text}, {{"KEY", {"env:KEY", "s3cret-word"}}}};
}

/// The transports must be destroyed before the system.
class Fixture {
 public:
  Fixture() : system(config_.set("scheduler.max-threads", 2)) {}
  ~Fixture() {
    for (auto& provider : spawned_) caf::anon_send_exit(provider, caf::exit_reason::kill);
  }
  cells::Provider spawn(const std::string& text) {
    return keep(
        spawn_command_provider(system, "db", shell(text), commands->calls(), aborts(), wall_clock));
  }
  cells::Provider spawn_http() {
    return keep(spawn_http_provider(system, "db", {"http://127.0.0.1:1/", {}}, http_.calls(),
                                    aborts(), wall_clock));
  }
  cells::Provider spawn_simulated() {
    return keep(spawn_simulated_provider(system, "db", SimulatedService{}, aborts()));
  }

 private:
  caf::actor_system_config config_;

 public:
  caf::actor_system system;
  std::unique_ptr<CommandTransport> commands = std::make_unique<CommandTransport>();

 private:
  static cells::WallTime wall_clock() { return cells::WallTime{milliseconds{1'795'214'576'000}}; }
  AbortByLease aborts() {
    return abort_through({aborts_of(http_.calls()), aborts_of(commands->calls())});
  }
  cells::Provider keep(cells::Provider provider) {
    spawned_.push_back(provider);
    return provider;
  }

  HttpTransport http_;
  std::vector<cells::Provider> spawned_;
};

cells::CallOutcome run(Fixture& fixture, const std::string& text, milliseconds timeout = 30s) {
  cells::CallOutcome outcome;
  caf::scoped_actor self(fixture.system);
  self->request(fixture.spawn(text), command_patience,
                make_call({3, 4}, make_job(1, {"db"}, 0, 2), timeout))
      .receive([&](const CallEnded& ended) { outcome = ended.outcome; },
               [](const caf::error&) { FAIL("no answer"); });
  return outcome;
}

}  // namespace

TEST_CASE("a command receives the document of its call and answers with the result") {
  Fixture fixture;
  const auto outcome = run(fixture, R"(printf '{"properties": {"sent": '; cat; printf '}}')");
  CHECK(outcome.kind == Kind::succeeded);
  const auto sent = outcome.properties.at("sent");
  CHECK(sent.find(R"("job":"0000000000001")") != std::string::npos);
  CHECK(sent.find(R"("attempt":2)") != std::string::npos);
}

TEST_CASE("a command cannot leak its environment into messages") {
  Fixture fixture;
  const auto outcome =
      run(fixture, R"(echo "key is $KEY" >&2; echo "{\"message\": \"bad key $KEY\"}"; exit 1)");
  CHECK(outcome.kind == Kind::rejected);
  CHECK(outcome.message == "bad key ***");
  REQUIRE(outcome.messages.size() == 1);
  CHECK(outcome.messages[0].text == "key is ***");
}

TEST_CASE("a command that passes its deadline ends as unknown") {
  Fixture fixture;
  CHECK(run(fixture, "sleep 1000", 200ms).code == "timeout");
}

TEST_CASE("a successor aborts the command that its predecessor left behind") {
  const test::Directory directory;
  const auto pids = directory / "pids";
  Fixture fixture;
  caf::scoped_actor self(fixture.system);
  const auto text = "echo $$ >> " + pids + "; exec sleep 1000";
  const auto first = fixture.spawn(text);
  self->send(first, make_call({1, 1}, make_job(1, {"db"})));
  const auto running = test::wait_for_numbers(pids, 1);
  caf::anon_send_exit(first, caf::exit_reason::kill);
  self->request(fixture.spawn(text), command_patience, cells::AbortCall{{1, 1}})
      .receive(
          [](const cells::CallAborted& aborted) { CHECK(aborted.lease == cells::Lease{1, 1}); },
          [](const caf::error&) { FAIL("no confirmation"); });
  CHECK_FALSE(test::exists(running.front()));
}

TEST_CASE("a successor of another type aborts the command that its predecessor left behind") {
  const test::Directory directory;
  const auto pids = directory / "pids";
  Fixture fixture;
  // Started without an actor, as if its actor had died without a trace.
  const auto ended = std::make_shared<std::promise<CommandResult>>();
  fixture.commands->calls()->start(
      {1, 1}, test::script("echo $$ >> " + pids + "; exec sleep 1000"),
      [ended](CommandResult result) { ended->set_value(std::move(result)); });
  const auto running = test::wait_for_numbers(pids, 1);
  cells::Provider successor;
  SECTION("http") {
    successor = fixture.spawn_http();
  }
  SECTION("simulated") {
    successor = fixture.spawn_simulated();
  }
  caf::scoped_actor self(fixture.system);
  self->request(successor, command_patience, cells::AbortCall{{1, 1}})
      .receive(
          [](const cells::CallAborted& aborted) { CHECK(aborted.lease == cells::Lease{1, 1}); },
          [](const caf::error&) { FAIL("no confirmation"); });
  CHECK_FALSE(test::exists(running.front()));
  fixture.commands.reset();
  CHECK(ended->get_future().get().end == CommandResult::End::aborted);
}

TEST_CASE("a command that starts after the transport is gone ends aborted") {
  Fixture fixture;
  const auto provider = fixture.spawn("echo '{}'");
  fixture.commands.reset();
  caf::scoped_actor self(fixture.system);
  self->request(provider, command_patience, make_call({1, 1}, make_job(1, {"db"})))
      .receive([](const CallEnded& ended) { CHECK(ended.outcome.kind == Kind::aborted); },
               [](const caf::error&) { FAIL("no answer"); });
}

}  // namespace celld::providers
