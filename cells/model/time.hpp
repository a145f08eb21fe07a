// The two time scales of the engine. The model takes time as an argument; an actor reads its clocks
// once per handler. Nothing else below `cells/` reads a clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace cells {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// For durations and deadlines: never jumps, and has no meaning outside this process.
struct SteadyScale {
  using duration = microseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SteadyScale, duration>;
  static constexpr bool is_steady = true;
};

/// For due times and everything stored: milliseconds since 1970 UTC; may jump.
struct WallScale {
  using duration = milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<WallScale, duration>;
  static constexpr bool is_steady = false;
};

using SteadyTime = SteadyScale::time_point;
using WallTime = WallScale::time_point;

/// Both clocks, read together once per handler.
struct Now {
  SteadyTime steady;
  WallTime wall;
};

}  // namespace cells
