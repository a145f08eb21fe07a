// What a client asks for, and why it may be refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cells/model/cell_key.hpp"
#include "cells/model/cell_settings.hpp"
#include "cells/model/job.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// The name that a client gave a submission, so that sending it again makes no second job. Scoped
/// to the customer, and kept as long as the job.
struct Idempotency {
  std::string key;
  std::string digest;  ///< Of the request: under one key, another digest is another request.

  bool operator==(const Idempotency&) const = default;
};

/// A job as submitted; what it leaves open, its cell's quota says.
struct JobRequest {
  JobSpec spec;                       ///< `timeout` and `max_attempts` of 0: the cell's.
  std::optional<milliseconds> delay;  ///< From its acceptance; not together with `run_at`.
  std::optional<WallTime> run_at;     ///< In the past: due at once.
  std::optional<WallTime> expires_at;
  std::optional<Idempotency> idempotency;
};

/// Why a job was not accepted, or not accepted again.
struct Refusal {
  enum class Kind : std::uint8_t {
    no_cell,           ///< No cell matches its customer and product.
    timeout_too_long,  ///< `timeout` is above the cell's `timeout_max`, which is `limit` in ms.
    queue_full,        ///< The cell has `depth` unfinished jobs of `limit`.
    too_many_cells,    ///< The template has `limit` instances.
    shutting_down,     ///< celld is stopping.
    draining,          ///< An administrator lets the cell drain.
    service_gone,      ///< A service that it names has just been taken out of the configuration.
    key_reused,        ///< Another request of the customer was accepted under its idempotency key.
  };
  Kind kind = Kind::no_cell;
  CellKey cell;
  std::uint64_t limit = 0;
  std::uint64_t depth = 0;
  milliseconds retry_after{0};  ///< 1 to 3600 s where another time may be better, else 0.
};

/// The job as its cell accepts it at `now`. Its place is its id when it is due at once; unless
/// `others_first`: jobs that fell due before it have no places yet, so that it is scheduled for
/// this moment and gets its place after them. The request's timeout must not exceed the quota's.
Job accept_job(JobRequest request, const CellKey& cell, const CellSettings& settings, JobId id,
               WallTime now, bool others_first = false);

}  // namespace cells
