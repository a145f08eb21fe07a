// A flood is visible, and its lines stay few.
#include "src/logs/flood_control.hpp"

#include "tests/unit/catch.hpp"

namespace celld::logs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Held = FloodControl::Held;

const FloodControl::Time start{std::chrono::hours{1}};

FloodControl::Limits few() {
  FloodControl::Limits limits;
  limits.each = {3, 10};
  limits.all = {100, 100};
  return limits;
}

/// How many of `count` simultaneous lines are written.
int admitted(FloodControl& floods, int count, FloodControl::Time now,
             const std::string& about = "acme/dns") {
  int written = 0;
  for (int i = 0; i < count; ++i) written += floods.admit("a job failed", about, now) ? 1 : 0;
  return written;
}

TEST_CASE("a burst is written in full, and then as much as the rate allows") {
  FloodControl floods{few()};
  CHECK(admitted(floods, 20, start) == 3);
  CHECK(admitted(floods, 20, start + milliseconds{99}) == 0);
  CHECK(admitted(floods, 20, start + milliseconds{100}) == 1);
  CHECK(admitted(floods, 20, start + milliseconds{300}) == 2);
  CHECK(admitted(floods, 20, start + seconds{60}) == 3);
}

TEST_CASE("a long flood writes the burst and the rate, and no more") {
  FloodControl floods{few()};
  int written = 0;
  for (int ms = 0; ms < 10'000; ++ms) written += admitted(floods, 1, start + milliseconds{ms});
  CHECK(written == 3 + 99);
}

TEST_CASE("lines about another subject are not suppressed with a flood") {
  FloodControl floods{few()};
  admitted(floods, 20, start);
  CHECK(admitted(floods, 20, start, "bolt/dns") == 3);
  CHECK(floods.admit("an attempt timed out", "acme/dns", start));
}

TEST_CASE("all lines together have a limit, too, and the lines it suppresses are reported") {
  auto limits = few();
  limits.all = {5, 1};
  FloodControl floods{limits};
  CHECK(admitted(floods, 3, start, "a/a") == 3);
  CHECK(admitted(floods, 3, start, "b/b") == 2);
  CHECK(admitted(floods, 3, start, "c/c") == 0);
  CHECK(floods.all(start) ==
        std::vector<Held>{{"a job failed", "b/b", 1, {}}, {"a job failed", "c/c", 3, {}}});
}

TEST_CASE("the end of a flood is reported once, with the number of suppressed lines") {
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

TEST_CASE("a flood that continues is reported in each interval") {
  FloodControl floods{few()};
  std::uint64_t written = 0;
  std::uint64_t reported = 0;
  int reports = 0;
  for (int ms = 0; ms <= 180'000; ms += 10) {
    const auto now = start + milliseconds{ms};
    written += static_cast<std::uint64_t>(admitted(floods, 1, now));
    for (const Held& held : floods.due(now)) {
      ++reports;
      reported += held.count;
    }
  }
  for (const Held& held : floods.all(start + seconds{181})) reported += held.count;
  CHECK(reports == 2);  // An interval starts with the first line after the last report.
  CHECK(written + reported == 18'001);
}

TEST_CASE("the table is bounded: further subjects share a bucket until others are quiet") {
  auto limits = few();
  limits.all = {1000, 1000};
  limits.subjects_max = 4;
  FloodControl floods{limits};
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

TEST_CASE("a full table keeps suppressed lines until they have been reported") {
  auto limits = few();
  limits.subjects_max = 1;
  FloodControl floods{limits};
  admitted(floods, 20, start, "a");
  const auto later = start + seconds{2};
  CHECK(admitted(floods, 1, later, "b") == 1);
  CHECK(floods.due(later) == std::vector<Held>{{"a job failed", "a", 17, seconds{2}}});
  CHECK_FALSE(floods.holds());
}

}  // namespace
}  // namespace celld::logs
