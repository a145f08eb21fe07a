// The name of a cell: the customer and the product that it serves.
#pragma once

#include <compare>
#include <string>

namespace cells {

/// `*` stands for any customer or any product.
struct CellKey {
  std::string customer = "*";
  std::string product = "*";

  auto operator<=>(const CellKey&) const = default;
};

/// The cell of jobs that have left one cell and not yet reached the next. No configured cell can
/// have this name.
inline const CellKey between_cells{"", ""};

inline std::string to_string(const CellKey& key) {
  return key.customer + "/" + key.product;
}

}  // namespace cells
