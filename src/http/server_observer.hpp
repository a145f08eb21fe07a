// Observes how a server answers its requests.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace celld::http {

/// What an endpoint serves: a method and a path pattern.
struct Endpoint {
  std::string method;
  std::string pattern;
};

/// For metrics and logs. Every method is cheap and thread-safe. A request whose client left before
/// the answer is not reported.
class ServerObserver {
 public:
  virtual ~ServerObserver() = default;
  /// Called before the server starts. Later calls name an endpoint by its index in this list.
  virtual void serves(const std::vector<Endpoint>&) {}
  /// A request was answered, `took` after it was passed to a handler; a streamed answer counts when
  /// it begins. `endpoint` is empty when none matched. HEAD counts as its GET.
  virtual void answered(std::optional<std::size_t> /*endpoint*/, int /*status*/,
                        std::chrono::microseconds /*took*/) {}
  /// A request or a connection was refused before it reached a handler.
  virtual void refused(int /*status*/) {}
};

}  // namespace celld::http
