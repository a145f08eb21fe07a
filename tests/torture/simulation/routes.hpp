// The routing as the documentation states it, independent of the engine's code.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "cells/model/routing.hpp"

namespace simulation {

using namespace cells;

/// Whether the rule is for jobs of this customer and product.
inline bool is_for(const CellRule& rule, const std::string& customer, const std::string& product) {
  return (rule.customer == "*" || rule.customer == customer) &&
         (rule.product == "*" || rule.product == product);
}

/// (acme, dns) goes before (acme, *), (*, dns) and (*, *).
inline int precision(const CellRule& rule) {
  return (rule.customer == "*" ? 0 : 2) + (rule.product == "*" ? 0 : 1);
}

inline CellKey cell_under(const CellRule& rule, const std::string& customer,
                          const std::string& product) {
  return {rule.per_customer ? customer : rule.customer, rule.per_product ? product : rule.product};
}

/// The most precise rule for these jobs; null: there is none.
inline const CellRule* rule_for(const Routing& routing, const std::string& customer,
                                const std::string& product) {
  const CellRule* best = nullptr;
  for (const auto& [key, rule] : routing.rules()) {
    if (!is_for(rule, customer, product)) continue;
    if (!best || precision(rule) > precision(*best)) best = &rule;
  }
  return best;
}

/// The cell of these jobs; none: no rule is for them.
inline std::optional<CellKey> cell_for(const Routing& routing, const std::string& customer,
                                       const std::string& product) {
  const CellRule* rule = rule_for(routing, customer, product);
  return rule ? std::optional{cell_under(*rule, customer, product)} : std::nullopt;
}

/// The most precise rule under which there can be a cell with this key; null: there is none.
inline const CellRule* rule_of_cell(const Routing& routing, const CellKey& cell) {
  const CellRule* best = nullptr;
  for (const auto& [key, rule] : routing.rules()) {
    const bool fits = is_for(rule, cell.customer, cell.product) &&
                      (key == cell || (rule.is_template() &&
                                       cell_under(rule, cell.customer, cell.product) == cell));
    if (fits && (!best || precision(rule) > precision(*best))) best = &rule;
  }
  return best;
}

}  // namespace simulation
