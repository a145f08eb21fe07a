// The rows of schedules, for the SQLite store's writer.
#pragma once

#include <string>
#include <vector>

#include "cells/ports/job_store.hpp"
#include "src/store/sqlite.hpp"

namespace celld::store {

/// Every member throws SqliteFailure if the database fails, or if a row cannot have been written by
/// this class.
class ScheduleRows {
 public:
  explicit ScheduleRows(Connection& connection);

  std::vector<cells::Schedule> list(const cells::LoadSchedules& request);
  void save(const cells::Schedule& schedule);
  /// False: there is none.
  bool remove(const std::string& name);

  /// Whether the advance applies to what is stored.
  bool accepts(const cells::ScheduleAdvance& advance);
  /// Only if it is accepted.
  void advance(const cells::ScheduleAdvance& advance, cells::JobId last_job);

 private:
  Connection& connection_;
  Statement select_from_;
  Statement select_after_;
  Statement select_standing_;
  Statement save_;
  Statement delete_;
  Statement update_;
};

}  // namespace celld::store
