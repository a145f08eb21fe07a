// Whether celld takes jobs; written by the composition, shown by /readyz.
#pragma once

#include <atomic>
#include <cstdint>

namespace celld::api {

enum class ReadyState : std::uint8_t {
  starting,  ///< Until the engine is attached.
  ready,
  shutting_down,  ///< Asked to stop.
  store_failed,   ///< Cannot commit any more; celld is about to end.
};

struct Readiness {
  std::atomic<ReadyState> state{ReadyState::starting};
};

}  // namespace celld::api
