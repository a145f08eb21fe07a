// A job as a row: what was written is read back, and a row that celld cannot have written is an
// error.
#include "src/store/record.hpp"

#include "src/store/schema.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/src/store/contract.hpp"
#include "tests/unit/src/store/temporary_directory.hpp"

using namespace cells;  // NOLINT: tests of the port.
using namespace celld::store;
using namespace celld::store::test;

namespace {

/// Of the jobs of these tests.
class OnlyNames : public Names {
 public:
  const CellKey& cell(std::int64_t) override { return cell_; }
  const RoutingKey& routing_key(std::int64_t) override { return routing_key_; }
  const std::string& lane(std::int64_t) override { return lane_; }

 private:
  const CellKey cell_{JobSketch{}.cell};
  const RoutingKey routing_key_{JobSketch{}.customer, JobSketch{}.product};
  const std::string lane_;
};

/// A database with one job.
class Database {
 public:
  Database(const JobPtr& job, const LineMarks& marks)
      : connection_((directory_.path() / "celld.db").string(), Connection::Access::read_write) {
    migrate(connection_, schema_version);
    REQUIRE(InsertStatement{connection_}.run(*job, marks, 1, 1, 0));
  }

  void set(const std::string& assignments) {
    connection_.execute(("UPDATE jobs SET " + assignments).c_str());
  }

  JobRow read() {
    Statement statement{connection_, select_jobs("")};
    REQUIRE(statement.step());
    OnlyNames names;
    return read_job(statement, names);
  }

  /// Why the job cannot be read; empty: it can.
  std::string fault() {
    try {
      read();
      return "";
    } catch (const SqliteFailure& failure) {
      return failure.what();
    }
  }

 private:
  TemporaryDirectory directory_;
  Connection connection_;
};

const LineMarks head{.head = true};

JobPtr waiting() {
  return sketch_job({.id = 7, .entity = "zone"});
}

void check_faulty(const JobPtr& job, const std::string& assignments, const std::string& what) {
  INFO(assignments);
  Database database{job, head};
  CHECK(database.fault().empty());
  database.set(assignments);
  CHECK(database.fault() == "the " + what + " of a stored job cannot be read");
}

}  // namespace

TEST_CASE("a job is read as it was written, in each state") {
  const JobPtr queued = waiting();
  for (const auto& job : {queued, running(queued, {1, 2}), retrying(queued, at_ms(9000)),
                          settling(queued, at_ms(9000)), ended(queued, JobState::cancelled),
                          sketch_job({.id = 8, .entity = "zone", .run_at = at_ms(9000)})}) {
    INFO(to_string(job->state));
    Database database{job, head};
    CHECK(*database.read().job == *job);
    CHECK(database.read().marks == head);
  }
}

TEST_CASE("a value out of its range is an error") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"id = -1", "id"},
      {"state = -1", "state"},
      {"state = 8", "state"},
      {"place = -1", "place"},
      {"marks = -1", "marks"},
      {"services = ''", "services"},
      {"services = '[]'", "services"},
      {"priority = 0", "priority"},
      {"priority = 10", "priority"},
      {"timeout_ms = 0", "timeout"},
      {"timeout_ms = 9223372036854775807", "timeout"},
      {"max_attempts = 0", "maximum of attempts"},
      {"max_attempts = 4294967296", "maximum of attempts"},
      {"on_failure = 2", "on_failure"},
      {"lease_epoch = -1", "lease"},
      {"lease_counter = -1", "lease"},
      {"step = -1", "step"},
      {"step = 2", "step"},
      {"interruptions = -1", "interruptions"},
      {"cancel_requested = 2", "cancellation"},
      {"batch = -1", "batch"},
      {"failed_ahead = -1", "failed predecessor"}};
  for (const auto& [assignment, what] : cases) check_faulty(waiting(), assignment, what);
}

TEST_CASE("values that do not go together are an error") {
  const JobPtr queued = waiting();
  check_faulty(queued, "step = 1", "step");  // Every step has succeeded, but the job goes on.
  check_faulty(queued, "place = NULL", "place");
  check_faulty(queued, "state = 2, turn = 12", "lease");
  check_faulty(queued, "state = 3, turn = 13", "next attempt");
  check_faulty(queued, "state = 4, turn = 14", "error");
  check_faulty(queued, "turn = NULL", "turn");
  check_faulty(queued, "marks = 0", "turn");
  check_faulty(queued, "expires_at = 9000", "due time");
  check_faulty(retrying(queued, at_ms(9000)), "due_at = NULL", "due time");
  check_faulty(ended(queued, JobState::failed), "turn = 16", "turn");
  check_faulty(ended(queued, JobState::failed), "step = 2", "step");  // It has one step.
}
