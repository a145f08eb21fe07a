// How a thread that is awake anyway helps the actors of an idle daemon (few_wake_ups.hpp).
#pragma once

#include <functional>

namespace celld {

/// Calls `send` once, which makes actors with brief handlers ready. May then run these actors on
/// the calling thread for a moment. Where a HelpActors may be null, null means a plain call of
/// `send`.
using HelpActors = std::function<void(const std::function<void()>& send)>;

}  // namespace celld
