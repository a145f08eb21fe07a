// The kind `http` of providers.
#pragma once

#include "src/providers/http/settings.hpp"
#include "src/providers/provider_kind.hpp"

namespace celld::providers {

const KindOf<HttpService>& http_kind();

}  // namespace celld::providers
