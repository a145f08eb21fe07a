// Human-readable views of services.
#pragma once

#include <string>

#include "src/cli/table.hpp"
#include "src/json/json.hpp"

namespace celld::cli {

/// A table with one row per service.
class ServiceTable {
 public:
  ServiceTable();
  void add(const json::Value& service);
  std::string text(const TableLook& look) const { return table_.text(look); }

 private:
  Table table_;
};

/// Everything about one service, one line each.
std::string service_details(const json::Value& service, const TableLook& look);

}  // namespace celld::cli
