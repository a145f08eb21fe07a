// Refusals of celld, in words.
#pragma once

#include <string>

#include "src/cli/client.hpp"

namespace celld::cli {

/// What an answer other than 2xx means: the problem's title and status, its detail, and each fault
/// with its pointer, a line each. An answer that is no problem is told by its status and its start.
Failure failure_of(const Answer& answer);

}  // namespace celld::cli
