#include "src/providers/http/operation_url.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "src/config/checks.hpp"
#include "src/providers/http/answer_limits.hpp"
#include "src/providers/http/url_parts.hpp"

namespace celld::providers {
namespace {

constexpr std::size_t url_bytes_max = 8192;

std::string origin_of(const CurlUrl& url) {
  const auto host = part_of(url, CURLUPART_HOST);
  const auto zone = part_of(url, CURLUPART_ZONEID);
  return config::lower_case(part_of(url, CURLUPART_SCHEME) + "://" + host +
                            (zone.empty() ? "" : "%" + zone) + ":" +
                            part_of(url, CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

/// The URL of a reference (RFC 3986, section 5), or nothing.
CurlUrl resolve(const std::string& base, const std::string& reference) {
  CurlUrl url(curl_url());
  const bool valid =
      url && curl_url_set(url.get(), CURLUPART_URL, base.c_str(), 0) == CURLUE_OK &&
      curl_url_set(url.get(), CURLUPART_URL, reference.c_str(), CURLU_DISALLOW_USER) == CURLUE_OK &&
      curl_url_set(url.get(), CURLUPART_FRAGMENT, nullptr, 0) == CURLUE_OK;
  return valid ? std::move(url) : nullptr;
}

bool is_graphic(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

std::string origin_fault(const CurlUrl& url, const std::string& service_url) {
  const CurlUrl service = resolve(service_url, service_url);
  const auto here = origin_of(url);
  const auto there = service ? origin_of(service) : "nowhere";
  return here == there ? "" : "at " + here + " instead of " + there;
}

std::variant<std::string, NoOperationUrl> read_reference(const mappings::UrlSource& source,
                                                         const HttpResult& result) {
  if (!source.header.empty()) {
    if (result.kept_header) return *result.kept_header;
    return NoOperationUrl{
        "answered without the header `" + source.header + "`, the URL of its operation", true};
  }
  auto parsed = json::parse(result.body, answer_limits);
  const auto* document = std::get_if<json::Document>(&parsed);
  if (document == nullptr) return NoOperationUrl{"answered with a body that is not JSON", true};
  const auto pointer = mappings::pointer_of(source.pointer);
  const json::Value* value = mappings::find(document->value, source.pointer);
  if (value == nullptr)
    return NoOperationUrl{"answered without `" + pointer + "`, the URL of its operation", true};
  if (value->is_string()) return value->get<std::string>();
  return NoOperationUrl{"answered with a `" + pointer +
                        "`, the URL of its operation, that is not a string"};
}

}  // namespace

std::variant<std::string, NoOperationUrl> read_operation_url(const mappings::UrlSource& source,
                                                             const HttpResult& result,
                                                             const std::string& request_url,
                                                             const std::string& service_url) {
  auto read = read_reference(source, result);
  const auto* reference = std::get_if<std::string>(&read);
  if (reference == nullptr) return read;
  const auto invalid = [](const std::string& how) {
    return NoOperationUrl{"answered with a URL of its operation " + how};
  };
  if (reference->size() > url_bytes_max) return invalid("that has more than 8 KiB");
  if (reference->empty() || !is_graphic(*reference)) return invalid("that is malformed");
  const auto url = resolve(request_url, *reference);
  if (!url) return invalid("that is malformed, or has a user");
  if (auto fault = origin_fault(url, service_url); !fault.empty()) return invalid(fault);
  auto text = part_of(url, CURLUPART_URL);
  if (text.size() > url_bytes_max) return invalid("that has more than 8 KiB");
  return text;
}

std::string origin_fault(const std::string& url, const std::string& service_url) {
  const auto parsed = resolve(service_url, url);
  return parsed ? origin_fault(parsed, service_url) : "malformed";
}

}  // namespace celld::providers
