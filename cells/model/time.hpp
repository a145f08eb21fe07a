// The two time lines of the engine. Time is always an argument here: nothing below `src/` asks a
// clock, except an actor once per handler, through the clock it was given.
#pragma once

#include <chrono>
#include <cstdint>

namespace cells {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Durations and deadlines: never jumps, has no meaning outside this process.
struct SteadyScale {
  using duration = microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SteadyScale, duration>;
  static constexpr bool is_steady = true;
};

/// Due times and everything that is written down: milliseconds since 1970 UTC; may jump.
struct WallScale {
  using duration = milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<WallScale, duration>;
  static constexpr bool is_steady = false;
};

using SteadyTime = SteadyScale::time_point;
using WallTime = WallScale::time_point;

/// Both clocks, read together once at the start of a handler.
struct Now {
  SteadyTime steady;
  WallTime wall;
};

}  // namespace cells
