// The wrapper around SQLite: no failure goes unnoticed.
#include "src/store/sqlite.hpp"

#include <atomic>
#include <memory>

#include "tests/unit/catch.hpp"

using namespace celld::store;

TEST_CASE("a query that cannot commit its writes fails, even after it returned a row") {
  Connection connection{":memory:", Connection::Access::read_write};
  connection.execute(
      "PRAGMA foreign_keys = ON;"
      "CREATE TABLE parents (id INTEGER PRIMARY KEY);"
      "CREATE TABLE children (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED,"
      "                       name TEXT)");
  CHECK_THROWS_AS(connection.query_integer("INSERT INTO children VALUES (1, 'x') RETURNING parent"),
                  SqliteFailure);
  CHECK_THROWS_AS(connection.query_text("INSERT INTO children VALUES (1, 'x') RETURNING name"),
                  SqliteFailure);
  CHECK(connection.query_integer("SELECT count(*) FROM children") == 0);
}

TEST_CASE("a query runs once and returns the first column of the first row") {
  Connection connection{":memory:", Connection::Access::read_write};
  connection.execute("CREATE TABLE things (name TEXT)");
  CHECK(connection.query_text("INSERT INTO things VALUES ('a'), ('b') RETURNING name") == "a");
  CHECK(connection.query_integer("SELECT count(*) FROM things") == 2);
  CHECK(connection.query_text("DELETE FROM things WHERE name = 'c' RETURNING name").empty());
  CHECK(connection.query_integer("SELECT id FROM (SELECT 1 AS id) WHERE id = 2") == 0);
}

TEST_CASE("a statement that takes long can be stopped") {
  constexpr auto count =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9999)"
      " SELECT count(*) FROM n";
  Connection connection{":memory:", Connection::Access::read_write};
  const auto stop = std::make_shared<std::atomic<bool>>(false);
  connection.stop_when(stop);
  CHECK(connection.query_integer(count) == 9999);
  *stop = true;
  CHECK_THROWS_AS(connection.query_integer(count), SqliteFailure);
  CHECK(connection.query_integer("SELECT 1") == 1);
}
