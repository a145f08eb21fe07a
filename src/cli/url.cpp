#include "src/cli/url.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/cli/failure.hpp"
#include "src/cli/text.hpp"
#include "src/config/checks.hpp"

namespace celld::cli {
namespace {

constexpr int proxy_port_default = 1080;

/// The host and the port of a valid authority.
std::pair<std::string, int> host_and_port(const std::string& authority, int port) {
  const std::size_t bracket = authority.find(']');
  const std::size_t colon = authority.find(':', bracket == std::string::npos ? 0 : bracket);
  std::string host = authority.substr(0, colon);
  if (bracket != std::string::npos) host = host.substr(1, bracket - 1);
  if (colon != std::string::npos) port = std::stoi(authority.substr(colon + 1));
  return {std::move(host), port};
}

/// The first of the variables that is set and not empty; empty when none is.
std::string variable(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return "";
}

/// The bytes of a numeric address, 4 or 16; none for a name.
std::string address_bytes(const std::string& host) {
  std::string bytes(16, '\0');
  if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) return bytes;
  if (::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1) return bytes.substr(0, 4);
  return "";
}

/// Whether the entry is this address, or a block of addresses such as 10.0.0.0/8 with it.
bool covers(const std::string& entry, const std::string& address) {
  const std::size_t slash = std::min(entry.find('/'), entry.size());
  const std::string network = address_bytes(entry.substr(0, slash));
  if (network.size() != address.size()) return false;
  std::size_t bits = 8 * network.size();
  if (slash != entry.size()) {
    const char* end = entry.data() + entry.size();
    const auto [last, error] = std::from_chars(entry.data() + slash + 1, end, bits);
    if (error != std::errc{} || last != end || bits > 8 * network.size()) return false;
  }
  for (std::size_t bit = 0; bit < bits; ++bit) {
    const int mask = 0x80 >> bit % 8;
    if (((network[bit / 8] ^ address[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

std::string without_final_dot(std::string name) {
  if (name.ends_with('.')) name.pop_back();
  return name;
}

/// Whether no_proxy names the host, a domain above it, or a block with its address.
bool is_exempt(const std::string& host) {
  const std::string list = variable({"no_proxy", "NO_PROXY"});
  if (list == "*") return true;
  const std::string address = address_bytes(host);
  const std::string name = "." + without_final_dot(config::lower_case(host));
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(", ", begin), list.size());
    const std::string entry =
        without_final_dot(config::lower_case(list.substr(begin, end - begin)));
    begin = end + 1;
    if (entry.empty()) continue;
    if (!address.empty() ? covers(entry, address)
                         : name.ends_with(entry.front() == '.' ? entry : "." + entry)) {
      return true;
    }
  }
  return false;
}

/// Decodes each %XX.
std::string percent_decoded(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    unsigned char byte = 0;
    const char* digits_end = text.data() + 3;
    if (text.front() == '%' && text.size() >= 3 &&
        std::from_chars(text.data() + 1, digits_end, byte, 16).ptr == digits_end) {
      decoded += static_cast<char>(byte);
      text.remove_prefix(3);
    } else {
      decoded += text.front();
      text.remove_prefix(1);
    }
  }
  return decoded;
}

/// The URL without what may be a user and a password, for errors.
std::string shown(const std::string& url) {
  const std::size_t scheme_end = url.find("://");
  const std::size_t begin = scheme_end == std::string::npos ? 0 : scheme_end + 3;
  const std::size_t at = url.rfind('@');
  return cleaned(at == std::string::npos || at < begin ? url
                                                       : url.substr(0, begin) + url.substr(at + 1));
}

Proxy parse_proxy(const std::string& text) {
  const std::size_t scheme_end = text.find("://");
  const std::size_t begin = scheme_end == std::string::npos ? 0 : scheme_end + 3;
  std::string authority = text.substr(begin, text.find('/', begin) - begin);
  const std::size_t at = authority.rfind('@');
  Proxy proxy;
  if (at != std::string::npos) {
    const std::string credentials = authority.substr(0, at);
    authority.erase(0, at + 1);
    const std::size_t colon = std::min(credentials.find(':'), credentials.size());
    proxy.user = percent_decoded(credentials.substr(0, colon));
    proxy.password = percent_decoded(credentials.substr(std::min(colon + 1, credentials.size())));
  }
  const std::string scheme = text.substr(0, begin);
  if ((!scheme.empty() && config::lower_case(scheme) != "http://") ||
      !config::url_fault("http://" + authority).empty())
    throw usage_failure("the proxy " + shown(text) + " is not of the form http://HOST:PORT");
  std::tie(proxy.host, proxy.port) = host_and_port(authority, proxy_port_default);
  return proxy;
}

}  // namespace

Url parse_url(const std::string& text) {
  const auto failure = [&](const std::string& fault) {
    return usage_failure("the URL " + shown(text) + " " + fault);
  };
  const std::size_t scheme_end = std::min(text.find("://"), text.size());
  const std::size_t begin = std::min(scheme_end + 3, text.size());
  const std::size_t end = std::min(text.find_first_of("/?#", begin), text.size());
  Url url;
  url.tls = config::lower_case(text.substr(0, scheme_end)) == "https";
  url.authority = text.substr(begin, end - begin);
  if (url.authority.find('@') != std::string::npos)
    throw failure("must not have a user or a password");
  if (text.find_first_of("?#") != std::string::npos)
    throw failure("must not have a query or a fragment");
  if (const std::string fault = config::url_fault(text); !fault.empty()) throw failure(fault);
  std::tie(url.host, url.port) = host_and_port(url.authority, url.tls ? 443 : 80);
  url.path = text.substr(end);
  while (url.path.ends_with('/')) url.path.pop_back();
  return url;
}

std::optional<Proxy> proxy_for(const Url& url) {
  if (config::is_loopback(url.host) || is_exempt(url.host)) return std::nullopt;
  const std::string own =
      url.tls ? variable({"https_proxy", "HTTPS_PROXY"}) : variable({"http_proxy"});
  const std::string text = own.empty() ? variable({"all_proxy", "ALL_PROXY"}) : own;
  if (text.empty()) return std::nullopt;
  return parse_proxy(text);
}

}  // namespace celld::cli
