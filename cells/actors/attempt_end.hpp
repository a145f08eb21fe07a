// How an attempt ended, from the outcome of its call and the cause of its abort.
#pragma once

#include "cells/model/job_machine.hpp"
#include "cells/model/lease_table.hpp"
#include "cells/model/service_guard.hpp"
#include "cells/ports/provider.hpp"

namespace cells {

/// Why celld ended the attempt, if it did. Provider and dispatcher both watch the deadline: when
/// the provider ends the call first, the cause is a timeout all the same.
AbortCause cause_of(const CallOutcome& outcome, AbortCause asked);

/// An answer that arrived before the abort took effect still counts. `has_circuit`: the service has
/// a circuit breaker.
AttemptEnd attempt_end(CallOutcome outcome, AbortCause cause, const JobSpec& spec,
                       bool has_circuit);

/// What the end says about the provider. `cause` comes from cause_of().
ProviderSign sign_of(const CallOutcome& outcome, AbortCause cause);

}  // namespace cells
