// The queue of operations from other threads to the HTTP transport.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "cells/model/ids.hpp"
#include "cells/model/time.hpp"
#include "src/providers/http/exchange.hpp"
#include "src/providers/http/host_names.hpp"

namespace celld::providers {

/// May outlive its transport: from then on, calls end `aborted` and aborts are confirmed, both
/// immediately.
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
  /// The end of a look-up.
  struct HostFound {
    std::string name;
    HostAddresses found;
  };
  using Operation = std::variant<Start, Abort, HostFound>;

  HttpCallQueue();
  ~HttpCallQueue();
  HttpCallQueue(const HttpCallQueue&) = delete;
  HttpCallQueue& operator=(const HttpCallQueue&) = delete;

  /// Makes a call; `ended` is called exactly once. A second call under one lease ends `aborted` and
  /// leaves the first alone. Callbacks run on the transport's thread (on the caller's, once the
  /// transport is gone), so they must be cheap and must not throw.
  void start(const cells::Lease& lease, HttpRequest request, Ended ended);

  /// Aborts the call under `lease`, if there is one, whichever provider started it. Calls `gone`
  /// once, after `ended`, when the call's socket is closed.
  void abort(const cells::Lease& lease, Gone gone);

  /// Tells the transport how a look-up of its own ended.
  void host_found(const std::string& name, HostAddresses found);

  // --- For the transport's thread -------------------------------------------------------------

  /// Readable when there are operations to take or a stop is requested.
  int wake_fd() const { return wake_fd_; }
  /// All operations since the last call, in order; clears the wake-up.
  std::vector<Operation> take();
  bool stop_requested();
  /// Ends the remaining calls `aborted` and confirms the remaining aborts. From now on, does the
  /// same with every operation immediately. No call may be in flight.
  void close();

  /// Asks the transport to end. From any thread.
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
