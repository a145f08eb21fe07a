// What wakes the main thread: signals, and failures in the daemon's own parts.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "src/http/api/reload.hpp"

namespace celld {

/// Created before any other thread, so that every thread inherits the signal mask.
class Events {
 public:
  enum class Kind {
    stop,           ///< SIGTERM or SIGINT.
    hang_up,        ///< SIGHUP.
    reload,         ///< Somebody asked for it and waits for `answer`.
    store_failed,   ///< The store cannot commit any more; `detail` says why.
    engine_failed,  ///< The cell dispatcher ended by itself.
  };
  struct Event {
    Kind kind = Kind::stop;
    std::string detail;
    api::ReloadAnswer answer{};
  };

  Events();
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// From any thread; the first failure counts.
  void fail(Kind kind, std::string detail);

  /// The detail of the first failure, if there was one. From any thread.
  std::optional<std::string> failure() const;

  /// From any thread.
  void ask_reload(api::ReloadAnswer answer);

  /// Nobody waits for events any more: reloads that were asked for, or will be, are refused.
  void refuse_reloads();

  /// Waits for the next event.
  Event wait();

 private:
  int signals_ = -1;   ///< A signalfd.
  int failures_ = -1;  ///< An eventfd.
  int reloads_ = -1;   ///< An eventfd that counts what is in `asked_`.
  mutable std::mutex mutex_;
  Event failure_;
  bool failed_ = false;
  bool refuses_reloads_ = false;
  std::deque<api::ReloadAnswer> asked_;
};

}  // namespace celld
