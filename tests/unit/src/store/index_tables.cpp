#include "tests/unit/src/store/index_tables.hpp"

#include <array>
#include <utility>

#include "src/store/schema.hpp"
#include "src/store/sqlite.hpp"
#include "tests/unit/catch.hpp"

namespace celld::store::test {

namespace {

std::int64_t count(Connection& connection, const std::string& rows) {
  return connection.query_integer(("SELECT count(*) FROM (" + rows + ")").c_str());
}

/// `keys` selects what the table must have, of all jobs.
void check_table(Connection& connection, const std::string& table, const std::string& keys) {
  INFO("table " << table);
  const std::string setting = "(SELECT value FROM settings WHERE name = ";
  const auto stored = "SELECT * FROM " + table;
  const auto indexed = keys + " AND id <= " + setting + "'indexed_id')";
  CHECK(count(connection, indexed + " EXCEPT " + stored) == 0);
  CHECK(count(connection, stored + " WHERE job > " + setting + "'indexing_id')") == 0);
  CHECK(count(connection, stored + " EXCEPT " + keys) == 0);
  CHECK(count(connection, stored) == count(connection, "SELECT DISTINCT * FROM " + table));
}

/// A key is in the partition of its job: readers list partitions from the newest to the oldest.
void check_partitions(Connection& connection, const std::string& index) {
  INFO("partitions of " << index);
  const auto parts = "(SELECT * FROM index_partitions WHERE index_name = '" + index + "')";
  const auto keys = "SELECT 1 FROM " + index + "_by_part AS keys";
  CHECK(count(connection, keys + " WHERE part NOT IN (SELECT part FROM " + parts + ")") == 0);
  CHECK(count(connection, keys + " JOIN " + parts + " AS own ON own.part = keys.part" +
                              " WHERE job <= after_id") == 0);
  if (index == "lines") return;
  CHECK(count(connection, keys + " JOIN " + parts + " AS later ON later.part > keys.part" +
                              " WHERE job > after_id") == 0);
}

}  // namespace

void check_indexes(const std::string& database) {
  Connection connection{database, Connection::Access::read_write};
  migrate(connection);  // Defines the functions that follow.
  const std::string lines =
      "(SELECT * FROM lines UNION ALL SELECT hash, place, job FROM lines_by_part)";
  const std::string jobs_of_entity =
      "(SELECT * FROM jobs_of_entity UNION ALL SELECT hash, job FROM jobs_of_entity_by_part)";
  const std::array<std::pair<std::string, std::string>, 5> tables{{
      {lines,
       "SELECT line_hash(origin, entity_type, entity_id), place, id FROM jobs"
       " WHERE place IS NOT NULL"},
      {"turns", "SELECT cell, origin, turn, ifnull(place, 0), id FROM jobs WHERE turn IS NOT NULL"},
      {"jobs_of_origin", "SELECT origin, id FROM jobs WHERE true"},
      {jobs_of_entity, "SELECT entity_hash(entity_id), id FROM jobs WHERE true"},
      {"jobs_of_batch", "SELECT batch, id FROM jobs WHERE batch IS NOT NULL"},
  }};
  for (const auto& [table, keys] : tables) check_table(connection, table, keys);
  for (const char* index : {"lines", "jobs_of_entity"}) check_partitions(connection, index);
  const std::string counted = "SELECT cell, origin, stored FROM route_counts WHERE stored > 0";
  const std::string jobs = "SELECT cell, origin, count(*) FROM jobs GROUP BY cell, origin";
  CHECK(count(connection, counted + " EXCEPT " + jobs) == 0);
  CHECK(count(connection, jobs + " EXCEPT " + counted) == 0);
}

}  // namespace celld::store::test
