// Tells the service manager that celld is alive, only while its engine answers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace celld {

/// One thread, which asks and tells by turns until the watchdog goes.
class Watchdog {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// `interval` is the service manager's: celld is killed when it is silent for so long. Asks
  /// `answers` three times within it, each time for as long as an answer may take, and calls
  /// `alive` after a true one and `silent` after a false one. All are called on the watchdog's
  /// thread.
  struct Duties {
    std::function<bool(milliseconds within)> answers;
    std::function<void()> alive;
    std::function<void()> silent;
  };
  Watchdog(milliseconds interval, Duties duties);
  /// Waits for an answer that is being waited for.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void run();

  const milliseconds pause_;
  const Duties duties_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace celld
