// Follows a stream of events across broken connections.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "src/cli/event_stream.hpp"
#include "src/cli/session.hpp"

namespace celld::cli {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

enum class FollowEnd {
  enough,        ///< `on_event` said so.
  nothing_more,  ///< celld said that there will be none.
  deadline,
};

/// Hands over every event. A connection that was there once and breaks is made again, a few times,
/// and goes on where it was; standard error tells of it. Throws a Failure when celld refuses, or
/// does not answer any more.
FollowEnd follow(Session& session, const std::string& path, const Deadline& deadline,
                 const OnEvent& on_event);

}  // namespace celld::cli
