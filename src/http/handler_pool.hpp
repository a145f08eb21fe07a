// The threads that run handlers.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace celld::http {

class Task {
 public:
  virtual ~Task() = default;
  virtual void run() noexcept = 0;
  /// Whether running the task takes less time than waking a thread. Constant once submitted.
  virtual bool brief() const { return false; }
};

class HandlerPool {
 public:
  ~HandlerPool() { finish(); }

  void start(std::size_t threads);
  /// Runs the queued tasks, and those that they submit, then joins the threads. Other tasks
  /// submitted meanwhile or afterwards are dropped.
  void finish();

  void submit(std::shared_ptr<Task> task);
  /// Submits all of `tasks`, and empties it.
  void submit_all(std::vector<std::shared_ptr<Task>>& tasks);

  /// Whether the caller runs on a handler thread, of any pool.
  static bool on_handler_thread();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable available_;
  std::deque<std::shared_ptr<Task>> queue_;
  std::size_t idle_ = 0;
  bool finished_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace celld::http
