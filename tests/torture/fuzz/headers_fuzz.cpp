// The request headers that the API reads. An input has one header a line.
#include <algorithm>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "src/http/api/access.hpp"
#include "src/http/api/digest.hpp"
#include "src/http/api/request_headers.hpp"
#include "src/http/api/submission.hpp"
#include "src/http/text.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;
using http::Request;

namespace {

const std::string token = "celld_open-sesame";

/// Reads what the framing would pass on.
Request request_of(std::string_view text) {
  Request request;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = line.substr(std::min(colon + 1, line.size()));
    if (http::is_token(name) && http::is_field_value(value))
      request.headers.emplace_back(http::lower_case(name), http::trimmed(value));
  }
  return request;
}

/// The request with each value changed.
template <class Change>
Request changed(Request request, Change change) {
  for (auto& [name, value] : request.headers) value = change(value);
  return request;
}

Request upper(const Request& request) {
  return changed(request, [](std::string value) {
    for (char& c : value)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    return value;
  });
}

Request with(Request request, const std::string& name, const std::string& value) {
  std::erase_if(request.headers, [&](const auto& header) { return header.first == name; });
  request.headers.emplace_back(name, value);
  return request;
}

bool is_plain(const std::optional<std::string>& value) {
  return value && value->find_first_of("\"\\") == std::string::npos;
}

/// The text before the separator, without blanks; removes both from `rest`.
std::string_view cut(std::string_view& rest, char separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return http::trimmed(part);
}

// --- Content-Type and Prefer ---------------------------------------------------------------------

/// Without quotes.
bool is_plain(std::string_view value, std::string_view type) {
  if (http::lower_case(cut(value, ';')) != type) return false;
  while (!value.empty()) {
    std::string_view parameter = cut(value, ';');
    const std::string name = http::lower_case(cut(parameter, '='));
    if (name == "charset" && http::lower_case(http::trimmed(parameter)) != "utf-8") return false;
  }
  return true;
}

void check_content_type(const Request& request) {
  const auto value = request.header("content-type");
  const bool json = api::is_json(request);
  must(!json || (value && http::lower_case(*value).starts_with("application/json")),
       "only application/json is JSON");
  const bool lines = api::is_ndjson(request);
  must(!lines || (value && http::lower_case(*value).starts_with("application/x-ndjson")),
       "only application/x-ndjson is lines of JSON");
  must(json == api::is_json(upper(request)) && lines == api::is_ndjson(upper(request)),
       "a content type has no case");
  if (!is_plain(value)) return;
  must(json == is_plain(*value, "application/json") &&
           lines == is_plain(*value, "application/x-ndjson"),
       "a plain content type has one meaning");
}

/// The parameters of both types have the same rules.
void check_types(const Request& request) {
  const std::string value = request.header("content-type").value_or("");
  const std::string parameters = value.substr(std::min(value.find(';'), value.size()));
  must(api::is_json(with(request, "content-type", "application/json" + parameters)) ==
           api::is_ndjson(with(request, "content-type", "application/x-ndjson" + parameters)),
       "a charset has one meaning");
}

/// Without quotes.
std::optional<std::chrono::seconds> plain_wait(std::string_view value) {
  while (!value.empty()) {
    std::string_view preference = cut(value, ',');
    std::string_view wait = cut(preference, ';');
    if (http::lower_case(cut(wait, '=')) != "wait") continue;
    std::string_view digits = http::trimmed(wait);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
      return std::nullopt;
    while (digits.starts_with('0')) digits.remove_prefix(1);
    if (digits.size() > 2) return api::wait_max;
    int seconds = 0;
    for (const char c : digits) seconds = seconds * 10 + (c - '0');
    return std::min(std::chrono::seconds(seconds), api::wait_max);
  }
  return std::nullopt;
}

void check_prefer(const Request& request) {
  const auto value = request.header("prefer");
  const auto wait = api::preferred_wait(request);
  must(!wait || (wait->count() >= 0 && *wait <= api::wait_max), "a wait is bounded");
  must(wait == api::preferred_wait(upper(request)), "a preference has no case");
  if (is_plain(value)) must(wait == plain_wait(*value), "a plain preference has one meaning");
}

// --- Browsers ------------------------------------------------------------------------------------

