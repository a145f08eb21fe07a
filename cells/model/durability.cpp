#include "cells/model/durability.hpp"

#include <algorithm>

#include "cells/model/routing.hpp"

namespace cells {

std::string_view to_string(Durability durability) {
  switch (durability) {
    case Durability::disk:
      return "disk";
    case Durability::memory:
      return "memory";
  }
  return "";
}

std::optional<Durability> parse_durability(std::string_view name) {
  for (const auto durability : {Durability::disk, Durability::memory}) {
    if (to_string(durability) == name) return durability;
  }
  return std::nullopt;
}

const CellRule* conflicting_rule(const Routing& routing, const CellKey& cell,
                                 const std::string& customer, const std::string& product,
                                 Durability kept) {
  const auto forbids = [kept](const CellRule* rule) {
    return rule != nullptr && rule->settings.durability != kept;
  };
  const auto route = routing.find(customer, product);
  if (route && forbids(route->rule)) return route->rule;
  const CellRule* rule = routing.rule_of(cell);
  return forbids(rule) ? rule : nullptr;
}

bool keeps_in_memory(const Routing& routing) {
  const auto& rules = routing.rules();
  return std::any_of(rules.begin(), rules.end(), [](const auto& rule) {
    return rule.second.settings.durability == Durability::memory;
  });
}

}  // namespace cells
