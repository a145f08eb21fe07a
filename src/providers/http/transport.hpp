// Makes the HTTP calls of all services on one thread, with libcurl's multi interface.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "src/providers/http/call_queue.hpp"
#include "src/providers/http/exchange.hpp"

namespace celld::providers {

/// calls() starts and aborts calls, thousands at a time. A call ends at its timeout, uses no more
/// memory than the limits allow, follows no redirect, and is never sent twice.
class HttpTransport {
 public:
  /// `lend_thread` is called with what reports the end of a call with a small answer. It calls its
  /// argument once, and may use the transport's thread for a moment more. Null: the end is just
  /// reported.
  explicit HttpTransport(HttpLimits limits = {},
                         std::function<void(const std::function<void()>&)> lend_thread = nullptr);
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
