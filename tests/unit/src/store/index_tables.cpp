#include "tests/unit/src/store/index_tables.hpp"

#include <array>
#include <utility>

#include "src/store/schema.hpp"
#include "src/store/sqlite.hpp"
#include "tests/unit/catch.hpp"

namespace celld::store::test {

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
  const auto count = [&](const std::string& rows) {
    return connection.query_integer(("SELECT count(*) FROM (" + rows + ")").c_str());
  };
  const std::string setting = "(SELECT value FROM settings WHERE name = ";
  for (const auto& [table, keys] : tables) {
    INFO("table " << table);
    const auto stored = "SELECT * FROM " + table;
    CHECK(count(keys + " AND id <= " + setting + "'indexed_id') EXCEPT " + stored) == 0);
    CHECK(count(stored + " WHERE job > " + setting + "'indexing_id')") == 0);
    CHECK(count(stored + " EXCEPT " + keys) == 0);
    CHECK(count(stored) == count("SELECT DISTINCT * FROM " + table));
  }
  // A key is in the partition of its job: readers list partitions from the newest to the oldest.
  for (const std::string index : {"lines", "jobs_of_entity"}) {
    INFO("partitions of " << index);
    const auto parts = "(SELECT * FROM index_partitions WHERE index_name = '" + index + "')";
    const auto keys = index + "_by_part AS keys";
    CHECK(count("SELECT 1 FROM " + keys + " WHERE part NOT IN (SELECT part FROM " + parts + ")") ==
          0);
    CHECK(count("SELECT 1 FROM " + keys + " JOIN " + parts + " AS own ON own.part = keys.part" +
                " WHERE job <= after_id") == 0);
    if (index == "lines") continue;
    CHECK(count("SELECT 1 FROM " + keys + " JOIN " + parts + " AS later ON later.part > keys.part" +
                " WHERE job > after_id") == 0);
  }
  const std::string counted = "SELECT cell, origin, stored FROM route_counts WHERE stored > 0";
  const std::string jobs = "SELECT cell, origin, count(*) FROM jobs GROUP BY cell, origin";
  CHECK(count(counted + " EXCEPT " + jobs) == 0);
  CHECK(count(jobs + " EXCEPT " + counted) == 0);
}

}  // namespace celld::store::test
