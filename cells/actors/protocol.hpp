// Every conversation of the engine: its messages, grouped by direction, and its typed interfaces.
// Commands are imperative, events past tense. README.md beside this folder draws the flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cells/model/cell_key.hpp"
#include "cells/model/ids.hpp"
#include "cells/model/job.hpp"
#include "cells/model/status.hpp"
#include "cells/model/submission.hpp"
#include "cells/ports/job_store.hpp"
#include "cells/ports/provider.hpp"

namespace cells {

// --- From the API to the cell dispatcher -------------------------------------------------------

/// Accept this job; answered after it is on disk.
struct SubmitJob {
  JobRequest request;
};
struct JobSubmitted {
  JobPtr job;  ///< Null when refused.
  std::optional<Refusal> refusal;
};

/// Tell about one cell.
struct DescribeCell {
  CellKey cell;
};
struct CellDescribed {
  std::optional<CellStatus> status;  ///< None: there is no such cell.
};

/// Tell about the cells after the given one, in order of their keys.
struct ListCells {
  std::optional<CellKey> after;
  std::size_t limit = 50;
};
struct CellsListed {
  std::vector<CellStatus> cells;
  bool more = false;
};

/// Make the pool of a cell this big until told otherwise; none: as configured. Answered after it is
/// on disk and in force: no job starts any more beyond the new size.
struct ResizePool {
  CellKey cell;
  std::optional<std::uint32_t> size;
};

/// Stop (promise P11): refuse new jobs, let what runs finish for at most `grace`, hand the rest
/// back to the queue, and flush the store.
struct Drain {
  milliseconds grace{};
};
struct Drained {
  std::size_t handed_back = 0;
};

// --- From the engine to whoever watches --------------------------------------------------------

/// A job took on this form, and (unless it just began to run) this is on disk.
struct JobChanged {
  JobPtr job;
};

}  // namespace cells

CELLS_MESSAGE(SubmitJob)
CELLS_MESSAGE(JobSubmitted)
CELLS_MESSAGE(DescribeCell)
CELLS_MESSAGE(CellDescribed)
CELLS_MESSAGE(ListCells)
CELLS_MESSAGE(CellsListed)
CELLS_MESSAGE(ResizePool)
CELLS_MESSAGE(Drain)
CELLS_MESSAGE(Drained)
CELLS_MESSAGE(JobChanged)

namespace cells {

/// Hears of every change of every job, in order for each job.
using JobObserver = caf::typed_actor<
    /// The answer to a submission reaches the submitter before any change of that job is told.
    caf::reacts_to<JobChanged>>;

/// Knows the routing, starts cells, and sends each job to its cell. One per daemon.
using CellDispatcher = caf::typed_actor<
    caf::replies_to<SubmitJob>::with<JobSubmitted>,
    caf::replies_to<DescribeCell>::with<CellDescribed>,
    caf::replies_to<ListCells>::with<CellsListed>,
    caf::replies_to<ResizePool>::with<CellDescribed>,
    caf::replies_to<Drain>::with<Drained>>;

}  // namespace cells
