// A client's request for a job, and the reasons to refuse it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cells/model/cell_key.hpp"
#include "cells/model/cell_settings.hpp"
#include "cells/model/job.hpp"
#include "cells/model/schedule.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// The name that a client gave a submission, so that repeating it creates no second job. Unique per
/// customer, and kept as long as the job.
struct Idempotency {
  std::string key;
  std::string digest;  ///< Of the request: the same key with another digest is another request.

  bool operator==(const Idempotency&) const = default;
};

class BatchGate;

/// A job as submitted. The settings of its cell supply what it leaves open.
struct JobRequest {
  JobSpec spec;                       ///< A `timeout` or `max_attempts` of 0 means the cell's.
  std::optional<milliseconds> delay;  ///< Counts from acceptance; excludes `run_at`.
  std::optional<WallTime> run_at;     ///< A time in the past means at once.
  std::optional<WallTime> expires_at;
  std::optional<Idempotency> idempotency;
  BatchId batch = 0;  ///< The batch that the job belongs to; 0: none.
  /// Shared by the jobs of one batch. Null: the request stands alone.
  std::shared_ptr<BatchGate> gate{};
  /// The due time of a schedule that the job is submitted for. The job is accepted only if the
  /// schedule has not decided that time yet.
  std::optional<ScheduleAdvance> firing{};
};

/// Why a job was not accepted, or not reopened.
struct Refusal {
  enum class Kind : std::uint8_t {
    no_cell,             ///< No cell matches the customer and product.
    timeout_too_long,    ///< `timeout` is above the cell's `timeout_max`, which is `limit` in ms.
    queue_full,          ///< The cell has `depth` unfinished jobs, of at most `limit`.
    too_many_cells,      ///< The template has `limit` instances.
    shutting_down,       ///< celld is shutting down.
    draining,            ///< The cell is draining.
    service_removed,     ///< A reload has just removed a service, or an undo, that the job needs.
    key_reused,          ///< Another request of the customer has used the idempotency key.
    cell_bytes_full,     ///< The cell's jobs take `depth` of `limit` bytes.
    memory_full,         ///< All jobs in memory take `depth` of `limit` bytes.
    durability_differs,  ///< The ended job's durability is not that of its cell now.
    queue_rate,          ///< More submissions than `per_s`.
    customer_jobs_full,  ///< The customer has `depth` unfinished jobs in the cell, at most `limit`.
    customer_bytes_full,  ///< Those jobs take `depth` of `limit` bytes.
    customer_rate,        ///< The customer submits more than `per_s`.
    job_too_large,        ///< The job alone counts for `depth` bytes; the quota is `limit`.
  };
  static constexpr std::size_t kind_count = static_cast<std::size_t>(Kind::job_too_large) + 1;
  /// Whose jobs a limit of bytes bounds.
  enum class BytesOf : std::uint8_t { cell, customer, memory };

  Kind kind = Kind::no_cell;
  CellKey cell;
  std::uint64_t limit = 0;
  std::uint64_t depth = 0;
  milliseconds retry_after{0};  ///< At most an hour. Of use only if is_temporary or is_too_fast.
  double per_s = 0;             ///< Of a rate; `limit` is this, rounded up.
  BytesOf bytes_of = BytesOf::cell;  ///< For job_too_large: what `limit` bounds.
};

/// Whether a refusal is for lack of room, or because the cell or the daemon accepts no jobs now:
/// the same request may succeed later.
bool is_temporary(Refusal::Kind kind);

/// Whether a refusal is for jobs that come too fast. A batch is read more slowly then.
bool is_too_fast(Refusal::Kind kind);

/// Whether a batch still takes jobs. The first job that is refused for lack of room closes the
/// gate, and so refuses the later ones, even if there is room for them by then, so that a batch is
/// cut off at one line. Thread-safe.
class BatchGate {
 public:
  void close() { closed_.store(true, std::memory_order_relaxed); }
  bool is_closed() const { return closed_.load(std::memory_order_relaxed); }

  /// A job came too fast and is returned. Until `go_on`, the later jobs are returned as well, so
  /// that all keep their order.
  void pause() { paused_.store(true, std::memory_order_relaxed); }
  void go_on() { paused_.store(false, std::memory_order_relaxed); }
  bool is_paused() const { return paused_.load(std::memory_order_relaxed); }

  /// A job is refused for lack of room, but may have been accepted before, under its idempotency
  /// key. Until `open_again` or `close`, the later jobs get the same refusal.
  void close_until_known(const Refusal& refusal);
  /// That job was accepted before, or is refused for another reason.
  void open_again();
  /// The refusal for which the gate is closed until more is known.
  std::optional<Refusal> closed_until_known() const;

 private:
  std::atomic<bool> closed_{false};
  std::atomic<bool> paused_{false};
  mutable std::mutex mutex_;
  std::size_t waiting_ = 0;  ///< Refused jobs whose keys are being looked up.
  Refusal refusal_;
};

/// After a temporary refusal of a job (is_temporary), closes its gate, if it has one. With an
/// idempotency key, the refusal is not final: the gate closes only until more is known.
void close_gate(const std::shared_ptr<BatchGate>& gate, bool has_key, const Refusal& refusal);

/// The job as its cell accepts it at `now`. A job that is due at once has its id as its place.
/// With `others_first`, jobs that fell due earlier have no places yet: the job is then scheduled
/// for `now` at the earliest, and gets its place after theirs. The request's timeout must not
/// exceed the cell's maximum.
Job accept_job(JobRequest request, const CellKey& cell, const CellSettings& settings, JobId id,
               WallTime now, bool others_first = false);

}  // namespace cells
