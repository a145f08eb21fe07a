// Databases of every released schema version, each made by the celld that introduced the version
// (golden/make). A change of a released migration makes one of these tests fail.
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cells/model/quota.hpp"
#include "src/repr_digest.hpp"
#include "src/store/kept_jobs.hpp"
#include "src/store/schema.hpp"
#include "tests/unit/src/store/index_tables.hpp"
#include "tests/unit/src/store/sqlite_under_test.hpp"

using namespace cells;         // NOLINT: tests of the port.
using namespace celld::store;  // NOLINT
using namespace celld::store::test;

namespace {

std::string golden_sql(std::int64_t version) {
  std::ifstream file(CELLD_GOLDEN_DIR "/version_" + std::to_string(version) + ".sql");
  INFO("golden/version_" << version << ".sql, see golden/make");
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Connection make_golden(const std::string& path, std::int64_t version) {
  std::filesystem::remove(path);
  Connection connection{path, Connection::Access::read_write};
  connection.execute(golden_sql(version).c_str());
  return connection;
}

/// The digest of each migration that has landed, by version.
std::map<std::int64_t, std::string> landed_migrations() {
  std::ifstream file(CELLD_GOLDEN_DIR "/migrations.txt");
  REQUIRE(file);
  std::string line;
  std::getline(file, line);  // The heading.
  std::map<std::int64_t, std::string> digests;
  while (std::getline(file, line)) {
    const auto space = line.find(' ');
    REQUIRE(space != std::string::npos);
    REQUIRE(digests.emplace(std::stoll(line), line.substr(space + 1)).second);
  }
  return digests;
}

/// One text per row, with all columns.
std::vector<std::string> rows(Connection& connection, const std::string& sql) {
  std::vector<std::string> found;
  const auto add = [](void* to, int columns, char** texts, char**) {
    std::string row;
    for (int i = 0; i < columns; ++i) row += std::string{texts[i] ? texts[i] : "NULL"} + "|";
    static_cast<std::vector<std::string>*>(to)->push_back(std::move(row));
    return 0;
  };
  REQUIRE(sqlite3_exec(connection.handle(), sql.c_str(), add, &found, nullptr) == SQLITE_OK);
  return found;
}

std::vector<std::string> schema_of(Connection& connection) {
  return rows(connection,
              "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
              " ORDER BY type, name");
}

/// Makes SQLite interrupt the connection after this many steps of its virtual machine.
class Interruption {
 public:
  Interruption(Connection& connection, int steps) : connection_(connection) {
    sqlite3_progress_handler(connection.handle(), steps, [](void*) { return 1; }, nullptr);
  }
  ~Interruption() { sqlite3_progress_handler(connection_.handle(), 0, nullptr, nullptr); }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  Connection& connection_;
};

/// Notes the temporary files that SQLite creates while the object exists. Meanwhile, only one
/// thread may use SQLite.
class TemporaryFiles {
 public:
  TemporaryFiles() {
    paths_.clear();
    replace_open(reinterpret_cast<sqlite3_syscall_ptr>(&open_and_note));
  }
  ~TemporaryFiles() { replace_open(nullptr); }
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;

  const std::vector<std::filesystem::path>& paths() const { return paths_; }

 private:
  /// Null: the function of the C library.
  static void replace_open(sqlite3_syscall_ptr function) {
    auto* const vfs = sqlite3_vfs_find(nullptr);
    vfs->xSetSystemCall(vfs, "open", function);
  }
  static int open_and_note(const char* path, int flags, int mode) {
    if (std::string_view{path}.find("/etilqs_") != std::string_view::npos) {
      paths_.emplace_back(path);
    }
    return ::open(path, flags, mode);
  }

  static inline std::vector<std::filesystem::path> paths_;
};

/// Opens the store. Fails unless that takes temporary files, which are all in its directory.
void check_temporary_files(const SqliteOptions& options) {
  const TemporaryFiles files;
  const auto opened = SqliteStore::open(options);
  REQUIRE(std::holds_alternative<SqliteStore>(opened));
  CHECK_FALSE(files.paths().empty());
  for (const auto& path : files.paths()) {
    INFO(path.string());
    CHECK(std::filesystem::equivalent(path.parent_path(), options.data_directory));
  }
}

/// Selects all jobs with the columns that they have in this database.
std::string all_jobs(Connection& connection) {
  std::string columns;
  for (const auto& row : rows(connection, "SELECT name FROM pragma_table_info('jobs')")) {
    columns += (columns.empty() ? "" : ", ") + row.substr(0, row.size() - 1);
  }
  return "SELECT " + columns + " FROM jobs ORDER BY id";
}

bool holds(const std::vector<JobPtr>& jobs, JobId id) {
  return std::any_of(jobs.begin(), jobs.end(), [&](const auto& job) { return job->id == id; });
}

}  // namespace

TEST_CASE("no released migration has been edited") {
  TemporaryDirectory directory;
  for (std::int64_t version = 1; version <= schema_version; ++version) {
    INFO("version " << version);
    auto golden = make_golden((directory.path() / "golden.db").string(), version);
    CHECK(golden.query_integer("PRAGMA user_version") == version);
    const auto path = (directory.path() / ("new" + std::to_string(version) + ".db")).string();
    Connection fresh{path, Connection::Access::read_write};
    migrate(fresh, version);
    CHECK(schema_of(fresh) == schema_of(golden));
  }
}

// The schema alone does not show how a migration fills it from the old tables.
TEST_CASE("the SQL of no migration that has landed has been edited") {
  const auto landed = landed_migrations();
  CHECK(landed.size() <= static_cast<std::size_t>(schema_version));
  for (std::int64_t version = 1; version <= schema_version; ++version) {
    celld::ReprDigest digest;
    digest.add(migration_sql(version));
    const auto found = digest.text();
    if (const auto kept = landed.find(version); kept != landed.end()) {
      INFO("databases exist that the former SQL of version " << version << " made");
      INFO("restore it in src/store/schema.cpp, and append a new migration instead");
      CHECK(found == kept->second);
    } else {
      INFO("when the SQL of this version is final, append a line to golden/migrations.txt");
      FAIL_CHECK(version << " " << found);
    }
  }
}

TEST_CASE("a database of each released version keeps all its jobs, overrides and keys") {
  for (std::int64_t version = 1; version <= schema_version; ++version) {
    INFO("version " << version);
    TemporaryDirectory directory;
    SqliteOptions options;
    options.data_directory = directory.path().string();
    std::string select_jobs;
    std::vector<std::string> before;
    std::size_t ended = 0;
    {
      auto golden = make_golden((directory.path() / "celld.db").string(), version);
      ended = rows(golden, "SELECT id FROM jobs WHERE state >= 5 AND place IS NULL").size();
      select_jobs = all_jobs(golden);
      before = rows(golden, select_jobs);
      REQUIRE(before.size() >= 14);
    }
    SqliteUnderTest under_test{options};
    Client client{under_test};
    {
      Connection connection{under_test.database(), Connection::Access::read_only};
      CHECK(connection.query_integer("PRAGMA user_version") == schema_version);
      CHECK(rows(connection, select_jobs) == before);
    }
    ListJobs every_job;
    every_job.limit = 1000;
    const auto jobs = client.ask(every_job).jobs;
    CHECK(jobs.size() == before.size());
    for (const auto& job : jobs) {
      ListJobs of_entity;
      of_entity.filter.customer = job->spec->customer;
      CHECK(holds(client.ask(of_entity).jobs, job->id));
      of_entity.filter.entity_id = job->spec->entity.id;
      CHECK(holds(client.ask(of_entity).jobs, job->id));
    }
    check_indexes(under_test.database());
    if (version >= 6) {
      const auto batches = client.ask(ListBatches{}).batches;
      REQUIRE(batches.size() == (version >= 13 ? 2 : 1));
      CHECK(total_of(batches.back()) == 2);
      CHECK(batches.front().in_memory.stored == (version >= 13 ? 2 : 0));
      CHECK(batches.front().counts[JobState::scheduled] == (version >= 13 ? 2 : 1));
      JobFilter of_batch;
      of_batch.batch = batches.back().id;
      CHECK(client.ask(ListJobs{of_batch}).jobs.size() == 2);
    }
    if (version >= 7) {
      JobFilter awaiting;
      awaiting.service = "begins";
      const auto found = client.ask(ListJobs{awaiting}).jobs;
      REQUIRE(found.size() == 1);
      CHECK(found[0]->state == JobState::retrying);
      CHECK(found[0]->steps[0].state == StepState::running);
      CHECK(found[0]->steps[0].operation.find("\"has_begun\":true") != std::string::npos);
    }
    if (version >= 8) {
      JobFilter filter;
      filter.state = JobState::compensating;
      const auto compensating = client.ask(ListJobs{filter}).jobs;
      CHECK(compensating.size() == 3);
      CHECK(std::count_if(compensating.begin(), compensating.end(), [](const auto& job) {
              return job->state == JobState::running && job->steps[1].undo_attempts == 1;
            }) == 1);
      CHECK(std::count_if(compensating.begin(), compensating.end(), [](const auto& job) {
              return job->steps[1].state == StepState::undone && job->steps[1].in_doubt;
            }) == 1);
      CHECK(std::count_if(jobs.begin(), jobs.end(),
                          [](const auto& job) { return job->failed_ahead != 0; }) == 1);
    }
    if (version >= 9) {
      const auto schedules = client.ask(LoadSchedules{}).schedules;
      REQUIRE(schedules.size() == 2);
      CHECK(schedules[0].spec.timing == ScheduleTiming{std::chrono::hours{1}, "", ""});
      CHECK(schedules[1].spec.timing ==
            ScheduleTiming{milliseconds{0}, "30 2 * * *", "Europe/Berlin"});
      CHECK(schedules[1].spec.overlap == Overlap::allow);
      CHECK(schedules[1].spec.catch_up == CatchUp::all);
      CHECK(schedules[1].spec.job.entity.id == "e24.example");
      CHECK(schedules[1].progress.next);
    }
    const auto pruned = client.ask(
        PruneEnded{at_ms(std::numeric_limits<std::int64_t>::max()), 100, std::chrono::hours{1}});
    CHECK(pruned.pruned == ended);
    check_indexes(under_test.database());
    const auto overrides = client.ask(LoadCells{}).overrides;
    CHECK(overrides.at({"acme", "*"}).pool_size == 7);
    if (version >= 10) {
      CHECK(overrides.at({"acme", "*"}).pool_burst == 9);
      CHECK(overrides.at({"acme", "*"}).pool_weight == 3);
      CHECK(overrides.at({"acme", "*"}).quota == QuotaOverride{{QuotaLimit::queue_rate, 2.5},
                                                               {QuotaLimit::customer_jobs, 70},
                                                               {QuotaLimit::customer_running, 0}});
    }
    if (version >= 2) {
      CHECK(overrides.at({"*", "*"}).state == CellState::paused);
      CHECK(client.ask(FindKeyHolder{"bolt", {"key-13", ""}}).job);
    }
  }
}

TEST_CASE("jobs in memory that a celld of any released version has kept are read") {
  const TemporaryDirectory directory;
  const auto path = (directory.path() / "kept").string();
  for (std::int64_t version = 1; version <= schema_version; ++version) {
    INFO("version " << version);
    const auto jobs = make_golden(path, version).query_integer("SELECT count(*) FROM jobs");
    const auto read = read_kept_jobs(path);
    REQUIRE(std::holds_alternative<StoreContent>(read));
    CHECK(std::get<StoreContent>(read).jobs.size() == static_cast<std::size_t>(jobs));
  }
}

TEST_CASE("the migration to version 4 indexes ended jobs that are still in their lines") {
  TemporaryDirectory directory;
  const auto path = (directory.path() / "celld.db").string();
  make_golden(path, 3).execute("UPDATE jobs SET place = id, turn = 15 WHERE state = 5");
  check_indexes(path);
  CHECK(Connection{path, Connection::Access::read_only}.query_integer(
            "SELECT count(*) FROM turns WHERE turn = 15") > 0);
}

TEST_CASE("the migration to version 10 sums the bytes of unfinished jobs, indexed or not") {
  TemporaryDirectory directory;
  auto golden = make_golden((directory.path() / "celld.db").string(), 9);
  const auto unfinished = "(SELECT id FROM jobs WHERE state = 2 ORDER BY id LIMIT 1)";
  golden.execute((std::string{"UPDATE settings SET value = "} + unfinished +
                  " WHERE name IN ('indexed_id', 'indexing_id');"
                  "INSERT INTO turns SELECT cell, origin, turn, ifnull(place, 0), id FROM jobs"
                  " WHERE turn IS NOT NULL AND id <= " +
                  unfinished)
                     .c_str());
  REQUIRE(golden.query_integer("SELECT count(*) FROM turns") > 1);
  migrate(golden, 10);
  CHECK(rows(golden,
             "SELECT cell, origin, bytes FROM route_counts WHERE bytes > 0"
             " ORDER BY cell, origin") ==
        rows(golden,
             "SELECT cell, origin, sum(job_bytes(parameters, entity_id, labels))"
             " FROM jobs WHERE state < 5 GROUP BY cell, origin ORDER BY cell, origin"));
}

TEST_CASE("the bytes of a job in SQL are those that celld counts, with and without parameters") {
  Connection connection{":memory:", Connection::Access::read_write};
  migrate(connection);  // Defines the function.
  JobSpec spec;
  spec.entity.id = "e24.example";
  spec.labels = {{"team", "mail"}};
  const auto bytes = [&](const std::string& parameters) {
    const auto sql = "SELECT job_bytes(" + parameters + R"(, 'e24.example', '{"team":"mail"}'))";
    return static_cast<std::uint64_t>(connection.query_integer(sql.c_str()));
  };
  CHECK(bytes("NULL") == queued_bytes(spec));
  spec.parameters = R"({"size":12})";
  CHECK(bytes("'" + spec.parameters + "'") == queued_bytes(spec));
}

TEST_CASE("keys that an older celld had begun to move are in one table after the migration") {
  TemporaryDirectory directory;
  const auto path = (directory.path() / "celld.db").string();
  auto golden = make_golden(path, 11);
  migrate(golden, 11);  // Defines the functions that follow.
  const auto middle = golden.query_integer(
      "SELECT id FROM jobs WHERE place IS NOT NULL ORDER BY id LIMIT 1 OFFSET 3");
  golden.execute(("UPDATE settings SET value = " + std::to_string(middle) +
                  " WHERE name = 'indexed_id';"
                  "UPDATE settings SET value = (SELECT max(id) FROM jobs)"
                  " WHERE name = 'indexing_id';"
                  "INSERT INTO lines SELECT line_hash(origin, entity_type, entity_id), place, id"
                  " FROM jobs WHERE place IS NOT NULL;"
                  "INSERT INTO jobs_of_entity SELECT entity_hash(entity_id), id FROM jobs")
                     .c_str());
  migrate(golden);
  const auto indexed = " job <= " + std::to_string(middle);
  const auto count_in = [&](const std::string& table, const std::string& which) {
    return golden.query_integer(("SELECT count(*) FROM " + table + " WHERE" + which).c_str());
  };
  for (const char* table : {"lines", "jobs_of_entity"}) {
    const auto count = [&](const std::string& which) { return count_in(table, which); };
    INFO("table " << table);
    CHECK(count(indexed) > 0);
    CHECK(count(" NOT" + indexed) == 0);
  }
}

TEST_CASE("a database of every version before the latest holds an older schema, but no new one") {
  Connection connection{":memory:", Connection::Access::read_write};
  CHECK_FALSE(holds_older_schema(connection));
  for (std::int64_t version = 1; version < schema_version; ++version) {
    INFO("version " << version);
    migrate(connection, version);
    CHECK(holds_older_schema(connection));
  }
  migrate(connection);
  CHECK_FALSE(holds_older_schema(connection));
}

TEST_CASE("the temporary files of a migration are beside the database") {
  TemporaryDirectory directory;
  SqliteOptions options;
  options.data_directory = directory.path().string();
  // The migration copies entity ids to a temporary table. SQLite caches 2 MB of it in memory, and
  // writes the rest to a file.
  make_golden((directory.path() / options.path).string(), 11)
      .execute(
          "UPDATE jobs SET entity_id = hex(zeroblob(500000))"
          " WHERE id IN (SELECT id FROM jobs ORDER BY id LIMIT 4);"
          "UPDATE settings SET value = (SELECT max(id) FROM jobs) WHERE name = 'indexing_id'");
  check_temporary_files(options);
}

TEST_CASE("the temporary files of a store that is made compact are beside the database") {
  TemporaryDirectory directory;
  SqliteOptions options;
  options.data_directory = directory.path().string();
  options.compact = true;
  // SQLite caches 16 MB of the new database in memory, and writes the rest to a file.
  make_golden((directory.path() / options.path).string(), schema_version)
      .execute(
          "UPDATE jobs SET parameters = hex(zeroblob(3000000))"
          " WHERE id IN (SELECT id FROM jobs ORDER BY id LIMIT 4)");
  check_temporary_files(options);
}

TEST_CASE("the migration to version 14 keeps the keys in the buffers of version 12") {
  TemporaryDirectory directory;
  const auto path = (directory.path() / "celld.db").string();
  {
    auto golden = make_golden(path, 13);
    migrate(golden, 13);  // Defines the functions that follow.
    REQUIRE(golden.query_integer("SELECT value FROM settings WHERE name = 'indexing_id'") == 0);
    const std::string middle =
        "(SELECT id FROM jobs WHERE place IS NOT NULL ORDER BY id LIMIT 1 OFFSET 3)";
    const std::string older = " WHERE id <= " + middle;
    const std::string newer = " WHERE id > " + middle;
    const std::string lines =
        " SELECT line_hash(origin, entity_type, entity_id), place, id FROM jobs";
    const std::string jobs_of_entity = " SELECT entity_hash(entity_id), id FROM jobs";
    golden.execute(("INSERT INTO lines" + lines + older + " AND place IS NOT NULL;" +  //
                    "INSERT INTO lines_buffer" + lines + newer + " AND place IS NOT NULL;" +
                    "INSERT INTO jobs_of_entity" + jobs_of_entity + older + ";" +  //
                    "INSERT INTO jobs_of_entity_buffer" + jobs_of_entity + newer + ";" +
                    "INSERT INTO turns SELECT cell, origin, turn, ifnull(place, 0), id FROM jobs"
                    " WHERE turn IS NOT NULL;"
                    "INSERT INTO jobs_of_origin SELECT origin, id FROM jobs;"
                    "INSERT INTO jobs_of_batch SELECT batch, id FROM jobs WHERE batch IS NOT NULL;"
                    "UPDATE settings SET value = (SELECT max(id) FROM jobs)"
                    " WHERE name IN ('indexed_id', 'indexing_id')")
                       .c_str());
    for (const std::string table : {"lines", "lines_buffer"}) {
      REQUIRE(golden.query_integer(("SELECT count(*) FROM " + table).c_str()) > 0);
    }
  }
  check_indexes(path);
}

TEST_CASE("a migration that is cut off at any point is completed by the next start") {
  TemporaryDirectory directory;
  const auto path = (directory.path() / "celld.db").string();
  std::vector<std::vector<std::string>> schemas(1);  // By version.
  for (std::int64_t version = 1; version <= schema_version; ++version) {
    Connection fresh{(directory.path() / ("fresh" + std::to_string(version))).string(),
                     Connection::Access::read_write};
    migrate(fresh, version);
    schemas.push_back(schema_of(fresh));
  }
  for (std::int64_t version = 1; version < schema_version; ++version) {
    bool completed = false;
    for (int steps = 1; !completed; steps += 61) {
      INFO("version " << version << ", cut off after " << steps << " steps");
      {
        auto golden = make_golden(path, version);
        const Interruption interruption{golden, steps};
        try {
          migrate(golden, version + 1);  // The next ones have databases of their own.
          completed = true;
        } catch (const SqliteFailure&) {
          completed = false;
        }
      }
      Connection connection{path, Connection::Access::read_write};
      const auto reached = connection.query_integer("PRAGMA user_version");
      REQUIRE(reached == (completed ? version + 1 : version));
      REQUIRE(schema_of(connection) == schemas.at(static_cast<std::size_t>(reached)));
      migrate(connection);
      REQUIRE(connection.query_integer("PRAGMA user_version") == schema_version);
      REQUIRE(connection.query_text("PRAGMA integrity_check") == "ok");
    }
  }
}
