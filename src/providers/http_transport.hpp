// Makes the HTTP calls of all services: one thread, libcurl's multi interface, thousands in flight.
#pragma once

#include <memory>
#include <thread>

#include "src/providers/http_call_queue.hpp"
#include "src/providers/http_exchange.hpp"

namespace celld::providers {

/// Calls are started and aborted through calls(). A call is over at its timeout, holds no more
/// memory than the limits say, follows no redirect, and is never sent twice.
class HttpTransport {
 public:
  explicit HttpTransport(HttpLimits limits = {});
  /// Ends all calls `aborted`, and joins the thread.
  ~HttpTransport();
  HttpTransport(const HttpTransport&) = delete;
  HttpTransport& operator=(const HttpTransport&) = delete;

  /// May be kept beyond the transport's life.
  const std::shared_ptr<HttpCallQueue>& calls() const { return calls_; }

 private:
  std::shared_ptr<HttpCallQueue> calls_;
  std::thread thread_;
};

}  // namespace celld::providers
