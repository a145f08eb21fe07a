// Feeds the service manager's watchdog, only while the daemon answers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace celld {

/// Has a thread of its own, which runs until destruction.
class Watchdog {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// `interval` is the service manager's: it kills celld after this much silence. Three times per
  /// interval, the watchdog calls `answers`, with the time that an answer may take, and then
  /// `alive` if it returned true, else `silent`. All of them run on the watchdog's thread.
  struct Duties {
    std::function<bool(milliseconds within)> answers;
    std::function<void()> alive;
    std::function<void()> silent;
  };
  Watchdog(milliseconds interval, Duties duties);
  /// Waits for a call of `answers` in progress to return, but not for the next one.
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
