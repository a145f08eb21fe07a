#include "src/providers/http/url_parts.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <utility>

#include "src/config/checks.hpp"

namespace celld::providers {
namespace {

bool is_address(const std::string& host) {
  in_addr address{};
  return host.starts_with('[') || ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool is_localhost(const std::string& host) {
  return host == "localhost" || host.ends_with(".localhost");
}

}  // namespace

std::string part_of(const CurlUrl& url, CURLUPart part, unsigned flags) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return "";
  const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
  return text;
}

std::optional<NamedHost> named_host(const std::string& url) {
  const CurlUrl parsed(curl_url());
  if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return std::nullopt;
  }
  auto host = config::lower_case(part_of(parsed, CURLUPART_HOST));
  if (host.empty() || is_address(host) || is_localhost(host)) return std::nullopt;
  return NamedHost{std::move(host), part_of(parsed, CURLUPART_PORT, CURLU_DEFAULT_PORT)};
}

}  // namespace celld::providers
