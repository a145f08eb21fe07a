// From what a provider said and what was asked of it, to how the attempt ended.
#pragma once

#include "cells/model/job_machine.hpp"
#include "cells/model/lease_table.hpp"
#include "cells/ports/provider.hpp"

namespace cells {

/// What ended the attempt from our side, if anything did: a service's own clock may be the first to
/// say that its time is over.
AbortCause cause_of(const CallOutcome& outcome, AbortCause asked);

/// An answer that came before the abort took effect counts as the answer.
AttemptEnd attempt_end(CallOutcome outcome, AbortCause cause, const JobSpec& spec);

}  // namespace cells
