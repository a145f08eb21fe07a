// Makes the HTTP calls of all services on one thread, with libcurl's multi interface.
#pragma once

#include <memory>
#include <thread>

#include "src/help_actors.hpp"
#include "src/providers/http/call_queue.hpp"
#include "src/providers/http/exchange.hpp"

namespace celld::providers {

/// calls() starts and aborts calls, thousands at a time. A call ends at its timeout, uses no more
/// memory than the limits allow, follows no redirect, and is never sent twice.
class HttpTransport {
 public:
  /// `help_actors` may be null. It receives the function that reports the end of a call with a
  /// small answer.
  explicit HttpTransport(HttpLimits limits = {}, HelpActors help_actors = nullptr);
  /// Ends all calls `aborted`, and joins the thread.
  ~HttpTransport();
  HttpTransport(const HttpTransport&) = delete;
  HttpTransport& operator=(const HttpTransport&) = delete;

  /// May outlive the transport.
  const std::shared_ptr<HttpCallQueue>& calls() const { return calls_; }

 private:
  std::shared_ptr<HttpCallQueue> calls_;
  std::thread thread_;
};

}  // namespace celld::providers
