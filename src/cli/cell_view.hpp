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

/// "cell acme/dns is active, with 5 of 8 workers busy and 120 jobs queued"
std::string cell_sentence(const json::Value& cell);

}  // namespace celld::cli
