// How a job is kept: on disk, or in memory only.
//
// All open jobs (unfinished or settling) of one customer and product are kept the same way, and so
// are those of one cell: a job is kept as its cell says, and celld adopts no configuration that
// would change the durability of an open job (`conflicting_rule`). An entity belongs to one
// customer and product, so its line is never divided (promise P6).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cells/model/cell_key.hpp"

namespace cells {

class Routing;
struct CellRule;

enum class Durability : std::uint8_t {
  disk,    ///< An accepted job survives a crash and a power cut (promise P1).
  memory,  ///< A crash forgets the job, and so does a shutdown unless its cell keeps it.
};
/// The name in the API and in the configuration, for example "disk".
std::string_view to_string(Durability durability);
/// The inverse of to_string; nothing for an unknown name.
std::optional<Durability> parse_durability(std::string_view name);

/// A rule that conflicts with `kept`, the durability of the open jobs of this cell, customer and
/// product: the rule of the cell that the routing names for them, or the rule of the cell that they
/// are in. Null: neither conflicts.
const CellRule* conflicting_rule(const Routing& routing, const CellKey& cell,
                                 const std::string& customer, const std::string& product,
                                 Durability kept);

/// Whether some cell keeps its jobs in memory.
bool keeps_in_memory(const Routing& routing);

}  // namespace cells
