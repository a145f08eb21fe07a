// The provider port: make a call, abort a call.
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
    rejected,   ///< The provider refused; another attempt would not help.
    retryable,  ///< A temporary failure or an invalid answer; the provider is no longer acting.
    throttled,  ///< As retryable, but the attempt is not counted (HTTP 429).
    /// As retryable: the provider does not accept celld's credentials (HTTP 401, 403). The attempt
    /// is not counted if the service has a circuit breaker, which opens.
    unauthorized,
    /// As throttled, for a lack of celld's own, such as of descriptors: the request was not sent.
    unable,
    unknown,  ///< Timeout or broken connection: the provider may still be acting.
    aborted,  ///< Ended by AbortCall before an answer arrived; the provider may still be acting.
    pending,  ///< The provider has begun an operation; call again after `retry_after`.
  };
  Kind kind = Kind::unknown;
  std::string code;     ///< One of the API's codes, or the provider's own; empty on success.
  std::string message;  ///< Human-readable; empty on success.
  Properties properties;
  std::vector<Message> messages;
  std::optional<milliseconds> retry_after;  ///< As requested by the provider.
  bool pauses_service = false;  ///< The provider wants no call at all before `retry_after`.
  /// The new value of Step::operation, unless the step ends now; nothing: unchanged.
  std::optional<std::string> operation{};
  /// The call failed, but the provider may have done all or part of what it was asked for.
  bool in_doubt = false;
};

/// Make the call for the job's current step, or to undo it if the job compensates. The idempotency
/// key sent to the provider is the same for every attempt: "{job}.{service}", or
/// "{job}.{service}.undo".
struct StartCall {
  Lease lease;
  JobPtr job;              ///< As claimed under this lease; current_attempt(*job) is the attempt.
  milliseconds timeout{};  ///< Counts from now. The provider itself ends the call then.
};

struct CallEnded {
  Lease lease;
  CallOutcome outcome;
};

/// End the call under `lease`, if there is one; its StartCall is then answered `aborted`.
struct AbortCall {
  Lease lease;
};

/// Nothing of a call under this lease is left in the daemon, and none will start.
struct CallAborted {
  Lease lease;
};

}  // namespace cells

CELLS_MESSAGE(StartCall)
CELLS_MESSAGE(CallEnded)
CELLS_MESSAGE(AbortCall)
CELLS_MESSAGE(CallAborted)

namespace cells {

/// Makes the calls of one service, for all cells. Never blocks. Answers each StartCall exactly
/// once, at most 100 ms after its timeout. An AbortCall for an unknown lease is answered at once,
/// unless a provider actor that died has left part of that call behind.
using Provider = caf::typed_actor<
    /// Makes the call; answered once it has ended.
    caf::replies_to<StartCall>::with<CallEnded>,
    /// Aborts the call; answered once no part of it remains in the daemon.
    caf::replies_to<AbortCall>::with<CallAborted>>;

}  // namespace cells
