#include "src/logs/log.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <spdlog/async_logger.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/base_sink.h>

namespace celld::logs {
namespace {

/// How often floods are checked for reports.
constexpr std::chrono::seconds report_interval{1};

spdlog::level::level_enum spdlog_level(Level level) {
  return static_cast<spdlog::level::level_enum>(static_cast<int>(level) + SPDLOG_LEVEL_DEBUG);
}

Level level_of(spdlog::level::level_enum level) {
  return static_cast<Level>(static_cast<int>(level) - SPDLOG_LEVEL_DEBUG);
}
static_assert(SPDLOG_LEVEL_CRITICAL - SPDLOG_LEVEL_DEBUG == static_cast<int>(Level::critical));

/// Threads started during its life block all signals, which other threads handle.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// Writes the lines that the queue's thread hands over, and reports how many the queue has lost.
class Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  Sink(std::FILE* file, Format format, spdlog::details::thread_pool& queue)
      : file_(file), format_(format), queue_(queue) {}

  /// Waits until this many lines have been written or lost; false when that takes too long.
  bool wait_for(std::uint64_t lines, std::chrono::milliseconds within) {
    std::unique_lock lock(written_mutex_);
    return written_changed_.wait_for(lock, within,
                                     [&] { return written_ + queue_.overrun_counter() >= lines; });
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const auto since_1970 = message.time.time_since_epoch();
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
    report_losses(now);
    put(finish(now, level_of(message.level), {message.payload.data(), message.payload.size()},
               format_));
    const std::lock_guard lock(written_mutex_);
    written_ += 1;
    written_changed_.notify_all();
  }

  void flush_() override {}

 private:
  void report_losses(std::int64_t now) {
    const std::uint64_t overrun = queue_.overrun_counter();
    if (report_loss(now, "log lines were lost: they arrived faster than they were written",
                    overrun - reported_))
      reported_ = overrun;
    const auto unwritten = std::exchange(unwritten_, 0);
    if (!report_loss(now, "log lines were lost: they could not be written", unwritten))
      unwritten_ += unwritten;
  }

  /// False: the report could not be written either.
  bool report_loss(std::int64_t now, std::string_view what, std::uint64_t count) {
    if (count == 0) return true;
    Line line{Level::warning, what};
    line.number("count", count);
    return write(finish(now, line.level(), render(line, format_), format_));
  }

  void put(const std::string& line) {
    if (!write(line)) ++unwritten_;
  }

  /// Writes the line in one piece if possible. Another process that shares standard error may
  /// have made it non-blocking. False: an error kept it from being written, at least from some byte
  /// on.
  bool write(const std::string& line) {
    if (is_cut_ && !write_all("\n")) return false;
    is_cut_ = false;
    return write_all(line);
  }

  bool write_all(std::string_view text) {
    const int descriptor = ::fileno(file_);
    const auto size = text.size();
    while (!text.empty()) {
      const auto written = ::write(descriptor, text.data(), text.size());
      if (written >= 0) {
        text.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno == EAGAIN) {
        pollfd room{descriptor, POLLOUT, 0};
        ::poll(&room, 1, -1);
      } else if (errno != EINTR) {
        is_cut_ = is_cut_ || text.size() < size;
        return false;
      }
    }
    return true;
  }

  std::FILE* const file_;
  const Format format_;
  spdlog::details::thread_pool& queue_;
  std::uint64_t reported_ = 0;   ///< Lines that the queue has lost.
  std::uint64_t unwritten_ = 0;  ///< Lines to report that could not be written.
  bool is_cut_ = false;          ///< The last line ended in the middle.
  std::mutex written_mutex_;
  std::condition_variable written_changed_;
  std::uint64_t written_ = 0;
};

}  // namespace

class Log::Impl {
 public:
  Impl(Settings settings, std::FILE* file) : settings_(settings), floods_(settings.floods) {
    const SignalsBlocked for_its_threads;
    queue_ = std::make_shared<spdlog::details::thread_pool>(settings.queue_lines_max, 1);
    sink_ = std::make_shared<Sink>(file, settings.format, *queue_);
    logger_ = std::make_shared<spdlog::async_logger>("celld", sink_, queue_,
                                                     spdlog::async_overflow_policy::overrun_oldest);
    logger_->set_level(spdlog_level(settings.level));
    reporter_ = std::jthread([this](const std::stop_token& stop) { report_floods(stop); });
  }

  bool wants(Level level) const { return level >= settings_.level; }

  void write(const Line& line) {
    if (!wants(line.level())) return;
    const std::string text = render(line, settings_.format);
    logger_->log(spdlog_level(line.level()), spdlog::string_view_t(text.data(), text.size()));
    handed_over_ += 1;
  }

  void write_limited(const Line& line, std::string_view about) {
    if (!wants(line.level())) return;
    {
      const std::lock_guard lock(floods_mutex_);
      if (!floods_.admit(line.message(), about, FloodControl::Clock::now())) {
        floods_changed_.notify_one();
        return;
      }
    }
    write(line);
  }

  bool finish(std::chrono::milliseconds within) {
    std::unique_lock lock(floods_mutex_);
    const auto floods = floods_.all(FloodControl::Clock::now());
    lock.unlock();
    write_reports(floods);
    return sink_->wait_for(handed_over_, within);
  }

 private:
  void report_floods(const std::stop_token& stop) {
    std::unique_lock lock(floods_mutex_);
    while (floods_changed_.wait(lock, stop, [this] { return floods_.holds(); })) {
      const auto floods = floods_.due(FloodControl::Clock::now());
      lock.unlock();
      write_reports(floods);
      lock.lock();
      floods_changed_.wait_for(lock, stop, report_interval, [] { return false; });
    }
  }

  /// So that the report appears wherever the suppressed lines would have.
  void write_reports(const std::vector<FloodControl::Held>& floods) {
    for (const auto& held : floods) {
      const auto over = std::chrono::duration_cast<std::chrono::milliseconds>(held.over);
      Line line{std::max(Level::warning, settings_.level), "similar lines were suppressed"};
      line.text("like", held.kind).number("count", held.count);
      if (!held.about.empty()) line.text("about", held.about);
      write(line.number("over_ms", static_cast<std::uint64_t>(over.count())));
    }
  }

  const Settings settings_;
  std::shared_ptr<Sink> sink_;  // Destroyed after the queue, whose thread may still write to it.
  std::shared_ptr<spdlog::details::thread_pool> queue_;
  std::shared_ptr<spdlog::async_logger> logger_;
  std::atomic<std::uint64_t> handed_over_{0};
  std::mutex floods_mutex_;
  std::condition_variable_any floods_changed_;
  FloodControl floods_;
  std::jthread reporter_;
};

Log::Log(Settings settings, std::FILE* file) : impl_(std::make_unique<Impl>(settings, file)) {}

Log::~Log() = default;

bool Log::wants(Level level) const {
  return impl_->wants(level);
}

void Log::write(const Line& line) {
  impl_->write(line);
}

void Log::write_limited(const Line& line, std::string_view about) {
  impl_->write_limited(line, about);
}

bool Log::finish(std::chrono::milliseconds within) {
  return impl_->finish(within);
}

}  // namespace celld::logs
