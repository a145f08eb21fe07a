// The door to the HTTP transport: what other threads ask of it, in order.
#pragma once

#include <functional>
#include <mutex>
#include <variant>
#include <vector>

#include "cells/model/ids.hpp"
#include "cells/model/time.hpp"
#include "src/providers/http_exchange.hpp"

namespace celld::providers {

/// May outlive its transport: then calls end `aborted` and aborts are confirmed, both at once.
class HttpCallQueue {
 public:
  using Ended = std::function<void(HttpResult)>;
  using Gone = std::function<void()>;

  struct Start {
    cells::Lease lease;
    HttpRequest request;
    cells::SteadyTime deadline;
    Ended ended;
  };
  struct Abort {
    cells::Lease lease;
    Gone gone;
  };
  using Operation = std::variant<Start, Abort>;

  HttpCallQueue();
  ~HttpCallQueue();
  HttpCallQueue(const HttpCallQueue&) = delete;
  HttpCallQueue& operator=(const HttpCallQueue&) = delete;

  /// Makes a call; `ended` is called exactly once. A lease that already has a call ends `aborted`
  /// and leaves that call alone. Callbacks run on the transport's thread (on the caller's, once the
  /// transport has gone), so they must be cheap and must not throw.
  void start(const cells::Lease& lease, HttpRequest request, Ended ended);

  /// Ends the call under `lease`, if there is one, whoever started it. `gone` is called once when
  /// its socket is closed and its `ended` was called.
  void abort(const cells::Lease& lease, Gone gone);

  // --- For the transport's thread -------------------------------------------------------------

  /// Readable when there is something to take, or the transport is to stop.
  int wake_fd() const { return wake_fd_; }
  /// All operations since the last call, in order; clears the wake-up.
  std::vector<Operation> take();
  bool stop_requested();
  /// Ends or confirms what is left and, from now on, every operation at once. No call is in flight.
  void close();

  /// From any thread: the transport is to end.
  void request_stop();

 private:
  void push(Operation operation);
  void wake() const;
  static void refuse(Operation& operation);

  int wake_fd_;
  std::mutex mutex_;
  std::vector<Operation> operations_;
  bool stop_requested_ = false;
  bool closed_ = false;
};

}  // namespace celld::providers
