// The kind `pull`: workers outside celld lease the jobs of its services.
#pragma once

#include "src/providers/provider_kind.hpp"

namespace celld::providers {

struct PullService {
  bool undoes = false;  ///< Its workers undo steps, too.

  bool operator==(const PullService&) const = default;
};

const KindOf<PullService>& pull_kind();

}  // namespace celld::providers
