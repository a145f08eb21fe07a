// The kind `pull`: workers outside celld lease the jobs of its services.
#pragma once

#include "src/providers/provider_kind.hpp"

namespace celld::providers {

/// It has no settings of its own.
struct PullService {
  bool operator==(const PullService&) const = default;
};

const KindOf<PullService>& pull_kind();

}  // namespace celld::providers
