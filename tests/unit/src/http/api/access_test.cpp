#include "src/http/api/access.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/http/api/digest.hpp"
#include "src/http/api/tokens.hpp"
#include "tests/unit/catch.hpp"

using namespace celld;
using namespace celld::api;

namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

config::Token token(const std::string& text, std::set<Scope> scopes,
                    std::optional<std::string> customer = std::nullopt) {
  return {"of-" + text, sha256(text), std::move(scopes), std::move(customer)};
}

AccessControl control() {
  return AccessControl({token("reader", {Scope::read}), token("all", {Scope::submit, Scope::read}),
                        token("acme", {Scope::read}, "acme")});
}

http::Request request_with(Headers headers) {
  http::Request request;
  request.headers = std::move(headers);
  return request;
}

/// "in", "in for CUSTOMER", or the slug of the refusal.
std::string outcome(const AccessControl& access, Headers headers,
                    std::optional<Scope> scope = Scope::read) {
  const auto admitted = access.admit(request_with(std::move(headers)), scope);
  if (const auto* problem = std::get_if<Problem>(&admitted))
    return std::string(slug_of(problem->kind));
  const auto& customer = std::get<BoundCustomer>(admitted);
  return customer ? "in for " + *customer : "in";
}

std::string outcome_of(const std::string& authorization) {
  return outcome(control(), {{"authorization", authorization}});
}

}  // namespace

TEST_CASE("a digest is the SHA-256 of its text") {
  // FIPS 180-2, appendix B.1.
  const auto digest = sha256("abc");
  CHECK(digest[0] == 0xba);
  CHECK(digest[1] == 0x78);
  CHECK(digest[31] == 0xad);
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  auto other = digest;
  CHECK(same_digest(digest, other));
  other[31] ^= 1;
  CHECK_FALSE(same_digest(digest, other));
}

TEST_CASE("a new token has 256 random bits in characters that are safe in a header") {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string made = make_token().value();
    CHECK(made.size() == 6 + 43);
    CHECK(made.rfind("celld_", 0) == 0);
    CHECK(made.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                 "-_") == std::string::npos);
    CHECK(is_token(made));
    CHECK(seen.insert(made).second);
  }
}

TEST_CASE("without tokens every request is admitted") {
  const AccessControl open;
  CHECK(outcome(open, {}, Scope::admin) == "in");
  CHECK(outcome(open, {{"authorization", "Basic eDp5"}}) == "in");
}

TEST_CASE("with tokens, only an endpoint with a scope needs a token") {
  CHECK(outcome(control(), {}) == "unauthorized");
  CHECK(outcome(control(), {}, std::nullopt) == "in");
  CHECK(outcome(control(), {{"authorization", "Bearer wrong"}}, std::nullopt) == "in");
  CHECK(outcome_of("Bearer reader") == "in");
  CHECK(outcome_of("Bearer acme") == "in for acme");
}

TEST_CASE("a token has exactly its own scopes; no scope implies another") {
  const auto of = [](const std::string& text, Scope scope) {
    return outcome(AccessControl({token("t-" + text, {*config::parse_scope(text)})}),
                   {{"authorization", "Bearer t-" + text}}, scope);
  };
  for (const Scope scope : {Scope::submit, Scope::read, Scope::work, Scope::admin}) {
    for (const std::string text : {"submit", "read", "work", "admin"}) {
      CHECK(of(text, scope) == (config::to_string(scope) == text ? "in" : "missing-scope"));
    }
  }
}

TEST_CASE("a refusal names the missing scope") {
  const auto admitted =
      control().admit(request_with({{"authorization", "Bearer all"}}), Scope::admin);
  CHECK(std::get<Problem>(admitted).detail == "The token lacks the scope `admin`.");
  CHECK(to_response(std::get<Problem>(admitted)).status == 403);
}

TEST_CASE("a refusal for a missing token says how to authenticate") {
  const auto admitted = control().admit(request_with({}), Scope::read);
  const http::Response response = to_response(std::get<Problem>(admitted));
  CHECK(response.status == 401);
  CHECK(response.headers == Headers{{"WWW-Authenticate", "Bearer realm=\"celld\""}});
}

