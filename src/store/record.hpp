// A job as a row of the table `jobs`: its columns, and how to write and read them. The form of the
// row is part of the schema and changes only as schema.hpp prescribes.
#pragma once

#include <string>

#include "cells/model/job.hpp"
#include "src/store/job_rules.hpp"
#include "src/store/sqlite.hpp"

namespace celld::store {

/// The customer and product of a job. The schema calls it an origin.
struct RoutingKey {
  std::string customer;
  std::string product;

  auto operator<=>(const RoutingKey&) const = default;
};

/// Resolves the ids of cells, routing keys and lanes in a row. Throws SqliteFailure for an unknown
/// id.
class Names {
 public:
  virtual ~Names() = default;
  virtual const cells::CellKey& cell(std::int64_t id) = 0;
  virtual const RoutingKey& routing_key(std::int64_t id) = 0;
  /// Empty for 0.
  virtual const std::string& lane(std::int64_t id) = 0;
};

// SQLite's integers are signed; ids and places fit and stay positive.
inline std::int64_t to_integer(cells::JobId id) {
  return static_cast<std::int64_t>(id);
}
inline cells::JobId to_id(std::int64_t value) {
  return static_cast<cells::JobId>(value);
}

// The column `jobs.marks`, which holds the number of the lane too. (A column of its own would come
// after `parameters`, which can be large.)
std::int64_t encode_marks(const LineMarks& marks, std::int64_t lane);
LineMarks decode_marks(std::int64_t bits);
std::int64_t lane_in_marks(std::int64_t bits);

/// SQL that selects the columns for read_job; `where` is what follows `FROM jobs`.
std::string select_jobs(const char* where);

struct JobRow {
  cells::JobPtr job;
  LineMarks marks;
  std::int64_t cell = 0;
  std::int64_t routing_key = 0;
  std::int64_t lane = 0;
};
/// Reads the current row of a statement made by select_jobs. Throws SqliteFailure if celld cannot
/// have written it.
JobRow read_job(const Statement& row, Names& names);

class InsertStatement {
 public:
  explicit InsertStatement(Connection& connection);
  /// False: the id is in use, and nothing changed.
  bool run(const cells::Job& job, const LineMarks& marks, std::int64_t cell,
           std::int64_t routing_key, std::int64_t lane);

 private:
  Connection& connection_;
  Statement statement_;
};

/// Writes everything of a job that can change, apart from its cell.
class UpdateStatement {
 public:
  explicit UpdateStatement(Connection& connection);
  void run(const cells::Job& job, const LineMarks& marks, std::int64_t lane);

 private:
  Statement statement_;
};

}  // namespace celld::store
