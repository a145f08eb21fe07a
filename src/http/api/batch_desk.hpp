// The actor behind /v1/batches. It submits the lines of all batches that are being read, a bounded
// number at a time over all of them, so that the engine and the store have room for other clients,
// whatever the batches contain. While the bound is reached, the desk holds back the senders. It
// never blocks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cells/actors/protocol.hpp"
#include "src/http/api/batch_tally.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/api/submission.hpp"
#include "src/http/server.hpp"

namespace celld::api {

struct BatchLimits {
  std::size_t reading_max = 32;  ///< Batches that are being read at the same time.
  /// Submissions without an answer, of all batches together. A client's own submission waits behind
  /// at most this many.
  std::size_t unanswered_max = 256;
  std::size_t unanswered_bytes_max = 8 << 20;
  /// When `reading_max` batches are being read and another arrives, the desk ends the waiting batch
  /// that has completed no line for the longest time, if that is at least this long.
  std::chrono::milliseconds idle_max{5000};
  /// After a batch has ended early, the rest of its body is read and dropped for this long before
  /// the answer: most clients read no answer while they send.
  std::chrono::milliseconds discard_max{10'000};
  std::size_t waiting_max = 1000;  ///< Clients with `Prefer: wait`.
  std::size_t waiting_bytes_max = 16 << 20;
  std::size_t lines_per_turn = 64;  ///< Submitted of one batch before the next one's turn.
  /// The most lines that a batch may have in flight while a quota delays others of its lines.
  std::size_t paced_lines = 64;
  /// Batches whose body has ended and which a quota still delays, and what the delayed lines of all
  /// batches may take together. Beyond either, a batch that is delayed ends early.
  std::size_t delayed_max = 1000;
  std::size_t delayed_bytes_max = 32 << 20;
  /// Lines whose outcome is kept because an earlier line has no answer yet: rejected lines may
  /// follow that line without end. Beyond this number, the batch waits for the answer.
  std::size_t tally_lines = 65'536;
  std::size_t cancelled_batches = 1000;   ///< Read at a time when celld starts.
  std::size_t cancelled_jobs = 256;       ///< Jobs to cancel that are read at a time.
  std::size_t cancelled_bytes = 1 << 20;  ///< Of these jobs.
};

/// The counters of all batches since the start. Thread-safe.
struct BatchFigures {
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> replayed{0};
  std::atomic<std::uint64_t> rejected{0};
  std::atomic<std::uint64_t> reading{0};  ///< Batches that are being read now.
};

/// A POST of a batch, shared by its sink and the desk.
struct BatchPost {
  BatchPost(cells::BatchOwner owned_by, http::Responder answers_to,
            std::shared_ptr<http::BodyFlow> flow_of_body, std::optional<std::chrono::seconds> waits)
      : owner(std::move(owned_by)),
        responder(std::move(answers_to)),
        flow(std::move(flow_of_body)),
        wait(waits) {}

  cells::BatchOwner owner;
  http::Responder responder;
  std::shared_ptr<http::BodyFlow> flow;
  std::optional<std::chrono::seconds> wait;  ///< `Prefer: wait`.
  /// Why the client may not go on, if it may not: its token may have gone since the request began.
  /// Thread-safe. Empty: it always may.
  std::function<std::optional<Problem>()> refusal{};
  std::shared_ptr<cells::BatchGate> gate = std::make_shared<cells::BatchGate>();
  std::atomic<bool> drops_lines{false};  ///< The batch has ended: the sink drops what arrives.
};
using BatchPostPtr = std::shared_ptr<BatchPost>;

// --- From a sink -----------------------------------------------------------------------------

/// Open a batch, and resume the flow, which the sink has paused.
struct BeginBatch {
  BatchPostPtr post;
};

struct GoodLine {
  std::uint64_t line = 0;
  Submission submission;
};
struct BadLine {
  std::uint64_t line = 0;
  std::shared_ptr<const Problem> problem;  ///< Null: the line need not be listed.
};
/// Submit these lines, each list in order, and resume the flow, which the sink has paused.
struct SubmitLines {
  BatchPostPtr post;
  std::vector<GoodLine> good;
  std::vector<BadLine> bad;
  std::uint64_t next = 1;                  ///< The line that follows.
  std::shared_ptr<const Problem> fault{};  ///< Why the rest cannot be read.
  bool is_last = false;                    ///< The body has ended; the flow is not paused.
};

/// The body ended in the middle: keep what was accepted.
struct AbandonBatch {
  BatchPostPtr post;
};

// --- From the handlers -----------------------------------------------------------------------

struct GetBatch {
  cells::BatchId id = 0;
  cells::BatchOwner client{};
  http::Responder responder;
};
struct GetBatches {
  cells::ListBatches list;
  http::Responder responder;
};
struct PostBatchCancel {
  cells::BatchId id = 0;
  cells::BatchOwner client{};
  http::Responder responder;
};

// --- From the composition --------------------------------------------------------------------

/// The part of the store that the desk writes to.
using BatchStore =
    caf::typed_actor<caf::replies_to<cells::OpenBatch>::with<cells::BatchOpened>,
                     caf::replies_to<cells::CloseBatch>::with<cells::BatchClosed>,
                     caf::replies_to<cells::MarkCancelled>::with<cells::CancelledMarked>>;

/// Use this engine from now on, and continue the cancellations that the last run did not finish.
/// Until this message, every request is answered with a 503.
struct ServeBatches {
  cells::CellDispatcher dispatcher;
  cells::JobReader reader;
  BatchStore store;
};

/// The tokens have changed: end the batches whose clients may not go on.
struct CheckRefusals {};
/// celld is shutting down: end every batch at the line that it has reached.
struct EndReading {};
/// celld is shutting down: answer every client that waits for the end of a batch.
struct ReleaseBatchWaiters {};

// --- To itself -------------------------------------------------------------------------------

/// Do what is due.
struct BatchTick {};
/// A batch that a quota of submissions held back may continue.
struct ResumeDelayed {
  std::chrono::steady_clock::time_point at;  ///< Another one may have been armed since.
};

/// To the canceller: cancel the jobs of this batch that have not ended.
struct CancelJobsOf {
  cells::BatchId id = 0;
};

}  // namespace celld::api

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::BeginBatch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::SubmitLines)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::AbandonBatch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::GetBatch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::GetBatches)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::PostBatchCancel)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::ServeBatches)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::CheckRefusals)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::EndReading)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::ReleaseBatchWaiters)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::BatchTick)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::ResumeDelayed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::CancelJobsOf)

namespace celld::api {

/// Answers every request exactly once, unless its client has gone.
using BatchDesk = caf::typed_actor<
    caf::reacts_to<ServeBatches>, caf::reacts_to<BeginBatch>, caf::reacts_to<SubmitLines>,
    caf::reacts_to<AbandonBatch>, caf::reacts_to<GetBatch>, caf::reacts_to<GetBatches>,
    caf::reacts_to<PostBatchCancel>, caf::reacts_to<CheckRefusals>, caf::reacts_to<EndReading>,
    caf::reacts_to<ReleaseBatchWaiters>, caf::reacts_to<BatchTick>, caf::reacts_to<ResumeDelayed>>;

BatchDesk spawn_batch_desk(caf::actor_system& system, std::function<cells::WallTime()> wall_clock,
                           std::shared_ptr<BatchFigures> figures, const BatchLimits& limits = {});

}  // namespace celld::api
