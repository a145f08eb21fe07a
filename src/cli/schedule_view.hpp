// Human-readable views of schedules.
#pragma once

#include <string>

#include "src/cli/table.hpp"
#include "src/json/json.hpp"

namespace celld::cli {

/// A table with one row per schedule.
class ScheduleTable {
 public:
  ScheduleTable();
  void add(const json::Value& schedule);
  std::string text(const TableLook& look) const { return table_.text(look); }

 private:
  Table table_;
};

/// Everything about one schedule, one line each.
std::string schedule_details(const json::Value& schedule, const TableLook& look);

}  // namespace celld::cli
