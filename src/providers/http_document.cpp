#include "src/providers/http_document.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "src/json/json.hpp"

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

bool is_configured(const config::HttpService& service, std::string_view lower_name) {
  return std::any_of(service.headers.begin(), service.headers.end(),
                     [&](const auto& header) { return to_lower(header.first) == lower_name; });
}

std::string blank_controls(std::string_view text) {
  std::string clean(text);
  std::replace_if(
      clean.begin(), clean.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return clean;
}

void append_entity(std::string& text, const cells::Entity& entity) {
  text += R"({"type":)" + json::quote(entity.type);
  if (!entity.subtype.empty()) text += R"(,"subtype":)" + json::quote(entity.subtype);
  text += R"(,"id":)" + json::quote(entity.id) + "}";
}

/// The values are JSON text already.
void append_properties(std::string& text, const cells::Properties& properties) {
  text += '{';
  for (const auto& [name, value] : properties) {
    if (text.back() != '{') text += ',';
    text += json::quote(name);
    text += ':';
    text += value;
  }
  text += '}';
}

const std::string& current_service(const cells::Job& job) {
  return job.spec->services[job.step];
}

}  // namespace

std::string idempotency_key(const cells::Job& job) {
  return cells::format_job_id(job.id) + "." + current_service(job);
}

std::string call_document(const cells::Job& job) {
  const auto& spec = *job.spec;
  std::string text;
  text.reserve(512 + spec.parameters.size());
  text += R"({"job":)" + json::quote(cells::format_job_id(job.id));
  text += R"(,"attempt":)" + std::to_string(job.steps[job.step].attempts);
  text += R"(,"customer":)" + json::quote(spec.customer);
  text += R"(,"product":)" + json::quote(spec.product);
  text += R"(,"action":)" + json::quote(spec.action);
  text += R"(,"entity":)";
  append_entity(text, spec.entity);
  text += R"(,"service":)" + json::quote(current_service(job));
  text += R"(,"parameters":)";
  text += spec.parameters;
  text += R"(,"properties":)";
  append_properties(text, job.properties);
  text += '}';
  return text;
}

std::string header_line(std::string_view name, std::string_view value) {
  const auto clean = blank_controls(value);
  // To libcurl, "Name:" removes the header, and "Name;" sends it empty.
  const bool blank = clean.find_first_not_of(' ') == std::string::npos;
  return blank_controls(name) + (blank ? ";" : ": " + clean);
}

HttpRequest call_request(const config::HttpService& service, const cells::StartCall& call) {
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
