// The audit record of a request to an endpoint of scope `admin`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace celld::api {

struct AdminCall {
  std::string token;   ///< Its name, even if its scopes did not suffice; empty: no valid token.
  std::string remote;  ///< The peer address of the socket.
  std::string method;
  std::string path;      ///< Without the query.
  bool admitted = true;  ///< False: refused for its token, scope or origin.
  // What was requested of a pool, if anything.
  std::optional<std::uint32_t> size{};
  std::optional<std::uint32_t> burst{};
  std::optional<std::uint32_t> weight{};
  int status = 0;  ///< Of the response, even if the client had disconnected by then.
};

/// Called once for each request when it is answered, from any thread; must not block.
using Audit = std::function<void(const AdminCall& call)>;

}  // namespace celld::api
