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

bool is_mapped(const mappings::Rendered& rendered, std::string_view name) {
  const auto lower_name = to_lower(name);
  return std::any_of(rendered.headers.begin(), rendered.headers.end(),
                     [&](const auto& header) { return to_lower(header.first) == lower_name; });
}

std::string blank_controls(std::string_view text) {
  std::string clean(text);
  std::replace_if(
      clean.begin(), clean.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return clean;
}

/// The headers of every request, and the configured ones that `rendered` does not replace.
void add_call_headers(const HttpService& service, const cells::Job& job, const std::string& key,
                      const mappings::Rendered& rendered, std::vector<std::string>& headers) {
  if (!key.empty()) headers.push_back(header_line("Idempotency-Key", key));
  const auto& traceparent = job.spec->traceparent;
  if (!traceparent.empty()) headers.push_back(header_line("traceparent", traceparent));
  const auto is_set = [&](std::string_view name) {
    return is_configured(service, name) || is_mapped(rendered, name);
  };
  if (!is_set("accept")) headers.push_back("Accept: application/json");
  if (!is_set("user-agent")) headers.push_back("User-Agent: celld");
  for (const auto& [name, secret] : service.headers) {
    if (!is_own(name) && !is_mapped(rendered, name))
      headers.push_back(header_line(name, secret.value));
  }
}

/// A target without a path is the URL itself.
std::string url_below(std::string url, const std::string& target) {
  if (target.starts_with('/')) {
    while (url.ends_with('/')) url.pop_back();
  }
  return url + target;
}

}  // namespace

std::string header_line(std::string_view name, std::string_view value) {
  const auto clean = blank_controls(value);
  // To libcurl, "Name:" removes the header, and "Name;" sends it empty.
  const bool blank = clean.find_first_not_of(' ') == std::string::npos;
  return blank_controls(name) + (blank ? ";" : ": " + clean);
}

HttpRequest call_request(const HttpService& service, const cells::StartCall& call) {
  const bool undoes = cells::is_compensating(*call.job) && service.undo_url;
  HttpRequest request{.url = undoes ? *service.undo_url : service.url,
                      .headers = {"Content-Type: application/json", "Expect:"},
                      .body = call_document(*call.job),
                      .timeout = call.timeout};
  add_call_headers(service, *call.job, idempotency_key(*call.job), {}, request.headers);
  return request;
}

HttpRequest mapped_request(const HttpService& service, const cells::Job& job,
                           mappings::Rendered rendered, std::optional<std::size_t> index,
                           milliseconds timeout) {
  HttpRequest request{.url = url_below(service.url, rendered.target),
                      .headers = {"Expect:"},
                      .body = rendered.body.value_or(""),
                      .timeout = timeout,
                      .method = rendered.method};
  auto& headers = request.headers;
  if (!rendered.body) headers.push_back("Content-Type:");  // Or libcurl would make one up.
  std::string key = index ? idempotency_key(job) : "";
  if (index && *index > 0) key += ":" + std::to_string(*index + 1);
  add_call_headers(service, job, key, rendered, headers);
  for (const auto& [name, value] : rendered.headers) headers.push_back(header_line(name, value));
  return request;
}

}  // namespace celld::providers
