// The name of a cell: which customer and product it serves.
#pragma once

#include <compare>
#include <string>

namespace cells {

/// `*` in either place stands for any customer or product.
struct CellKey {
  std::string customer = "*";
  std::string product = "*";

  auto operator<=>(const CellKey&) const = default;
};

/// Where jobs stand that have left one cell and not yet come to the next: no configuration can have
/// a cell of this name.
inline const CellKey between_cells{"", ""};

inline std::string to_string(const CellKey& key) {
  return key.customer + "/" + key.product;
}

}  // namespace cells
