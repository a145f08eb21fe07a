// The URL at which an operation is polled, as the answer that began it says.
#pragma once

#include <string>
#include <variant>

#include "src/providers/http/exchange.hpp"
#include "src/providers/http/mapping/mapping.hpp"

namespace celld::providers {

/// Why there is no such URL.
struct NoOperationUrl {
  std::string text;         ///< Continues the name of the service.
  bool is_missing = false;  ///< The answer does not have one.
};

/// Reads the URL that `source` locates in the answer to a request at `request_url`. The result is
/// absolute and has no fragment. It has the scheme, the host and the port of the service's URL,
/// because polls carry celld's credentials.
std::variant<std::string, NoOperationUrl> read_operation_url(const mappings::UrlSource& source,
                                                             const HttpResult& result,
                                                             const std::string& request_url,
                                                             const std::string& service_url);

/// Empty if a URL has the scheme, the host and the port of the service's URL. Otherwise a clause
/// that names both.
std::string origin_fault(const std::string& url, const std::string& service_url);

}  // namespace celld::providers
