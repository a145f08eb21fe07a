// The door to the command transport: what other threads ask of it, in order.
#pragma once

#include <functional>
#include <mutex>
#include <variant>
#include <vector>

#include "cells/model/ids.hpp"
#include "cells/model/time.hpp"
#include "src/providers/command_exchange.hpp"

namespace celld::providers {

/// May outlive its transport: then calls end `aborted` and aborts are confirmed, both at once.
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
  using Order = std::variant<Prepare, Start, Abort>;

  /// There will be calls: what the first one would wait for is made ready.
  void prepare();

  /// Runs a command; `ended` is called exactly once. A lease that already has a call ends `aborted`
  /// and leaves that call alone. Callbacks run on the transport's thread (on the caller's, once the
  /// transport has gone), so they must be cheap and must not throw.
  void start(const cells::Lease& lease, CommandRequest request, Ended ended);

  /// Ends the call under `lease`, if there is one, whoever started it. `gone` is called once when
  /// nothing of its group is left and its `ended` was called.
  void abort(const cells::Lease& lease, Gone gone);

  // --- For the transport's thread -------------------------------------------------------------

  /// `wake` is called, from any thread until close(), when there is something to take.
  void open(std::function<void()> wake);
  /// All orders since the last call, in order.
  std::vector<Order> take();
  bool stop_requested();
  /// Ends or confirms what is left and, from now on, every order at once.
  void close();

  /// From any thread: the transport is to end.
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
