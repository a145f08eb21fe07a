// Turns error responses into failures.
#pragma once

#include <string>
#include <string_view>

#include "src/cli/client.hpp"

namespace celld::cli {

/// Whether a response other than 2xx is a problem document, as celld's are; a proxy's seldom is.
bool is_problem(const Answer& answer);

/// The failure that a response other than 2xx stands for. Its text has the problem's title and
/// status, then its detail, then each fault with its pointer, one per line. For a response that is
/// not a problem document, the text has the status and the beginning of the body.
Failure failure_of(const Answer& answer);

/// Throws a Failure unless a 2xx response is a document with this member, as celld's always is:
/// something else has answered in its place.
void check_member(const Answer& answer, std::string_view member);

}  // namespace celld::cli
