// Who may make a request, and whom it may concern. Tokens are known by their digests only; a token
// itself is never kept, shown or logged.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/config/config.hpp"
#include "src/http/api/admin_call.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/server.hpp"

namespace celld::api {

using config::Scope;

/// What an admitted request may concern.
struct Access {
  std::optional<std::string> customer{};  ///< Only this one: all else is as if it did not exist.
  std::shared_ptr<AdminCall>
      admin_call{};  ///< Of a endpoint for administrators: what the audit hears.
};

/// True when something of `customer` exists for a request that may concern `only_customer`.
bool may_concern(const std::optional<std::string>& only_customer, std::string_view customer);

/// Immutable; shared by all handler threads.
class AccessControl {
 public:
  /// Without tokens everybody may do everything: celld then listens on loopback only.
  explicit AccessControl(std::vector<config::Token> tokens = {}) : tokens_(std::move(tokens)) {}

  /// First the `Origin`, then the token, then its scope; the problem of the first that fails.
  /// Without a scope the endpoint is open to all, with or without a token.
  std::variant<Access, Problem> admit(const http::Request& request,
                                      std::optional<Scope> scope) const;

  /// The name of the request's token, whatever that may do; empty: it has none that celld knows.
  std::string token_name(const http::Request& request) const;

 private:
  const config::Token* token_of(const http::Request& request) const;

  std::vector<config::Token> tokens_;
};

}  // namespace celld::api
