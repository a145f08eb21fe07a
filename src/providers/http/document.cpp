#include "src/providers/http/document.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "src/providers/call_document.hpp"

namespace celld::providers {
namespace {

/// Headers that the call or the framing decides: configuration cannot set them.
constexpr std::array<std::string_view, 6> own_headers = {"content-length", "content-type",
                                                         "expect",         "idempotency-key",
                                                         "traceparent",    "transfer-encoding"};

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool is_own(std::string_view name) {
  return std::find(own_headers.begin(), own_headers.end(), to_lower(name)) != own_headers.end();
}

bool is_configured(const HttpService& service, std::string_view lower_name) {
  return std::any_of(service.headers.begin(), service.headers.end(),
                     [&](const auto& header) { return to_lower(header.first) == lower_name; });
}

std::string blank_controls(std::string_view text) {
  std::string clean(text);
  std::replace_if(
      clean.begin(), clean.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return clean;
}

}  // namespace

std::string header_line(std::string_view name, std::string_view value) {
  const auto clean = blank_controls(value);
  // To libcurl, "Name:" removes the header, and "Name;" sends it empty.
  const bool blank = clean.find_first_not_of(' ') == std::string::npos;
  return blank_controls(name) + (blank ? ";" : ": " + clean);
}

HttpRequest call_request(const HttpService& service, const cells::StartCall& call) {
  HttpRequest request{.url = service.url,
                      .headers = {"Content-Type: application/json", "Expect:"},
                      .body = call_document(*call.job),
                      .timeout = call.timeout};
  auto& headers = request.headers;
  headers.push_back(header_line("Idempotency-Key", idempotency_key(*call.job)));
  if (!call.job->spec->traceparent.empty()) {
    headers.push_back(header_line("traceparent", call.job->spec->traceparent));
  }
  if (!is_configured(service, "accept")) headers.push_back("Accept: application/json");
  if (!is_configured(service, "user-agent")) headers.push_back("User-Agent: celld");
  for (const auto& [name, secret] : service.headers) {
    if (!is_own(name)) headers.push_back(header_line(name, secret.value));
  }
  return request;
}

}  // namespace celld::providers
