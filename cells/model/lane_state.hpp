// What a cell has to hand out of one lane.
#pragma once

#include <cstdint>

namespace cells {

/// How a cell answers when it grants less than it was asked for.
enum class LaneState : std::uint8_t {
  more,   ///< It could grant more at once, or might once the store has answered it.
  busy,   ///< It has work and no free slot, and will offer one.
  empty,  ///< It has nothing to lease, and will report when it has.
};

}  // namespace cells
