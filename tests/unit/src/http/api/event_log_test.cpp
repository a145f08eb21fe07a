#include "src/http/api/event_log.hpp"

#include <memory>

#include "tests/unit/catch.hpp"

using namespace celld::api;

namespace {

cells::JobPtr job(std::size_t parameter_bytes = 0) {
  auto spec = std::make_shared<cells::JobSpec>();
  spec->parameters = std::string(parameter_bytes, ' ');
  auto made = std::make_shared<cells::Job>();
  made->spec = std::move(spec);
  return made;
}

}  // namespace

TEST_CASE("an event's id is a position while all later events are in the log") {
  EventLog log{"run", {3, 1 << 20}};
  CHECK(log.position("run-0") == 0U);
  for (int i = 0; i < 3; ++i) log.add(job());
  CHECK(log.id_of(log.last()) == "run-3");
  CHECK(log.position("run-0") == 0U);
  CHECK(log.position("run-3") == 3U);
  CHECK(log.position(log.id_of_end(3)) == 3U);
  CHECK(EventLog::is_of_end(log.id_of_end(3)));
  CHECK_FALSE(EventLog::is_of_end(log.id_of(3)));
  log.add(job());
  CHECK_FALSE(log.position("run-0"));
  CHECK(log.position("run-1") == 1U);
  CHECK(log.events().size() == 3);
}

TEST_CASE("an id of another run or of no event has no position") {
  EventLog log{"run"};
  log.add(job());
  for (const char* id : {"", "run", "run-", "run-2", "run-x", "run-1x", "run-1ee", "run-e",
                         "run--1", "other-1", "run-99999999999999999999"}) {
    INFO(id);
    CHECK_FALSE(log.position(id));
  }
}

TEST_CASE("the log is bounded in bytes but always keeps the latest event") {
  EventLog log{"run", {100, 10'000}};
  for (int i = 0; i < 10; ++i) log.add(job(3000));
  CHECK(log.events().size() <= 3);
  log.add(job(50'000));
  CHECK(log.events().size() == 1);
  CHECK(log.position("run-10") == 10U);
}

TEST_CASE("a log that has forgotten its events has room for as many again") {
  EventLog log{"run", {100, 10'000}};
  for (int i = 0; i < 2; ++i) log.add(job(3000));
  log.forget();
  for (int i = 0; i < 2; ++i) log.add(job(3000));
  CHECK(log.events().size() == 2);
}

TEST_CASE("after events were forgotten, their ids have no position") {
  EventLog log{"run"};
  log.add(job());
  log.forget();
  CHECK_FALSE(log.position("run-1"));
  log.add(job());
  CHECK_FALSE(log.position("run-1"));
  CHECK(log.position(log.id_of(log.last())));
}
