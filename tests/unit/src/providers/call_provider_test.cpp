// The provider actor, with a transport whose calls the test ends.
#include "src/providers/call_provider.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <utility>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/providers/call_fixture.hpp"

namespace celld::providers {
namespace {

using namespace std::chrono_literals;
using cells::CallOutcome;
using test::make_call;
using test::make_job;

constexpr auto patience = 20s;

/// A transport whose calls and aborts end when the test says.
struct Held : ServiceCalls {
  void prepare() const override { prepared.set_value(); }
  void start(const cells::StartCall&, Ended ended) const override { started.set_value(ended); }

  mutable std::promise<void> prepared;
  mutable std::promise<Ended> started;
};

CallOutcome success() {
  CallOutcome outcome;
  outcome.kind = CallOutcome::Kind::succeeded;
  return outcome;
}

}  // namespace

TEST_CASE("a call goes on with its next exchange") {
  caf::actor_system_config config;
  caf::actor_system system(config.set("scheduler.max-threads", 2));
  const auto held = std::make_shared<Held>();
  const auto provider = spawn_call_provider(
      system, held, [](const cells::Lease&, const std::function<void()>& gone) { gone(); });
  caf::scoped_actor self(system);
  auto call = self->request(provider, patience, make_call({1, 1}, make_job(1, {"dns"})));
  held->started.get_future().get()(
      [] { return ServiceCalls::Next{[](const ServiceCalls::Ended& ended) { ended(success); }}; });
  call.receive(
      [](const cells::CallEnded& ended) {
        CHECK(ended.outcome.kind == CallOutcome::Kind::succeeded);
      },
      [](const caf::error&) { FAIL("no answer"); });
  self->send_exit(provider, caf::exit_reason::kill);
}

TEST_CASE("a provider announces its calls before the first") {
  caf::actor_system_config config;
  caf::actor_system system(config.set("scheduler.max-threads", 2));
  const auto held = std::make_shared<Held>();
  const auto provider = spawn_call_provider(
      system, held, [](const cells::Lease&, const std::function<void()>& gone) { gone(); });
  CHECK(held->prepared.get_future().wait_for(patience) == std::future_status::ready);
  caf::anon_send_exit(provider, caf::exit_reason::kill);
}

TEST_CASE("a second call under one lease is aborted, and leaves the first alone") {
  caf::actor_system_config config;
  caf::actor_system system(config.set("scheduler.max-threads", 2));
  const auto held = std::make_shared<Held>();
  const auto provider = spawn_call_provider(
      system, held, [](const cells::Lease&, const std::function<void()>& gone) { gone(); });
  caf::scoped_actor self(system);
  auto first = self->request(provider, patience, make_call({1, 1}, make_job(1, {"dns"})));
  auto second = self->request(provider, patience, make_call({1, 1}, make_job(1, {"dns"})));
  second.receive(
      [](const cells::CallEnded& ended) {
        CHECK(ended.outcome.kind == CallOutcome::Kind::aborted);
      },
      [](const caf::error&) { FAIL("no answer"); });
  held->started.get_future().get()(success);
  first.receive(
      [](const cells::CallEnded& ended) {
        CHECK(ended.outcome.kind == CallOutcome::Kind::succeeded);
      },
      [](const caf::error&) { FAIL("no answer"); });
  self->send_exit(provider, caf::exit_reason::kill);
}

TEST_CASE("each abort of a call is confirmed") {
  caf::actor_system_config config;
  caf::actor_system system(config.set("scheduler.max-threads", 2));
  std::array<std::promise<std::function<void()>>, 2> aborting;
  std::size_t aborts = 0;
  const auto provider = spawn_call_provider(system, std::make_shared<Held>(),
                                            [&](const cells::Lease&, std::function<void()> gone) {
                                              aborting.at(aborts++).set_value(std::move(gone));
                                            });
  caf::scoped_actor self(system);
  auto first = self->request(provider, patience, cells::AbortCall{{1, 1}});
  auto second = self->request(provider, patience, cells::AbortCall{{1, 1}});
  const auto gone = aborting[0].get_future().get();
  const auto gone_again = aborting[1].get_future().get();
  gone();
  gone_again();
  for (auto* abort : {&first, &second}) {
    abort->receive([](const cells::CallAborted&) {},
                   [](const caf::error&) { FAIL("no confirmation"); });
  }
  self->send_exit(provider, caf::exit_reason::kill);
}

TEST_CASE("a provider that dies refuses the aborts that it has not confirmed") {
  caf::actor_system_config config;
  caf::actor_system system(config.set("scheduler.max-threads", 2));
  std::promise<void> aborting;
  const auto provider = spawn_call_provider(
      system, std::make_shared<Held>(),
      [&](const cells::Lease&, const std::function<void()>&) { aborting.set_value(); });
  caf::scoped_actor self(system);
  auto abort = self->request(provider, patience, cells::AbortCall{{1, 1}});
  REQUIRE(aborting.get_future().wait_for(patience) == std::future_status::ready);
  self->send_exit(provider, caf::exit_reason::kill);
  abort.receive(
      [](const cells::CallAborted&) { FAIL("a confirmation without knowledge of the call's end"); },
      [](const caf::error& error) { CHECK(error == caf::sec::request_receiver_down); });
}

TEST_CASE("no exchange begins under a lease that is being aborted") {
  caf::actor_system_config config;
  caf::actor_system system(config.set("scheduler.max-threads", 2));
  const auto held = std::make_shared<Held>();
  std::promise<std::function<void()>> aborting;
  const auto provider =
      spawn_call_provider(system, held, [&](const cells::Lease&, std::function<void()> gone) {
        aborting.set_value(std::move(gone));
      });
  caf::scoped_actor self(system);
  auto call = self->request(provider, patience, make_call({1, 1}, make_job(1, {"dns"})));
  const auto ended_at = held->started.get_future().get();
  auto abort = self->request(provider, patience, cells::AbortCall{{1, 1}});
  // The exchange had ended before the abort reached the transport.
  const auto gone = aborting.get_future().get();
  bool begun = false;
  ended_at([&] {
    return ServiceCalls::Next{[&](const ServiceCalls::Ended& ended) {
      begun = true;
      ended(success);
    }};
  });
  gone();
  call.receive(
      [](const cells::CallEnded& ended) {
        CHECK(ended.outcome.kind == CallOutcome::Kind::aborted);
      },
      [](const caf::error&) { FAIL("no answer"); });
  abort.receive([](const cells::CallAborted&) {},
                [](const caf::error&) { FAIL("no confirmation"); });
  CHECK_FALSE(begun);
  self->send_exit(provider, caf::exit_reason::kill);
}

}  // namespace celld::providers
