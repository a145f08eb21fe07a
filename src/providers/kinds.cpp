#include "src/providers/kinds.hpp"

#include "src/providers/command/kind.hpp"
#include "src/providers/http/kind.hpp"
#include "src/providers/pull/kind.hpp"
#include "src/providers/simulated/kind.hpp"

namespace celld::providers {

const std::vector<const ProviderKind*>& kinds() {
  static const std::vector<const ProviderKind*> all = {&http_kind(), &command_kind(), &pull_kind(),
                                                       &simulated_kind()};
  return all;
}

config::ServiceKinds service_kinds() {
  return {kinds().begin(), kinds().end()};
}

}  // namespace celld::providers
