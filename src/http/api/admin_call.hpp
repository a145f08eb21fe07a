// What the audit of an administrator's request is told.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace celld::api {

struct AdminCall {
  std::string token;   ///< Its name, also where it was not enough; empty: none that celld knows.
  std::string remote;  ///< The address of the client's socket.
  std::string method;
  std::string path;      ///< Without the query.
  bool admitted = true;  ///< False: the token, its scope or the origin did not let it in.
  std::optional<std::uint32_t> size{};  ///< Of a pool, where one was asked for.
  int status = 0;  ///< Of the answer; of a client that did not wait, what it would have got.
};

/// Told once of each call, when it is answered, from any thread; must not block.
using Audit = std::function<void(const AdminCall& call)>;

}  // namespace celld::api
