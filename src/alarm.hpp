// An alarm clock that is cheap to set: a thread waits for a kernel timer.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace celld {

/// Calls a function after a delay, on a thread of its own. Setting or clearing the alarm is one
/// system call and wakes no thread. Thread-safe.
class Alarm {
 public:
  /// `ring` may set the alarm again.
  explicit Alarm(std::function<void()> ring);
  /// Waits for a call of `ring` in progress to return.
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  /// Replaces an earlier time.
  void set(std::chrono::nanoseconds delay);
  /// A call of `ring` may have begun already.
  void clear();

 private:
  void wait();

  std::function<void()> ring_;
  int timer_;  ///< A timerfd.
  std::atomic<bool> ended_{false};
  std::thread waiter_;
};

}  // namespace celld
