// The settings of an `http` service.
#pragma once

#include <string>

#include "src/config/secrets.hpp"

namespace celld::providers {

/// Posts each step to a URL; docs/api.md describes the exchange.
struct HttpService {
  std::string url;
  config::NamedSecrets headers;

  bool operator==(const HttpService&) const = default;
};

}  // namespace celld::providers
