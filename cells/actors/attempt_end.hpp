// How an attempt ended, from the outcome of its call and the cause of its abort.
#pragma once

#include "cells/model/job_machine.hpp"
#include "cells/model/lease_table.hpp"
#include "cells/ports/provider.hpp"

namespace cells {

/// Why celld ended the attempt, if it did. Provider and dispatcher both watch the deadline: when
/// the provider ends the call first, the cause is a timeout all the same.
AbortCause cause_of(const CallOutcome& outcome, AbortCause asked);

/// An answer that arrived before the abort took effect still counts.
AttemptEnd attempt_end(CallOutcome outcome, AbortCause cause, const JobSpec& spec);

}  // namespace cells
