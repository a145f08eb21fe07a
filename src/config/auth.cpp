// The member `auth`: the tokens that may use the API, by their digests.
#include <map>
#include <utility>

#include "src/config/checks.hpp"
#include "src/config/sections.hpp"

namespace celld::config {
namespace {

constexpr std::size_t tokens_max = 1000;
constexpr std::array<std::string_view, 4> scope_names = {"submit", "read", "work", "admin"};
constexpr std::string_view no_entry = "`auth` without a token would admit no client";

std::optional<std::uint8_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<std::uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<TokenDigest> parse_digest(std::string_view text) {
  TokenDigest digest{};
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const auto high = hex_digit(text[2 * i]);
    const auto low = hex_digit(text[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    digest[i] = static_cast<std::uint8_t>((*high << 4) | *low);
  }
  return digest;
}

std::set<Scope> read_scopes(json::ObjectReader& reader, Faults& faults) {
  std::set<Scope> scopes;
  const json::Value* array = reader.array("scopes");
  if (array == nullptr) return scopes;
  if (array->empty()) reader.fault("scopes", "must not be empty: the token would allow nothing");
  for (std::size_t i = 0; i < array->size(); ++i) {
    const auto* text = (*array)[i].get_ptr<const std::string*>();
    const auto scope = text == nullptr ? std::nullopt : parse_scope(*text);
    std::string fault;
    if (!scope) {
      fault = R"(must be "submit", "read", "work" or "admin")";
    } else if (!scopes.insert(*scope).second) {
      fault = "is repeated";
    }
    if (!fault.empty())
      faults.push_back({json::pointer_to(reader.pointer_of("scopes"), i), std::move(fault)});
  }
  return scopes;
}

std::set<std::string> read_services_of(json::ObjectReader& reader, const Token& token,
                                       const std::set<std::string>& configured, Faults& faults) {
  std::set<std::string> services;
  const json::Value* array = reader.array("services");
  if (array == nullptr) return services;
  if (array->empty()) reader.fault("services", "must not be empty: the token would allow no work");
  if (!token.scopes.contains(Scope::work))
    reader.fault("services", R"(needs the scope "work", which it restricts)");
  for (std::size_t i = 0; i < array->size(); ++i) {
    const auto* text = (*array)[i].get_ptr<const std::string*>();
    std::string fault;
    if (text == nullptr || !configured.contains(*text)) {
      fault = "must be the name of a configured service";
    } else if (!services.insert(*text).second) {
      fault = "is repeated";
    }
    if (!fault.empty())
      faults.push_back({json::pointer_to(reader.pointer_of("services"), i), std::move(fault)});
  }
  return services;
}

/// The pointer of the first token with each name and each digest.
struct Seen {
  std::map<std::string, std::string> names;
  std::map<TokenDigest, std::string> digests;
};

/// A fault never quotes a digest: the operator may have put the token in its place.
Token read_token(const json::Value& value, const std::string& pointer,
                 const std::set<std::string>& services, Seen& seen, Faults& faults) {
  Token token;
  json::ObjectReader reader(value, pointer, faults);
  reader.require({"name", "sha256", "scopes"});
  if (auto name = reader.string("name")) {
    if (!is_name(*name)) {
      reader.fault("name", "must match [A-Za-z0-9][A-Za-z0-9._-]{0,62}");
    } else if (const auto [first, fresh] = seen.names.emplace(*name, pointer); !fresh) {
      reader.fault("name", "is also the name of " + first->second);
    }
    token.name = std::move(*name);
  }
  if (const auto text = reader.string("sha256")) {
    const auto digest = parse_digest(*text);
    if (!digest) {
      reader.fault("sha256", "must be the SHA-256 of the token in 64 hexadecimal digits");
    } else if (const auto [first, fresh] = seen.digests.emplace(*digest, pointer); !fresh) {
      reader.fault("sha256", "is also the digest of " + first->second);
    }
    token.digest = digest.value_or(TokenDigest{});
  }
  token.scopes = read_scopes(reader, faults);
  token.customer = reader.string("customer");
  if (token.customer && !is_name(*token.customer))
    reader.fault("customer", "must match [A-Za-z0-9][A-Za-z0-9._-]{0,62}");
  if (reader.has("services")) token.services = read_services_of(reader, token, services, faults);
  reader.finish();
  return token;
}

}  // namespace

std::string_view to_string(Scope scope) {
  return scope_names.at(static_cast<std::size_t>(scope));
}

std::optional<Scope> parse_scope(std::string_view text) {
  for (std::size_t i = 0; i < scope_names.size(); ++i)
    if (scope_names[i] == text) return static_cast<Scope>(i);
  return std::nullopt;
}

std::vector<Token> read_tokens(const json::Value& auth, const std::set<std::string>& services,
                               Faults& faults) {
  std::vector<Token> tokens;
  json::ObjectReader reader(auth, "/auth", faults);
  if (reader.is_object() && !reader.has("tokens"))
    reader.fault("tokens", "is required: " + std::string(no_entry));
  const json::Value* array = reader.array("tokens");
  reader.finish();
  if (array == nullptr) return tokens;
  if (array->empty()) reader.fault("tokens", "must not be empty: " + std::string(no_entry));
  if (array->size() > tokens_max)
    reader.fault("tokens", "must have at most " + std::to_string(tokens_max) + " elements");
  Seen seen;
  for (std::size_t i = 0; i < array->size(); ++i)
    tokens.push_back(
        read_token((*array)[i], json::pointer_to("/auth/tokens", i), services, seen, faults));
  return tokens;
}

}  // namespace celld::config
