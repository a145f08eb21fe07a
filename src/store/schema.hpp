// The tables of the SQLite store, and how a database of an older version becomes one of this.
//
// To change what is persisted (a table, an index, or the form of a JSON text in a column, see
// record.hpp): append a step to the migrations in schema.cpp that turns a database of the version
// before into the new one, never edit a step that was released, and add a test that opens a
// database written by the version before.
#pragma once

#include "src/store/sqlite.hpp"

namespace celld::store {

/// The version that this celld writes; kept in SQLite's `user_version`.
extern const std::int64_t schema_version;

/// Creates the tables, or brings them up to date, each step in a transaction of its own. Throws
/// when it fails, or when the database was written by a newer celld.
void migrate(Connection& connection);

}  // namespace celld::store
