// Jobs as people read them.
#pragma once

#include <string>

#include "src/cli/failure.hpp"
#include "src/cli/table.hpp"
#include "src/cli/time_words.hpp"
#include "src/json/json.hpp"

namespace celld::cli {

bool has_ended(const json::Value& job);

/// Ok when the job succeeded, else job_not_succeeded; not_ended when it has not ended.
ExitCode outcome_of(const json::Value& job);

/// "job 06f… is failed: timeout: … (dns)"
std::string job_sentence(const json::Value& job);

/// One line for each job. An empty list is the titles alone.
class JobTable {
 public:
  explicit JobTable(WallTime now);
  void add(const json::Value& job);
  std::string text(const TableLook& look) const { return table_.text(look); }

 private:
  WallTime now_;
  Table table_;
};

/// All there is to know about one job.
std::string job_details(const json::Value& job, WallTime now, const TableLook& look);

/// A change as one line: when, which job, its state, and how far it has come.
std::string change_line(const json::Value& job, const TableLook& look);

}  // namespace celld::cli
