// celld's URL, and the proxy on the way to it.
#pragma once

#include <optional>
#include <string>

namespace celld::cli {

struct Url {
  bool tls = false;
  std::string authority;  ///< As written: "HOST", "HOST:PORT" or "[ADDRESS]:PORT".
  std::string host;       ///< An IPv6 address has no brackets here.
  int port = 0;
  std::string path;  ///< Empty, or begins with a slash. Never ends with one.
};

/// Throws a Failure unless `text` is an http or https URL without user, query and fragment.
Url parse_url(const std::string& text);

struct Proxy {
  std::string host;
  int port = 0;
  std::string user;
  std::string password;
};

/// The HTTP proxy that the environment names for `url`, with curl's variables: http_proxy (only in
/// lower case), https_proxy, all_proxy, no_proxy. Nothing for a loopback address. Throws a Failure
/// when the proxy's URL is invalid.
std::optional<Proxy> proxy_for(const Url& url);

}  // namespace celld::cli
