// The events that wake the main thread: signals, reload requests, and failures of the daemon's
// parts.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "src/http/api/reload.hpp"

namespace celld {

/// Must be created before any other thread, so that every thread inherits the signal mask.
class Events {
 public:
  enum class Kind {
    stop,           ///< SIGTERM or SIGINT.
    hang_up,        ///< SIGHUP.
    reload,         ///< A client requested it and waits for `answer`.
    store_failed,   ///< The store can no longer commit; `detail` says why.
    engine_failed,  ///< The cell dispatcher ended unexpectedly.
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

  /// Refuses reloads, both waiting and later ones: the main thread no longer waits for events.
  void refuse_reloads();

  /// Waits for the next event. A request to stop comes before any reload.
  Event wait();

  /// Whether wait() would return a request to stop. From any thread.
  bool stop_is_waiting() const;

 private:
  int stops_ = -1;     ///< A signalfd.
  int hang_ups_ = -1;  ///< A signalfd.
  int failures_ = -1;  ///< An eventfd.
  int reloads_ = -1;   ///< An eventfd that counts what is in `asked_`.
  mutable std::mutex mutex_;
  Event failure_;
  bool failed_ = false;
  bool refuses_reloads_ = false;
  std::deque<api::ReloadAnswer> asked_;
};

}  // namespace celld
