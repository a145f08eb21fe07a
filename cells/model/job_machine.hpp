// The state machine of a job: it makes every change to a job after its acceptance, except those
// that job_store.hpp leaves to the store: places, moves between cells, and marks of failed
// predecessors.
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
// A job with `on_failure` = compensate that has something to undo compensates before it is failed:
//
//      wherever the picture above            next_attempt_at,
//      says "failed"  ───────▶ compensating ──────────────────▶ running (an undo)
//                                    ▲           handed out        │ │
//                                    └── another undo follows ─────┘ │ none follows
//                                                                    ▼
//                                                                  failed
//
// Steps are undone one after the other, the last first: those that succeeded, those that had an
// attempt with an unknown outcome, and those that have begun an operation. An undo is tried like a
// step: as often, with the same backoff, timeout and bound on interruptions. An undo
// that fails for good leaves its step as undo_failed, and the next undo follows. The job keeps its
// first error. A compensating job can neither expire nor be cancelled.
//
// An attempt whose provider has begun an operation (AttemptEnd::Kind::pending) takes several calls.
// Between them the job is retrying, and its step stays running and keeps the operation.
//
// On request, a scheduled, queued or retrying job is cancelled at once, and a running one when its
// attempt ends. A failed or cancelled job can be reopened, unless a step of it was undone: it is
// queued again. A job behind a failed one in its entity's line is cancelled if its cell says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cells/model/cell_settings.hpp"
#include "cells/model/ids.hpp"
#include "cells/model/job.hpp"
#include "cells/model/time.hpp"

namespace cells {

inline constexpr std::uint32_t interruptions_max = 3;
inline constexpr std::size_t messages_max = 100;
inline constexpr std::size_t message_bytes_max = 4 << 10;
inline constexpr std::size_t properties_bytes_max = 256 << 10;
/// The longest wait between two calls of an operation.
inline constexpr milliseconds operation_wait_max{24 * 3600 * 1000};

/// How one attempt ended, as the dispatcher saw it.
struct AttemptEnd {
  enum class Kind : std::uint8_t {
    succeeded,
    rejected,     ///< Failed for good.
    retryable,    ///< Known to have failed; another attempt may succeed.
    throttled,    ///< As retryable, but the attempt is not counted.
    unknown,      ///< Timeout or broken connection: the provider may still be acting.
    expired,      ///< Aborted because the job's `expires_at` has passed; outcome unknown.
    cancelled,    ///< Aborted because the job is to be cancelled; outcome unknown.
    interrupted,  ///< Cut short by a crash in celld; not counted. See Job::interruptions.
    /// Not counted: cut short by a shutdown, never begun, or its lease did not reach the worker.
    handed_back,
    pending,  ///< The attempt continues after `retry_after`, with `operation`.
  };
  Kind kind = Kind::unknown;
  std::string code;
  std::string message;
  Properties properties;
  std::vector<Message> messages;
  std::optional<milliseconds> retry_after;
  std::optional<StepReport> report;        ///< Set if a worker outside reported the end.
  bool is_probe = false;                   ///< A failed probe is not counted.
  bool never_began = false;                ///< The provider was certainly not called.
  std::optional<std::string> operation{};  ///< Replaces Step::operation, unless the step ends.
  bool in_doubt = false;                   ///< As CallOutcome::in_doubt.
};

/// The job, running under `lease`. `job` must be queued, retrying or compensating, and have a step
/// left. `worker` is the name of the worker outside that has the lease; empty: a worker inside has
/// it.
Job start_attempt(const Job& job, Lease lease, WallTime now, std::string worker = {});

/// The running job, after its worker outside has reported its progress.
Job note_progress(const Job& job, std::optional<double> progress, std::string message,
                  WallTime now);

/// What determines when the next attempt begins.
struct RetryInputs {
  RetryPolicy policy;
  milliseconds settle{0};  ///< How long the entity is kept after an unknown outcome.
  double random = 0;       ///< In [0, 1): the jitter.
};

/// The running job after its attempt has ended. If its cancellation was requested, the job is
/// cancelled however the attempt ended; its step still shows a success.
Job end_attempt(const Job& job, AttemptEnd end, const RetryInputs& inputs, WallTime now);

/// The job after it has expired while scheduled, queued or retrying.
Job expire_waiting(const Job& job, WallTime now);

/// The job after it was cancelled while scheduled, queued or retrying.
Job cancel_waiting(const Job& job, WallTime now);

/// The job after it was cancelled while scheduled, queued or retrying, because a job ahead of it in
/// its line has failed.
Job cancel_follower(const Job& job, WallTime now);

/// Whether a client may cancel the job: it has neither ended nor begun its compensation.
bool can_cancel(const Job& job);

/// The running job, marked for cancellation.
Job request_cancel(const Job& job);

/// Whether the job has failed or been cancelled, and no step of it was undone.
bool can_reopen(const Job& job);

/// The reopened job: due at once in `cell`, at `place` in its entity's line. It continues at its
/// first step that has not succeeded, and attempts are counted from zero. If the job still keeps
/// its entity (`settle_until`), it is retrying until then, and keeps its place. An `expires_at`
/// that has passed is dropped. A job with no step left has succeeded.
Job reopen(const Job& job, const CellKey& cell, JobId place, WallTime now);

}  // namespace cells
