// What the engine asks of a provider: to make one call, and to abort one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cells/model/ids.hpp"
#include "cells/model/job.hpp"
#include "cells/ports/actor_types.hpp"

namespace cells {

/// How one call ended.
struct CallOutcome {
  enum class Kind : std::uint8_t {
    succeeded,  ///< `properties` and `messages` are the result.
    rejected,   ///< The provider said no; another attempt would not help.
    retryable,  ///< The provider said not now, or answered nonsense; it is known to have ended.
    throttled,  ///< As retryable, but uses up no attempt (HTTP 429).
    unknown,    ///< Timeout or broken connection: the provider may still be acting.
    aborted,    ///< Ended by AbortCall before an answer came; the provider may still be acting.
  };
  Kind kind = Kind::unknown;
  std::string code;     ///< An error code of API.md or the provider's own; empty on success.
  std::string message;  ///< For people; empty on success.
  Properties properties;
  std::vector<Message> messages;
  std::optional<milliseconds> retry_after;  ///< As asked for by the provider.
};

/// Calls `service` for the job's current step. The key sent to the provider is the same for every
/// attempt: "{job}.{service}".
struct StartCall {
  Lease lease;
  JobPtr job;  ///< As recorded under this lease: `job->steps[job->step].attempts` is the attempt.
  milliseconds timeout{};  ///< From now; the provider ends the call by itself when it has passed.
};

struct CallEnded {
  Lease lease;
  CallOutcome outcome;
};

/// Ends the call under `lease`, if there is one: its StartCall is answered `aborted` at once.
struct AbortCall {
  Lease lease;
};

/// No call under the lease is in flight from here, and none will start.
struct CallAborted {
  Lease lease;
};

}  // namespace cells

CELLS_MESSAGE(StartCall)
CELLS_MESSAGE(CallEnded)
CELLS_MESSAGE(AbortCall)
CELLS_MESSAGE(CallAborted)

namespace cells {

/// One per configured service, shared by all cells. Never blocks. Answers each StartCall exactly
/// once, at most 100 ms after its timeout. An AbortCall for a lease that it does not know is
/// answered at once, unless a provider before it that died has left something of such a call.
using Provider = caf::typed_actor<
    /// Makes the call; answered when it has ended.
    caf::replies_to<StartCall>::with<CallEnded>,
    /// Aborts the call; answered when nothing of it is left here.
    caf::replies_to<AbortCall>::with<CallAborted>>;

}  // namespace cells
