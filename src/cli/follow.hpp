// Follows an event stream across broken connections.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "src/cli/event_stream.hpp"
#include "src/cli/session.hpp"

namespace celld::cli {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

enum class FollowEnd {
  enough,        ///< `on_event` returned false.
  nothing_more,  ///< celld reported that no more events follow.
  deadline,
};

/// Passes every event to `on_event`. Once connected, reconnects up to ten times in a row when the
/// connection breaks, resumes after the last event, and reports each attempt on standard error.
/// Throws a Failure when celld refuses or stays unreachable.
FollowEnd follow(Session& session, const std::string& path, const Deadline& deadline,
                 const OnEvent& on_event);

}  // namespace celld::cli
