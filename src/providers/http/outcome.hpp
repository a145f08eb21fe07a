// The outcome of a call to an `http` provider.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/model/time.hpp"
#include "cells/ports/provider.hpp"
#include "src/providers/http/exchange.hpp"

namespace celld::providers {

inline constexpr std::size_t properties_bytes_max = 256 << 10;
inline constexpr std::size_t messages_max = 100;
inline constexpr std::size_t text_bytes_max = 4 << 10;

/// The outcome of a call to `service` that ended at `now`:
///
///   2xx, of the right shape           succeeded
///   408, 423, 425, 5xx                retryable, provider_error, Retry-After honoured
///   429                               throttled, provider_error, Retry-After honoured
///   401, 403                          unauthorized, provider_error
///   other 4xx                         rejected, provider_rejected or the provider's own code
///   any other status, a wrong shape,
///   too much, or not HTTP at all      retryable, invalid_response
///   nothing was sent                  retryable, communications_error
///   celld lacked a descriptor         unable, communications_error
///   nothing was sent in time          retryable, timeout
///   broken connection                 unknown, communications_error
///   timeout                           unknown, timeout
///   aborted by celld                  aborted
///
/// `secrets` are blanked in the error code, the error message and the job's messages.
cells::CallOutcome interpret(const std::string& service, const HttpResult& result,
                             cells::WallTime now, const std::vector<std::string>& secrets = {});

// --- Parts of interpret(), for mappings ------------------------------------------------------
// They do not blank secrets.

/// As interpret() for an answer whose status is not a success. A status 2xx counts as
/// `invalid_response`.
cells::CallOutcome failed_answer(const std::string& service, const HttpResult& result,
                                 cells::WallTime now);
/// provider_error; throttled if the status is 429, otherwise retryable. Retry-After is honoured.
cells::CallOutcome retryable_answer(const std::string& service, const HttpResult& result,
                                    cells::WallTime now);
/// Rejected: provider_rejected, or what a JSON body says.
cells::CallOutcome rejected_answer(const std::string& service, const HttpResult& result);
/// invalid_response, retryable. `what` continues the name of the service.
cells::CallOutcome invalid_answer(const std::string& service, const std::string& what);
/// Rejected before any call: provider_rejected.
cells::CallOutcome rejection(std::string message);
/// Whether a provider's own error code can be that of a job.
bool is_error_code(std::string_view text);

/// Blanks `secrets` in the code, the message and the messages, and cuts them to their limits.
void blank(cells::CallOutcome& outcome, const std::vector<std::string>& secrets);
/// Appends a text of the provider to the message, a sentence of celld's own.
void append_message(const std::string& text, cells::CallOutcome& outcome);

std::string text_for_people(const std::string& text, const std::vector<std::string>& secrets);

/// The wait that `Retry-After` asks for: seconds, or an HTTP date (0 when it has passed). Nothing
/// when the text is neither.
std::optional<milliseconds> parse_retry_after(std::string_view text, cells::WallTime now);

/// At most `bytes_max` bytes of valid UTF-8, cut between characters.
std::string truncate_text(std::string text, std::size_t bytes_max);

}  // namespace celld::providers
