// The tables of the SQLite store, and the migrations from older versions of them.
//
// To change what is persisted (a table, an index, or the form of a JSON text in a column, see
// record.hpp): append a migration to schema.cpp that turns a database of the previous version into
// the new one, and never edit one that has landed. When its SQL is final, run
// tests/unit/src/store/golden/make for the new version, and append the line that test_store prints
// to golden/migrations.txt.
#pragma once

#include <string_view>

#include "src/store/sqlite.hpp"

namespace celld::store {

/// The schema version of this celld, stored in SQLite's `user_version`.
extern const std::int64_t schema_version;

/// Creates the tables or brings them up to date, each step in a transaction of its own. Throws on
/// failure, and if a newer celld wrote the database.
void migrate(Connection& connection, std::int64_t version = schema_version);

/// The SQL that makes this version, from 1 to `schema_version`, of the previous one.
std::string_view migration_sql(std::int64_t version);

/// Whether `migrate` would change tables that may be large.
bool holds_older_schema(Connection& connection);

}  // namespace celld::store
