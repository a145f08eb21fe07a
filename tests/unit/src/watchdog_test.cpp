// The watchdog reports that celld is alive only after the engine has answered.
#include "src/watchdog.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "tests/unit/catch.hpp"

namespace celld {
namespace {

using std::chrono::milliseconds;

/// What a watchdog did, in order.
class Log {
 public:
  void note(char what) {
    const std::lock_guard lock(mutex_);
    text_ += what;
    changed_.notify_all();
  }
  /// The first `size` notes; fewer if they take more than ten seconds.
  std::string first(std::size_t size) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return text_.size() >= size; });
    return text_.substr(0, size);
  }
  std::string all() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
};

TEST_CASE("the watchdog reports after each answer, and only then") {
  Log log;
  std::atomic<int> asked{0};
  std::atomic<std::int64_t> within_ms{0};
  {
    const Watchdog watchdog{milliseconds(30),
                            {[&](milliseconds within) {
                               within_ms = within.count();
                               log.note('?');
                               return ++asked != 2;
                             },
                             [&] { log.note('a'); }, [&] { log.note('s'); }}};
    CHECK(log.first(6) == "?a?s?a");
  }
  CHECK(within_ms == 10);
}

TEST_CASE("a watchdog that ends does not wait for its next turn") {
  Log log;
  {
    const Watchdog watchdog{
        std::chrono::hours(1),
        {[](milliseconds) { return true; }, [&] { log.note('a'); }, [&] { log.note('s'); }}};
    CHECK(log.first(1) == "a");
  }
  CHECK(log.all() == "a");
}

}  // namespace
}  // namespace celld
