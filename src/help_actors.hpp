// How a thread that is awake anyway helps the actors of an idle daemon (few_wake_ups.hpp).
#pragma once

#include <functional>

namespace celld {

/// Calls its argument once, which makes actors ready with brief handlers. May then run them on the
/// calling thread for a moment. Where it may be null, the argument is just called.
using HelpActors = std::function<void(const std::function<void()>& send)>;

}  // namespace celld
