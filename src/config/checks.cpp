#include "src/config/checks.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace celld::config {
namespace {

constexpr std::size_t name_bytes_max = 63;
constexpr std::size_t url_bytes_max = 2048;
constexpr std::size_t header_name_bytes_max = 128;
constexpr std::size_t header_value_bytes_max = 8192;

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool is_host(std::string_view host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    const std::string address(host.substr(1, host.size() - 2));
    in6_addr ignored{};
    return inet_pton(AF_INET6, address.c_str(), &ignored) == 1;
  }
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return is_alphanumeric(c) || c == '.' || c == '-' || c == '_';
  });
}

bool is_port(std::string_view digits) {
  std::uint32_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return error == std::errc() && end == digits.data() + digits.size() && port >= 1 && port <= 65535;
}

/// "host", "host:port", "[address]" or "[address]:port".
std::string authority_fault(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (!is_host(authority.substr(0, colon))) return "must name a host";
  if (colon != std::string_view::npos && !is_port(authority.substr(colon + 1)))
    return "must have a port from 1 to 65535";
  return "";
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= name_bytes_max && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_loopback(const std::string& host) {
  if (host.find('\0') != std::string::npos) return false;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
  return lower_case(host) == "localhost";
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower;
}

std::string url_fault(std::string_view url) {
  if (url.size() > url_bytes_max)
    return "must have at most " + std::to_string(url_bytes_max) + " bytes";
  const auto printable = [](char c) { return c > 0x20 && c < 0x7F; };
  if (!std::all_of(url.begin(), url.end(), printable))
    return "must be ASCII without spaces or control characters";
  const std::size_t scheme_end = url.find("://");
  const std::string scheme = lower_case(url.substr(0, std::min(scheme_end, url.size())));
  if (scheme_end == std::string_view::npos || (scheme != "http" && scheme != "https"))
    return "must begin with http:// or https://";
  if (url.find('#') != std::string_view::npos) return "must not have a fragment";
  const std::string_view rest = url.substr(scheme_end + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  if (authority.find('@') != std::string_view::npos)
    return "must not have a user or a password: put credentials into `headers`";
  return authority_fault(authority);
}

std::string header_name_fault(std::string_view name) {
  static constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  static constexpr std::array<std::string_view, 9> own = {
      "connection", "content-encoding", "content-length",    "content-type", "expect",
      "host",       "idempotency-key",  "transfer-encoding", "traceparent"};
  const bool is_token = !name.empty() && name.size() <= header_name_bytes_max &&
                        std::all_of(name.begin(), name.end(), [](char c) {
                          return is_alphanumeric(c) || marks.find(c) != std::string_view::npos;
                        });
  if (!is_token) return "is not a header name";
  if (std::find(own.begin(), own.end(), lower_case(name)) != own.end())
    return "is a header that celld sets itself";
  return "";
}

std::string header_value_fault(std::string_view value) {
  if (value.empty()) return "must not be empty";
  if (value.size() > header_value_bytes_max)
    return "must have at most " + std::to_string(header_value_bytes_max) + " bytes";
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  };
  if (std::any_of(value.begin(), value.end(), is_control))
    return "must not contain line breaks or other control characters";
  return "";
}

}  // namespace celld::config
