#include "src/alarm.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>

#include "tests/unit/catch.hpp"

namespace {

using celld::Alarm;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Waits until an alarm rings.
class Bell {
 public:
  void set(milliseconds delay) { alarm_.set(delay); }
  void set(hours delay) { alarm_.set(delay); }
  void wait() { rung_.wait(); }

 private:
  std::latch rung_{1};
  Alarm alarm_{[this] { rung_.count_down(); }};
};

}  // namespace

TEST_CASE("an alarm rings once its time has passed, and not before") {
  Bell bell;
  const auto begin = steady_clock::now();
  bell.set(milliseconds{1001});
  bell.wait();
  CHECK(steady_clock::now() - begin >= milliseconds{1001});
}

TEST_CASE("the time set last replaces the one before") {
  Bell bell;
  bell.set(hours{1});
  bell.set(milliseconds{1});
  bell.wait();
}

TEST_CASE("an alarm of no delay rings") {
  Bell bell;
  bell.set(milliseconds{0});
  bell.wait();
}

TEST_CASE("an alarm ends although its ring sets it again meanwhile") {
  std::latch rung{1};
  std::atomic<Alarm*> set_again{nullptr};
  {
    Alarm alarm{[&] {
      rung.count_down();
      for (int n = 0; n < 100'000; ++n) set_again.load()->set(hours{1});
    }};
    set_again = &alarm;
    alarm.set(milliseconds{0});
    rung.wait();
  }
}

TEST_CASE("an alarm that is cleared does not ring, and can be set again") {
  constexpr milliseconds soon{20};
  std::atomic<int> rings{0};
  std::latch rung{1};
  Alarm alarm{[&] {
    ++rings;
    rung.count_down();
  }};
  steady_clock::time_point begin;
  do {  // Until the thread was quick enough to clear the alarm before its time.
    rings = 0;
    begin = steady_clock::now();
    alarm.set(soon);
    alarm.clear();
  } while (steady_clock::now() - begin >= soon);
  Bell later;
  later.set(2 * soon);
  later.wait();
  CHECK(rings == 0);
  alarm.set(milliseconds{1});
  rung.wait();
  CHECK(rings == 1);
}

TEST_CASE("an alarm may be set again when it rings") {
  std::latch rung{3};
  std::atomic<Alarm*> itself{nullptr};
  std::atomic<int> rings{0};
  Alarm alarm{[&] {
    if (++rings < 3) itself.load()->set(microseconds{100});
    rung.count_down();
  }};
  itself = &alarm;
  alarm.set(microseconds{100});
  rung.wait();
  CHECK(rings == 3);
}

TEST_CASE("an alarm ends whether or not it is set") {
  for (int i = 0; i < 100; ++i) {
    const auto rings = std::make_unique<std::atomic<int>>(0);
    Alarm unset{[&] { ++*rings; }};
    Alarm pending{[&] { ++*rings; }};
    pending.set(hours{1});
    Alarm due{[&] { ++*rings; }};
    due.set(microseconds{i});
  }
}
