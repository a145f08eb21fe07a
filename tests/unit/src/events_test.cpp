// The events that wake the main thread, and the requests that wait when it stops.
#include "src/events.hpp"

#include <chrono>
#include <csignal>
#include <future>
#include <variant>
#include <vector>

#include <unistd.h>

#include "tests/unit/catch.hpp"

using celld::Events;
using celld::api::ReloadOutcome;
using celld::api::ReloadRefused;

namespace {

/// The next event; a failure if none comes.
Events::Event next_event(Events& events) {
  auto next = std::async(std::launch::async, [&] { return events.wait(); });
  if (next.wait_for(std::chrono::minutes{1}) != std::future_status::ready)
    events.fail(Events::Kind::store_failed, "no event came");
  return next.get();
}

}  // namespace

TEST_CASE("reloads that wait when a stop begins are refused, and so are later ones") {
  Events events;
  int refused = 0;
  const auto answer = [&](const ReloadOutcome& outcome) {
    refused += std::holds_alternative<ReloadRefused>(outcome) ? 1 : 0;
  };
  events.ask_reload(answer);
  CHECK(refused == 0);
  events.refuse_reloads();
  CHECK(refused == 1);
  events.ask_reload(answer);
  CHECK(refused == 2);
}

TEST_CASE("each of several reloads that wait is an event of its own") {
  Events events;
  std::vector<int> answered;
  for (const int number : {1, 2}) {
    events.ask_reload([&answered, number](const ReloadOutcome&) { answered.push_back(number); });
  }
  for (int turn = 0; turn < 2; ++turn) {
    const auto event = next_event(events);
    REQUIRE(event.kind == Events::Kind::reload);
    event.answer(ReloadRefused{});
  }
  CHECK(answered == std::vector{1, 2});
}

TEST_CASE("a requested reload is the next event") {
  Events events;
  bool answered = false;
  events.ask_reload([&](const ReloadOutcome&) { answered = true; });
  const auto event = events.wait();
  REQUIRE(event.kind == Events::Kind::reload);
  event.answer(ReloadRefused{});
  CHECK(answered);
}

TEST_CASE("of several failures, the first counts") {
  Events events;
  CHECK_FALSE(events.failure());
  events.fail(Events::Kind::store_failed, "the disk is full");
  events.fail(Events::Kind::engine_failed, "the cell dispatcher ended");
  CHECK(events.failure() == "the disk is full");
  const auto event = next_event(events);
  CHECK(event.kind == Events::Kind::store_failed);
  CHECK(event.detail == "the disk is full");
}

TEST_CASE("a failure comes before a request to stop") {
  Events events;
  ::kill(::getpid(), SIGTERM);
  events.fail(Events::Kind::store_failed, "the disk is full");
  CHECK(next_event(events).kind == Events::Kind::store_failed);
  sigset_t stop;  // The signal must not reach the next test.
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  const timespec at_once{};
  ::sigtimedwait(&stop, nullptr, &at_once);
}

TEST_CASE("a write to a reader that has gone does not end the process") {
  ::signal(SIGPIPE, SIG_DFL);
  const Events events;
  const bool is_ignored = ::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
  CHECK(is_ignored);
}

TEST_CASE("a request to stop can be seen before it is taken, and comes before reloads") {
  Events events;
  events.ask_reload([](const ReloadOutcome&) {});
  ::kill(::getpid(), SIGHUP);
  CHECK_FALSE(events.stop_is_waiting());
  ::kill(::getpid(), SIGTERM);
  CHECK(events.stop_is_waiting());
  CHECK(next_event(events).kind == Events::Kind::stop);
  CHECK_FALSE(events.stop_is_waiting());
  CHECK(next_event(events).kind == Events::Kind::hang_up);
  CHECK(next_event(events).kind == Events::Kind::reload);
}
