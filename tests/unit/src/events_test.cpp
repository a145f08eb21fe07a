// The events that wake the main thread, and the requests that wait when it stops.
#include "src/events.hpp"

#include <variant>

#include "tests/unit/catch.hpp"

using celld::Events;
using celld::api::ReloadOutcome;
using celld::api::ReloadRefused;

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

TEST_CASE("a requested reload is the next event") {
  Events events;
  bool answered = false;
  events.ask_reload([&](const ReloadOutcome&) { answered = true; });
  const auto event = events.wait();
  REQUIRE(event.kind == Events::Kind::reload);
  event.answer(ReloadRefused{});
  CHECK(answered);
}
