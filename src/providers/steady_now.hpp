// The steady clock, for the transports.
#pragma once

#include <chrono>

#include "cells/model/time.hpp"

namespace celld::providers {

inline cells::SteadyTime steady_now() {
  return cells::SteadyTime{std::chrono::duration_cast<cells::SteadyTime::duration>(
      std::chrono::steady_clock::now().time_since_epoch())};
}

}  // namespace celld::providers
