// Hears how the requests of a server go.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace celld::http {

/// What a endpoint serves: a method, and the pattern of a path.
struct Endpoint {
  std::string method;
  std::string pattern;
};

/// For metrics and logs; every method is cheap, and safe to call from several threads. A request
/// that a client gave up before its answer is not told of.
class ServerObserver {
 public:
  virtual ~ServerObserver() = default;
  /// Before the server starts: the endpoints that are named by their index from then on.
  virtual void serves(const std::vector<Endpoint>&) {}
  /// A request is answered, `took` after it was handed to a handler; a stream, when it begins.
  /// Without an endpoint it was for no endpoint. HEAD counts as the GET that it asks about.
  virtual void answered(std::optional<std::size_t> /*endpoint*/, int /*status*/,
                        std::chrono::microseconds /*took*/) {}
  /// A request, or a connection, is refused before there is a request for a handler.
  virtual void refused(int /*status*/) {}
};

}  // namespace celld::http
