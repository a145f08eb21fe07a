// Human-readable views of cells.
#pragma once

#include <string>

#include "src/cli/table.hpp"
#include "src/json/json.hpp"

namespace celld::cli {

/// A table with one row per cell.
class CellTable {
 public:
  CellTable();
  void add(const json::Value& cell);
  std::string text(const TableLook& look) const { return table_.text(look); }

 private:
  Table table_;
};

/// "cell acme/dns is active, with a pool of 8 (overridden: size); jobs: 5 running, 120 queued"
std::string cell_sentence(const json::Value& cell);

}  // namespace celld::cli
