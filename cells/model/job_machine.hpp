// The state machine of a job. Every change of a job after its acceptance is made here.
//
//                    run_at                    handed out
//     scheduled ───────────────▶ queued ──────────────────▶ running
//         │                       │  ▲ ▲                     │ │ │
//         │ expired               │  │ └── step succeeded, ──┘ │ │
//         │               expired │  │     another follows;    │ │ attempt failed,
//         ▼                       ▼  │     interrupted         │ │ another follows
//       failed ◀──────────────────┴──┼─────────────────────────┘ ▼
//                                    │     attempt failed,    retrying ──▶ running
//     succeeded ◀── last step ── running   no other follows      │  next_attempt_at,
//                   succeeded                                    ▼  handed out
//                                                         failed (expired)
//
// Asked to, scheduled, queued and retrying jobs become cancelled at once, and running ones at the
// end of their attempt. A failed or cancelled job can be reopened: it is queued again.
#pragma once

#include <cstdint>

#include "cells/model/cell_settings.hpp"
#include "cells/model/ids.hpp"
#include "cells/model/job.hpp"
#include "cells/model/time.hpp"

namespace cells {

inline constexpr std::uint32_t interruptions_max = 3;
inline constexpr std::size_t messages_max = 100;
inline constexpr std::size_t message_bytes_max = 4 << 10;
inline constexpr std::size_t properties_bytes_max = 256 << 10;

/// How one attempt ended, as the dispatcher saw it.
struct AttemptEnd {
  enum class Kind : std::uint8_t {
    succeeded,
    rejected,     ///< For good.
    retryable,    ///< Known to have failed.
    throttled,    ///< As retryable, but the attempt is not counted.
    unknown,      ///< Timeout or broken connection: the provider may still be acting.
    expired,      ///< Aborted because the job's `expires_at` has passed; outcome unknown.
    cancelled,    ///< Aborted because somebody asked for it; outcome unknown.
    interrupted,  ///< Cut short by a crash of ours; not counted, but three of them end the job.
    handed_back,  ///< Cut short by a stop; not counted.
  };
  Kind kind = Kind::unknown;
  std::string code;
  std::string message;
  Properties properties;
  std::vector<Message> messages;
  std::optional<milliseconds> retry_after;
};

/// The job as handed out under `lease`. It must be queued or retrying, and have a step left.
Job start_attempt(const Job& job, Lease lease, WallTime now);

/// What decides about the next attempt.
struct RetryTerms {
  RetryPolicy policy;
  milliseconds settle{0};  ///< After an unknown outcome, how long the entity is kept.
  double random = 0;       ///< In [0, 1): the jitter.
};

/// The job after the attempt that it is running has ended. When its cancellation was requested it
/// is cancelled, however the attempt ended; what that achieved is noted at the step.
Job end_attempt(const Job& job, AttemptEnd end, const RetryTerms& terms, WallTime now);

/// The job after its `expires_at` passed while it waited (scheduled, queued or retrying).
Job expire_waiting(const Job& job, WallTime now);

/// The job after it was cancelled while it waited.
Job cancel_waiting(const Job& job, WallTime now);

/// The running job with its cancellation requested.
Job request_cancel(const Job& job);

/// Whether the job has ended without success.
bool can_reopen(const Job& job);

/// A job that can be reopened, due at once in `cell` from its first unfinished service with fresh
/// attempts, at `place` in its entity's line; one whose entity is kept for it (`settle_until`) is
/// retrying until then, and keeps the place it has. An `expires_at` that has passed is dropped.
/// With no service left, the job has succeeded.
Job reopen(const Job& job, const CellKey& cell, JobId place, WallTime now);

}  // namespace cells
