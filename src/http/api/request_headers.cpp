#include "src/http/api/request_headers.hpp"

#include <algorithm>
#include <string>

#include "src/config/checks.hpp"

namespace celld::api {
namespace {

using config::lower_case;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Removes the part before `separator` (outside quotes) from the front of `rest` and returns it.
std::string_view take_part(std::string_view& rest, char separator) {
  bool quoted = false;
  std::size_t at = 0;
  for (; at < rest.size(); ++at) {
    if (quoted && rest[at] == '\\') {
      ++at;
    } else if (rest[at] == '"') {
      quoted = !quoted;
    } else if (rest[at] == separator && !quoted) {
      break;
    }
  }
  const std::string_view part = rest.substr(0, std::min(at, rest.size()));
  rest = at < rest.size() ? rest.substr(at + 1) : std::string_view();
  return trimmed(part);
}

std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

std::optional<std::chrono::seconds> parse_wait(std::string_view digits) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
  std::chrono::seconds wait{0};
  for (const char c : digits) wait = std::min(wait * 10 + std::chrono::seconds(c - '0'), wait_max);
  return wait;
}

/// In UTF-8, or without a charset.
bool is_of_type(const http::Request& request, std::string_view type) {
  const auto header = request.header("content-type");
  if (!header) return false;
  std::string_view rest = *header;
  if (lower_case(take_part(rest, ';')) != type) return false;
  while (!rest.empty()) {
    std::string_view value = take_part(rest, ';');
    const std::string name = lower_case(take_part(value, '='));
    if (name == "charset" && lower_case(unquoted(value)) != "utf-8") return false;
  }
  return true;
}

}  // namespace

bool is_json(const http::Request& request) {
  return is_of_type(request, "application/json");
}

bool is_ndjson(const http::Request& request) {
  return is_of_type(request, "application/x-ndjson");
}

bool is_foreign(const http::Request& request) {
  const auto origin = request.header("origin");
  if (!origin) return false;
  const std::string host = lower_case(request.header("host").value_or(""));
  const std::string from = lower_case(*origin);
  return host.empty() || (from != "http://" + host && from != "https://" + host);
}

bool is_from_another_site(const http::Request& request) {
  const std::string site = lower_case(request.header("sec-fetch-site").value_or(""));
  return site == "cross-site" || site == "same-site";
}

bool names_a_domain(const http::Request& request) {
  std::string host = lower_case(request.header("host").value_or(""));
  if (host.starts_with('[')) return false;
  host = host.substr(0, host.find(':'));
  if (host.ends_with('.')) host.pop_back();
  const bool is_address = host.find_first_not_of("0123456789.") == std::string::npos;
  return !is_address && !host.ends_with(".localhost") && host.find('.') != std::string::npos;
}

std::optional<std::chrono::seconds> preferred_wait(const http::Request& request) {
  const auto header = request.header("prefer");
  if (!header) return std::nullopt;
  for (std::string_view rest = *header; !rest.empty();) {
    std::string_view preference = take_part(rest, ',');
    std::string_view value = take_part(preference, ';');
    const std::string name = lower_case(take_part(value, '='));
    if (name == "wait") return parse_wait(unquoted(trimmed(value)));
  }
  return std::nullopt;
}

}  // namespace celld::api
