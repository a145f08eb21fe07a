// Which cell serves a customer and product.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cells/model/cell_key.hpp"
#include "cells/model/cell_settings.hpp"

namespace cells {

struct Route {
  CellKey cell;          ///< Of a template: the key of the instance.
  const CellRule* rule;  ///< Lives as long as the Routing. Never null.
};

/// The configured cells. Immutable. The most specific rule wins: (customer, product),
/// (customer, *), (*, product), (*, *).
class Routing {
 public:
  /// No two rules may have the same customer and product; a template's own parts are `*` where it
  /// says `per`.
  explicit Routing(std::vector<CellRule> rules);

  /// The cell for a job; nothing when no rule matches.
  std::optional<Route> find(const std::string& customer, const std::string& product) const;

  /// The rule that a cell of this key belongs to: its own, or the template it is an instance of.
  /// Null when the configuration has no such cell. A template's own key gives the template.
  const CellRule* rule_of(const CellKey& cell) const;

  /// In order of their keys.
  const std::map<CellKey, CellRule>& rules() const { return rules_; }

 private:
  std::map<CellKey, CellRule> rules_;
};

}  // namespace cells
