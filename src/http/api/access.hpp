// Access control: which requests are admitted, and which customers each may access. celld stores
// only the digests of tokens; it never stores, shows or logs a token itself.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/config/config.hpp"
#include "src/http/api/bound_customer.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/server.hpp"

namespace celld::api {

using config::Scope;

/// Immutable; shared by all handler threads.
class AccessControl {
 public:
  /// Without tokens, no request needs one; celld then listens on loopback only.
  explicit AccessControl(std::vector<config::Token> tokens = {}) : tokens_(std::move(tokens)) {}

  /// Checks the origin (without tokens, the `Host` as well), then the token, then its scope, and
  /// returns the first problem. An endpoint without a scope is open to every client, with or
  /// without a token.
  std::variant<BoundCustomer, Problem> admit(const http::Request& request,
                                             std::optional<Scope> scope) const;

  /// The only services that the request's token may work for; none: all.
  std::optional<std::set<std::string>> services_of(const http::Request& request) const;

  /// The name of the request's token, whatever its scopes; empty when it has no valid token.
  std::string token_name(const http::Request& request) const;

  bool operator==(const AccessControl&) const = default;

 private:
  const config::Token* token_of(const http::Request& request) const;

  std::vector<config::Token> tokens_;
};

}  // namespace celld::api