void check_browser(const Request& request) {
  must(api::is_foreign(request) == api::is_foreign(upper(request)), "an origin has no case");
  must(request.header("origin") || !api::is_foreign(request),
       "a request without an origin is not foreign");
  const std::string host = request.header("host").value_or("");
  must(api::is_foreign(with(request, "origin", "http://" + host)) == host.empty(),
       "a page of the host itself is not foreign");
  must(api::is_foreign(with(request, "origin", "http://x." + host)),
       "a page of a neighbouring host is foreign");
  must(api::is_from_another_site(with(request, "sec-fetch-site", "Cross-Site")) &&
           !api::is_from_another_site(with(request, "sec-fetch-site", "same-origin")),
       "a browser's word counts");

  const bool domain = api::names_a_domain(request);
  must(domain == api::names_a_domain(upper(request)), "a host has no case");
  must(!domain || host.find('.') != std::string::npos, "a domain has a dot");
  must(api::names_a_domain(with(request, "host", "rebound.example:8080")), "a domain is a domain");
  if (host.find_first_of("[:") == std::string::npos) {
    must(domain == api::names_a_domain(with(request, "host", host + ":8080")),
         "a port does not matter");
    must(!api::names_a_domain(with(request, "host", host + ".localhost")),
         "a name under localhost is local");
  }
}

// --- Authorization -------------------------------------------------------------------------------

config::Token known_token() {
  config::Token known;
  known.name = "test";
  known.digest = api::sha256(token);
  known.scopes = {config::Scope::read};
  known.customer = "acme";
  return known;
}

/// Exactly one header: "Bearer", blanks, the token.
bool has_token(const Request& request) {
  std::optional<std::string> only;
  for (const auto& [name, value] : request.headers) {
    if (name != "authorization") continue;
    if (only) return false;
    only = value;
  }
  if (!only || http::lower_case(only->substr(0, 7)) != "bearer ") return false;
  const std::size_t begin = only->find_first_not_of(' ', 7);
  return begin != std::string::npos && only->substr(begin) == token;
}

void check_token(const Request& request) {
  static const api::AccessControl control({known_token()});
  const auto admitted = control.admit(request, config::Scope::read);
  const auto* customer = std::get_if<api::BoundCustomer>(&admitted);
  const bool foreign = api::is_foreign(request);
  must((customer != nullptr) == (has_token(request) && !foreign),
       "a request needs one valid token");
  if (customer != nullptr) must(*customer == "acme", "a token is bound to its customer");
  must(control.token_name(request) == (has_token(request) ? "test" : ""), "a token has its name");

  const auto refused = control.admit(request, config::Scope::admin);
  const auto* problem = std::get_if<api::Problem>(&refused);
  must(problem != nullptr, "a token has its scopes only");
  must((problem->kind == api::ProblemKind::missing_scope) == (has_token(request) && !foreign),
       "a problem reveals nothing without a token");
  must(std::holds_alternative<api::BoundCustomer>(control.admit(request, std::nullopt)) == !foreign,
       "an open endpoint is open");
}

// --- Idempotency-Key and traceparent -------------------------------------------------------------

bool is_key(std::string_view text) {
  return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("._:-").find(c) != std::string_view::npos;
  });
}

void check_key(const Request& request) {
  static const api::SubmissionRules rules{
      {"dns"}, std::make_shared<cells::Routing>(std::vector<cells::CellRule>{{}})};
  static constexpr std::string_view body =
      R"({"customer":"a","product":"p","action":"x","entity":{"type":"t","id":"1"},)"
      R"("services":["dns"]})";
  const auto key = request.header("idempotency-key");
  const auto parsed = api::parse_submission(body, rules, {.idempotency_key = key});
  const auto* submission = std::get_if<api::Submission>(&parsed);
  must((submission != nullptr) == (!key || is_key(*key)), "a key is valid, or a problem");
  if (submission == nullptr) return;
  const auto& kept = submission->request.idempotency;
  must(kept.has_value() == key.has_value() && (!key || kept->key == *key), "a key is kept");
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool has_other_than(std::string_view text, char c) {
  return text.find_first_not_of(c) != std::string_view::npos;
}

/// https://www.w3.org/TR/trace-context/, with at most 255 characters.
bool is_trace(std::string_view text) {
  if (text.size() < 55 || text.size() > 255) return false;
  const std::string_view version = text.substr(0, 2);
  if (!is_hex(version) || version == "ff" || (version == "00" && text.size() > 55)) return false;
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  const std::string_view trace = text.substr(3, 32);
  const std::string_view parent = text.substr(36, 16);
  if (!is_hex(trace) || !is_hex(parent) || !is_hex(text.substr(53, 2))) return false;
  if (!has_other_than(trace, '0') || !has_other_than(parent, '0')) return false;
  return text.size() == 55 || (text[55] == '-' && std::all_of(text.begin(), text.end(), [](char c) {
                                 return c > 0x20 && c < 0x7f;
                               }));
}

void check_trace(const Request& request) {
  for (const auto& [name, value] : request.headers)
    must(api::is_traceparent(value) == is_trace(value), "a traceparent has the form of W3C");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Request request = request_of(fuzz::text_of(data, size));
  check_content_type(request);
  check_types(request);
  check_prefer(request);
  check_browser(request);
  check_token(request);
  check_key(request);
  check_trace(request);
  return 0;
}
