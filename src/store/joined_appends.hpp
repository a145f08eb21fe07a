// Fewer writes to the write-ahead log. SQLite writes each page of a commit with two calls, one for
// the frame's header and one for the page. This layer between SQLite and the file system keeps
// what SQLite appends, and writes it with one call when SQLite syncs the log, reads it, or tells
// other connections of the commit.
#pragma once

#include <sqlite3.h>

namespace celld::store {

/// The bytes to reserve behind the file object of the VFS below.
int joined_appends_bytes();

/// Puts the layer between SQLite and `log`, a write-ahead log that was just opened with the VFS
/// below, whose file object takes `bytes_below`. `reference` refers to the log until it is closed.
void join_appends(sqlite3_file* log, int bytes_below, sqlite3_file*& reference);

/// Writes what is kept for a log with this layer. An error is reported by the next call for the log
/// that can report one.
void write_appends(sqlite3_file* log);

}  // namespace celld::store
