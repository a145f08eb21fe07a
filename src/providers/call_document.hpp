// What a call tells its provider about the job.
#pragma once

#include <string>

#include "cells/model/job.hpp"

namespace celld::providers {

/// "{job}.{service}": the same for every attempt at the job's current step, so that a provider can
/// recognise repeats. For attempts to undo it, "{job}.{service}.undo".
std::string idempotency_key(const cells::Job& job);

/// The JSON document that describes the job's current step, its attempt, and the results of earlier
/// steps.
std::string call_document(const cells::Job& job);

}  // namespace celld::providers
