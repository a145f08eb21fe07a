// The queue of orders from other threads to the command transport.
#pragma once

#include <functional>
#include <mutex>
#include <variant>
#include <vector>

#include "cells/model/ids.hpp"
#include "cells/model/time.hpp"
#include "src/providers/command/exchange.hpp"

namespace celld::providers {

/// May outlive its transport: from then on, calls end `aborted` and aborts are confirmed, both
/// immediately.
class CommandCalls {
 public:
  using Ended = std::function<void(CommandResult)>;
  using Gone = std::function<void()>;

  struct Prepare {};
  struct Start {
    cells::Lease lease;
    CommandRequest request;
    cells::SteadyTime deadline;
    Ended ended;
  };
  struct Abort {
    cells::Lease lease;
    Gone gone;
  };
  struct Signal {
    cells::Lease lease;
    int number;
  };
  using Order = std::variant<Prepare, Start, Abort, Signal>;

  /// Starts the supervisor now, so that the first call need not wait for it.
  void prepare();

  /// Runs a command; `ended` is called exactly once. A second call under one lease ends `aborted`
  /// and leaves the first alone. Callbacks run on the transport's thread (on the caller's, once the
  /// transport is gone), so they must be cheap and must not throw.
  void start(const cells::Lease& lease, CommandRequest request, Ended ended);

  /// Aborts the call under `lease`, if there is one, whichever provider started it. Calls `gone`
  /// once, after `ended`, when nothing of the command's process group is left.
  void abort(const cells::Lease& lease, Gone gone);

  /// Sends a signal to the process group of the call under `lease`, if there is one. The result
  /// of the call says how the command ended.
  void signal(const cells::Lease& lease, int number);

  // --- For the transport's thread -------------------------------------------------------------

  /// From now until close(), `wake` is called, from any thread, when there are orders to take or a
  /// stop is requested.
  void open(std::function<void()> wake);
  /// All orders since the last call, in order.
  std::vector<Order> take();
  bool stop_requested();
  /// Ends the remaining calls `aborted` and confirms the remaining aborts. From now on, does the
  /// same with every order immediately.
  void close();

  /// Asks the transport to end. From any thread.
  void request_stop();

 private:
  void push(Order order);
  static void refuse(Order& order);

  std::mutex mutex_;
  std::function<void()> wake_;
  std::vector<Order> orders_;
  bool stop_requested_ = false;
  bool closed_ = false;
};

}  // namespace celld::providers
