#include "src/http/api/access.hpp"

#include "src/config/checks.hpp"
#include "src/http/api/request_headers.hpp"
#include "src/http/api/tokens.hpp"

namespace celld::api {
namespace {

constexpr std::string_view scheme = "bearer";

/// The token of the one Authorization header. Empty when the header is absent, repeated or
/// malformed.
std::string_view bearer_token(const http::Request& request) {
  const std::string* only = nullptr;
  for (const auto& [name, value] : request.headers) {
    if (name != "authorization") continue;
    if (only != nullptr) return "";
    only = &value;
  }
  if (only == nullptr) return "";
  std::string_view rest = *only;
  if (config::lower_case(rest.substr(0, scheme.size())) != scheme) return "";
  rest.remove_prefix(scheme.size());
  const std::size_t begin = rest.find_first_not_of(' ');
  if (begin == 0 || begin == std::string_view::npos) return "";
  rest.remove_prefix(begin);
  return is_token(rest) ? rest : "";
}

Problem foreign_origin() {
  return {.kind = ProblemKind::foreign_origin,
          .detail = "The request comes from a page of another origin."};
}

Problem foreign_host() {
  return {.kind = ProblemKind::foreign_origin,
          .detail =
              "The request names a domain as its host. Without tokens, celld answers only to "
              "`localhost`, host names of one label, and IP addresses."};
}

/// Identical for every request without a valid token, so that it does not reveal what was wrong.
Problem unauthorized() {
  return {.kind = ProblemKind::unauthorized,
          .detail =
              "The request needs exactly one header `Authorization: Bearer TOKEN` with a valid "
              "token."};
}

Problem lacks_scope(Scope scope) {
  return {.kind = ProblemKind::missing_scope,
          .detail = "The token lacks the scope `" + std::string(config::to_string(scope)) + "`."};
}

}  // namespace

std::variant<BoundCustomer, Problem> AccessControl::admit(const http::Request& request,
                                                          std::optional<Scope> scope) const {
  // Without tokens, any page in a browser on this machine could otherwise submit jobs or download
  // backups.
  if (is_foreign(request)) return foreign_origin();
  if (tokens_.empty() && scope && is_from_another_site(request)) return foreign_origin();
  if (tokens_.empty() && scope && names_a_domain(request)) return foreign_host();
  if (tokens_.empty() || !scope) return BoundCustomer{};
  const config::Token* token = token_of(request);
  if (token == nullptr) return unauthorized();
  if (!token->scopes.contains(*scope)) return lacks_scope(*scope);
  return token->customer;
}

std::optional<std::set<std::string>> AccessControl::services_of(
    const http::Request& request) const {
  const config::Token* token = token_of(request);
  if (token == nullptr && !tokens_.empty()) return std::set<std::string>{};
  return token == nullptr ? std::nullopt : token->services;
}

std::string AccessControl::token_name(const http::Request& request) const {
  const config::Token* token = token_of(request);
  return token == nullptr ? "" : token->name;
}

/// Compares with every token, even after a match, so that timing reveals nothing about any of them.
const config::Token* AccessControl::token_of(const http::Request& request) const {
  const std::string_view text = bearer_token(request);
  if (text.empty()) return nullptr;
  const Digest digest = sha256(text);
  const config::Token* found = nullptr;
  for (const config::Token& token : tokens_) {
    if (same_digest(token.digest, digest)) found = &token;
  }
  return found;
}

}  // namespace celld::api
