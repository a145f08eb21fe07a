// Whether celld accepts jobs. The daemon sets it; /readyz shows it.
#pragma once

#include <atomic>
#include <cstdint>

namespace celld::api {

enum class ReadyState : std::uint8_t {
  starting,  ///< Until the engine is attached.
  ready,
  shutting_down,  ///< A shutdown was requested.
  store_failed,   ///< The store can no longer commit; celld is about to exit.
};

struct Readiness {
  std::atomic<ReadyState> state{ReadyState::starting};
};

}  // namespace celld::api
