// Makes calls through an HTTP transport and waits for them to end.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "src/providers/http/transport.hpp"
#include "tests/unit/catch.hpp"

namespace celld::test {

inline constexpr std::chrono::seconds patience{20};          // Beyond every timeout of these tests.
inline constexpr std::chrono::milliseconds tolerance{1000};  // For sanitizers and busy machines.

inline providers::HttpRequest request_to(
    std::string url, std::chrono::milliseconds timeout = std::chrono::milliseconds{10'000}) {
  return {std::move(url), {"Expect:", "Content-Type: application/json"}, R"({"a":1})", timeout};
}

/// While it exists, the process can open no descriptor beyond those that it has.
class NoDescriptors {
 public:
  NoDescriptors() {
    const int lowest_free = ::dup(0);
    ::close(lowest_free);
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{static_cast<rlim_t>(lowest_free), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

class Calls {
 public:
  explicit Calls(providers::HttpLimits limits = {}) : transport_(limits) {}

  std::future<providers::HttpResult> start(const cells::Lease& lease,
                                           providers::HttpRequest request) {
    auto promise = std::make_shared<std::promise<providers::HttpResult>>();
    transport_.calls()->start(lease, std::move(request), [promise](providers::HttpResult result) {
      promise->set_value(std::move(result));
    });
    return promise->get_future();
  }
  std::future<void> abort(const cells::Lease& lease) {
    auto promise = std::make_shared<std::promise<void>>();
    transport_.calls()->abort(lease, [promise] { promise->set_value(); });
    return promise->get_future();
  }
  /// Blocks the transport's thread until `go_on`; returns once it is blocked.
  void hold(std::shared_future<void> go_on) {
    auto held = std::make_shared<std::promise<void>>();
    auto blocked = held->get_future();
    transport_.calls()->abort(next_lease(), [held, go_on = std::move(go_on)] {
      held->set_value();
      go_on.wait_for(patience);
    });
    REQUIRE(blocked.wait_for(patience) == std::future_status::ready);
  }
  /// Makes one call and waits for its end.
  providers::HttpResult make(providers::HttpRequest request) {
    auto result = start(next_lease(), std::move(request));
    REQUIRE(result.wait_for(patience) == std::future_status::ready);
    return result.get();
  }
  cells::Lease next_lease() { return leases_.next(); }

 private:
  providers::HttpTransport transport_;
  cells::LeaseSource leases_{1};
};

}  // namespace celld::test
