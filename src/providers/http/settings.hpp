// The settings of an `http` service.
#pragma once

#include <optional>
#include <string>

#include "src/config/secrets.hpp"
#include "src/providers/http/mapping/mapping.hpp"

namespace celld::providers {

/// Posts each step to a URL, as docs/api.md describes, or makes the requests of a mapping.
struct HttpService {
  std::string url;
  config::NamedSecrets headers;
  /// Its requests go to paths below `url`.
  std::optional<mappings::Mapping> mapping{};
  /// Where undos are posted, without a mapping; none: the service has no undo.
  std::optional<std::string> undo_url{};

  bool operator==(const HttpService&) const = default;
};

}  // namespace celld::providers
