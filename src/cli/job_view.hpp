// Human-readable views of jobs.
#pragma once

#include <string>

#include "src/cli/failure.hpp"
#include "src/cli/table.hpp"
#include "src/cli/time_words.hpp"
#include "src/json/json.hpp"

namespace celld::cli {

bool has_ended(const json::Value& job);

/// `ok` when the job succeeded, `not_ended` before its end, else `job_not_succeeded`.
ExitCode outcome_of(const json::Value& job);

/// "job 06f… failed: timeout: … (dns)"
std::string job_sentence(const json::Value& job);

/// A table with one row per job; without jobs, only the titles.
class JobTable {
 public:
  explicit JobTable(WallTime now);
  void add(const json::Value& job);
  std::string text(const TableLook& look) const { return table_.text(look); }

 private:
  WallTime now_;
  Table table_;
};

/// The fields, steps and messages of one job.
std::string job_details(const json::Value& job, WallTime now, const TableLook& look);

/// A state change as one line: time, job, state and progress.
std::string change_line(const json::Value& job, const TableLook& look);

}  // namespace celld::cli
