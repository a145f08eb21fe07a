#include "src/cli/worker/worker_log.hpp"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace celld::cli {

struct WorkerLog::Queue {
  std::function<void(const std::string&)> write;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> lines;
  std::size_t lost = 0;
  bool closed = false;   ///< No line will follow.
  bool written = false;  ///< The thread has ended.
};

WorkerLog::WorkerLog(bool quiet, std::function<void(const std::string&)> write,
                     std::chrono::milliseconds patience)
    : quiet_(quiet), patience_(patience), queue_(std::make_shared<Queue>()) {
  queue_->write = std::move(write);
  // The thread inherits the mask: signals are for the thread that waits for them.
  sigset_t all;
  sigset_t former;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  std::thread([queue = queue_] { write_lines(*queue); }).detach();
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
}

WorkerLog::~WorkerLog() {
  std::unique_lock lock(queue_->mutex);
  queue_->closed = true;
  queue_->changed.notify_all();
  queue_->changed.wait_for(lock, patience_, [this] { return queue_->written; });
}

void WorkerLog::note(const std::string& text) const {
  if (!quiet_) problem(text);
}

void WorkerLog::problem(const std::string& text) const {
  const std::lock_guard lock(queue_->mutex);
  if (queue_->lines.size() >= lines_max) {
    ++queue_->lost;
    return;
  }
  queue_->lines.push_back(text);
  queue_->changed.notify_all();
}

/// Without the lock of `stderr`, which the end of the process might wait for.
void WorkerLog::print_line(const std::string& text) {
  const std::string line = "cellctl: " + text + "\n";
  for (std::string_view left = line; !left.empty();) {
    const auto written = ::write(STDERR_FILENO, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // Another program may have set O_NONBLOCK.
      pollfd room{STDERR_FILENO, POLLOUT, 0};
      ::poll(&room, 1, -1);
      continue;
    }
    if (written <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

void WorkerLog::write_lines(Queue& queue) {
  std::unique_lock lock(queue.mutex);
  for (;;) {
    queue.changed.wait(lock,
                       [&] { return !queue.lines.empty() || queue.lost > 0 || queue.closed; });
    std::string line;
    if (!queue.lines.empty()) {
      line = std::move(queue.lines.front());
      queue.lines.pop_front();
    } else if (const auto lost = std::exchange(queue.lost, 0); lost > 0) {
      line = std::to_string(lost) + " lines of this log were lost: nothing read them in time";
    } else {
      break;
    }
    lock.unlock();
    queue.write(line);
    lock.lock();
  }
  queue.written = true;
  queue.changed.notify_all();
}

}  // namespace celld::cli