TEST_CASE("the scheme is case-insensitive") {
  for (const auto* text : {"Bearer reader", "bearer reader", "BEARER reader", "Bearer   reader"})
    CHECK(outcome_of(text) == "in");
}

TEST_CASE("anything but one valid bearer token is refused") {
  for (const std::string text :
       {"", "Bearer", "Bearer ", "Bearerreader", "Bearer\treader", "reader", "Basic reader",
        "Bearer reader x", "Bearer reader,", "Bearer \"reader\"", "Bearer re%61der",
        "Bearer =", "Bearer readerä", "Bearer reader=", "Bearer Reader"})
    CHECK(outcome_of(text) == "unauthorized");
  CHECK(outcome_of("Bearer " + std::string(10'000, 'x')) == "unauthorized");
  CHECK(outcome_of("Bearer reader" + std::string(1, '\0')) == "unauthorized");
}

TEST_CASE("two Authorization headers are refused") {
  CHECK(outcome(control(), {{"authorization", "Bearer reader"},
                            {"authorization", "Bearer reader"}}) == "unauthorized");
  CHECK(outcome(control(), {{"authorization", ""}, {"authorization", "Bearer reader"}}) ==
        "unauthorized");
}

TEST_CASE("without tokens a request for a domain name is refused") {
  const Headers rebound = {{"host", "evil.example:8080"}, {"origin", "http://evil.example:8080"}};
  CHECK(outcome(AccessControl(), rebound) == "foreign-origin");
  CHECK(outcome(AccessControl(), {{"host", "evil.example"}}, Scope::admin) == "foreign-origin");
  CHECK(outcome(AccessControl(), {{"host", "evil.example"}}, std::nullopt) == "in");
  CHECK(outcome(AccessControl(), {{"host", "localhost:8080"}}) == "in");
  CHECK(outcome(control(), {{"host", "celld.example"}, {"authorization", "Bearer all"}}) == "in");
}

TEST_CASE("without tokens another site's page is refused even if its request has no origin") {
  for (const auto* site : {"cross-site", "same-site", "Cross-Site"}) {
    const Headers image = {{"host", "127.0.0.1:8080"}, {"sec-fetch-site", site}};
    CHECK(outcome(AccessControl(), image, Scope::admin) == "foreign-origin");
    CHECK(outcome(AccessControl(), image, std::nullopt) == "in");
  }
  for (const auto* site : {"same-origin", "none"})
    CHECK(outcome(AccessControl(), {{"host", "127.0.0.1:8080"}, {"sec-fetch-site", site}}) == "in");
}

TEST_CASE("a page of another origin is refused whatever its token") {
  const Headers foreign = {{"host", "celld"}, {"origin", "http://evil.example"}};
  Headers with_token = foreign;
  with_token.emplace_back("authorization", "Bearer reader");
  CHECK(outcome(control(), foreign) == "foreign-origin");
  CHECK(outcome(control(), with_token) == "foreign-origin");
  CHECK(outcome(control(), foreign, std::nullopt) == "foreign-origin");
  CHECK(outcome(AccessControl(), foreign) == "foreign-origin");
}

TEST_CASE("a token bound to a customer sees neither other customers nor what is shared") {
  CHECK(may_see(std::nullopt, "acme"));
  CHECK(may_see("acme", "acme"));
  CHECK_FALSE(may_see("acme", "bolt"));
  CHECK_FALSE(may_see("acme", "*"));
  CHECK_FALSE(may_see("acme", "Acme"));
}

TEST_CASE("without a token, a request may work for every service only where there are no tokens") {
  using Services = std::optional<std::set<std::string>>;
  config::Token bound = token("vm", {Scope::work});
  bound.services = {"vm"};
  const AccessControl access({bound, token("all", {Scope::work})});
  CHECK(access.services_of(request_with({{"authorization", "Bearer vm"}})) ==
        Services{std::set<std::string>{"vm"}});
  CHECK(access.services_of(request_with({{"authorization", "Bearer all"}})) == Services{});
  CHECK(access.services_of(request_with({})) == Services{std::set<std::string>{}});
  CHECK(AccessControl(std::vector<config::Token>{}).services_of(request_with({})) == Services{});
}
