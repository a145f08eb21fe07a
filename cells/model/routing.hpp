// Which cell runs the jobs of a customer and product.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cells/model/cell_key.hpp"
#include "cells/model/cell_settings.hpp"

namespace cells {

struct Route {
  CellKey cell;          ///< For a template, the key of the instance.
  const CellRule* rule;  ///< Lives as long as the Routing. Never null.
};

/// The configured cells. Immutable. The most specific rule wins: (customer, product),
/// (customer, *), (*, product), (*, *).
class Routing {
 public:
  /// No two rules may have the same customer and product. A template has `*` wherever it makes one
  /// cell per customer or per product.
  explicit Routing(std::vector<CellRule> rules);

  /// The cell for a job; nothing when no rule matches.
  std::optional<Route> find(const std::string& customer, const std::string& product) const;

  /// The rule of the cell with this key: its own, or that of its template. Null when the
  /// configuration has no such cell. The key of a template gives the template.
  const CellRule* rule_of(const CellKey& cell) const;

  /// Ordered by key.
  const std::map<CellKey, CellRule>& rules() const { return rules_; }

 private:
  std::map<CellKey, CellRule> rules_;
};

}  // namespace cells
