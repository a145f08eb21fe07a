// A job as a row of the table `jobs`: which columns it has, and how it gets into them and out
// again. The form of the row is part of the schema and changes only as schema.hpp says.
#pragma once

#include <string>

#include "cells/model/job.hpp"
#include "src/store/job_rules.hpp"
#include "src/store/sqlite.hpp"

namespace celld::store {

/// (Customer, product): where jobs come from.
struct RoutingKey {
  std::string customer;
  std::string product;

  auto operator<=>(const RoutingKey&) const = default;
};

/// Which cell and which routing key a number in a row stands for. Throws SqliteFailure for one that
/// it does not know.
class Names {
 public:
  virtual ~Names() = default;
  virtual const cells::CellKey& cell(std::int64_t id) = 0;
  virtual const RoutingKey& routing_key(std::int64_t id) = 0;
};

// SQLite's integers are signed; ids and places are positive as such.
inline std::int64_t to_integer(cells::JobId id) {
  return static_cast<std::int64_t>(id);
}
inline cells::JobId to_id(std::int64_t value) {
  return static_cast<cells::JobId>(value);
}

// `jobs.marks`.
std::int64_t encode_marks(const LineMarks& marks);
LineMarks decode_marks(std::int64_t bits);

/// SQL that selects from `jobs` what read_job reads.
std::string select_jobs(const char* where);

struct JobRow {
  cells::JobPtr job;
  LineMarks marks;
  std::int64_t cell = 0;
  std::int64_t routing_key = 0;
};
/// Reads the current row of such a statement.
JobRow read_job(const Statement& row, Names& names);

/// Adds a row.
class InsertStatement {
 public:
  explicit InsertStatement(Connection& connection);
  /// False: a row of this id is there already, and nothing was changed.
  bool run(const cells::Job& job, const LineMarks& marks, std::int64_t cell,
           std::int64_t routing_key);

 private:
  Connection& connection_;
  Statement statement_;
};

/// Writes all of a job that can change. Two statements: one that leaves the place alone, and with
/// it the index of lines, and one that does not.
class UpdateStatement {
 public:
  explicit UpdateStatement(Connection& connection);
  void run(const cells::Job& job, const LineMarks& marks, bool with_place);

 private:
  Statement keep_place_;
  Statement change_place_;
};

}  // namespace celld::store
