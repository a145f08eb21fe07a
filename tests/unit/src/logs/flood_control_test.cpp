// A flood is seen, and its lines stay few.
#include "src/logs/flood_control.hpp"

#include "tests/unit/catch.hpp"

namespace celld::logs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Held = FloodControl::Held;

const FloodControl::Time start{std::chrono::hours{1}};

FloodControl::Terms few() {
  FloodControl::Terms terms;
  terms.each = {3, 10};
  terms.all = {100, 100};
  return terms;
}

/// How many of `count` lines at once are written.
int admitted(FloodControl& floods, int count, FloodControl::Time now,
             const std::string& about = "acme/dns") {
  int written = 0;
  for (int i = 0; i < count; ++i) written += floods.admit("a job failed", about, now) ? 1 : 0;
  return written;
}

TEST_CASE("a burst is written whole, and then as many as the rate allows") {
  FloodControl floods{few()};
  CHECK(admitted(floods, 20, start) == 3);
  CHECK(admitted(floods, 20, start + milliseconds{99}) == 0);
  CHECK(admitted(floods, 20, start + milliseconds{100}) == 1);
  CHECK(admitted(floods, 20, start + milliseconds{300}) == 2);
  CHECK(admitted(floods, 20, start + seconds{60}) == 3);
}

TEST_CASE("over a long flood the lines are the burst and the rate, no more") {
  FloodControl floods{few()};
  int written = 0;
  for (int ms = 0; ms < 10'000; ++ms) written += admitted(floods, 1, start + milliseconds{ms});
  CHECK(written == 3 + 99);
}

TEST_CASE("what is about something else is not held back with it") {
  FloodControl floods{few()};
  admitted(floods, 20, start);
  CHECK(admitted(floods, 20, start, "bolt/dns") == 3);
  CHECK(floods.admit("an attempt timed out", "acme/dns", start));
}

TEST_CASE("all lines together have a bound too, and what it holds back is told") {
  auto terms = few();
  terms.all = {5, 1};
  FloodControl floods{terms};
  CHECK(admitted(floods, 3, start, "a/a") == 3);
  CHECK(admitted(floods, 3, start, "b/b") == 2);
  CHECK(admitted(floods, 3, start, "c/c") == 0);
  CHECK(floods.all(start) ==
        std::vector<Held>{{"a job failed", "b/b", 1, {}}, {"a job failed", "c/c", 3, {}}});
}

TEST_CASE("the end of a flood is told once, with how many lines were held back") {
  FloodControl floods{few()};
  CHECK_FALSE(floods.holds());
  admitted(floods, 20, start);
  CHECK(floods.holds());
  CHECK(floods.due(start + milliseconds{299}).empty());
  CHECK(floods.due(start + milliseconds{300}) ==
        std::vector<Held>{{"a job failed", "acme/dns", 17, milliseconds{300}}});
  CHECK_FALSE(floods.holds());
  CHECK(floods.due(start + seconds{9}).empty());
}

TEST_CASE("a flood that goes on is told of in each interval") {
  FloodControl floods{few()};
  std::uint64_t written = 0;
  std::uint64_t told = 0;
  int reports = 0;
  for (int ms = 0; ms <= 180'000; ms += 10) {
    const auto now = start + milliseconds{ms};
    written += static_cast<std::uint64_t>(admitted(floods, 1, now));
    for (const Held& held : floods.due(now)) {
      ++reports;
      told += held.count;
    }
  }
  for (const Held& held : floods.all(start + seconds{181})) told += held.count;
  CHECK(reports == 2);  // Each begins with the first line after the last.
  CHECK(written + told == 18'001);
}

TEST_CASE("the table is bounded: things beyond it share one place, until others are quiet") {
  auto terms = few();
  terms.all = {1000, 1000};
  terms.things_max = 4;
  FloodControl floods{terms};
  for (const auto* about : {"a", "b", "c", "d"}) CHECK(admitted(floods, 20, start, about) == 3);
  CHECK(admitted(floods, 2, start, "e") == 2);
  CHECK(admitted(floods, 2, start, "f") == 1);
  const auto held = floods.all(start);
  REQUIRE(held.size() == 5);
  CHECK(held.back() == Held{"a job failed", "others", 1, {}});
  const auto later = start + seconds{2};
  CHECK(admitted(floods, 2, later, "e") == 2);
  CHECK(admitted(floods, 2, later, "f") == 2);
  CHECK_FALSE(floods.holds());
}

}  // namespace
}  // namespace celld::logs
