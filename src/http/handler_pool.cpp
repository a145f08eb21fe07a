#include "src/http/handler_pool.hpp"

#include <algorithm>
#include <utility>

namespace celld::http {
namespace {

thread_local bool is_handler_thread = false;

}  // namespace

void HandlerPool::start(std::size_t threads) {
  for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

void HandlerPool::finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  available_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  std::deque<std::shared_ptr<Task>> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(queue_);
}

void HandlerPool::submit(std::shared_ptr<Task> task) {
  std::vector<std::shared_ptr<Task>> tasks;
  tasks.push_back(std::move(task));
  submit_all(tasks);
}

void HandlerPool::submit_all(std::vector<std::shared_ptr<Task>>& tasks) {
  if (tasks.empty()) return;
  std::size_t woken = 0;
  {
    const std::lock_guard lock(mutex_);
    // While the pool finishes, its own threads may still submit.
    if (!finished_ || on_handler_thread()) {
      queue_.insert(queue_.end(), std::make_move_iterator(tasks.begin()),
                    std::make_move_iterator(tasks.end()));
      woken = std::min(idle_, tasks.size());
    }
  }
  tasks.clear();
  for (; woken > 0; --woken) available_.notify_one();
}

bool HandlerPool::on_handler_thread() {
  return is_handler_thread;
}

void HandlerPool::work() {
  is_handler_thread = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    available_.wait(lock, [&] { return finished_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    auto task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    task->run();
    task.reset();
    lock.lock();
  }
}

}  // namespace celld::http
