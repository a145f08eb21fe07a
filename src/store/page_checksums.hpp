// A checksum in each page of a database file. SQLite's format has none: it would read a job whose
// text has changed on the disk as if nothing had happened. On request, SQLite keeps the last bytes
// of each page free; a layer between SQLite and the file system writes the checksum there, and
// verifies it whenever a page is read.
//
// The write-ahead log has checksums of its own (wal_check.hpp). SQLite verifies them when it opens
// the log, and pages receive theirs when a checkpoint moves them into the database.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sqlite3.h>

namespace celld::store {

/// The name of the layer, for sqlite3_open_v2. With it, reading a damaged page fails with
/// SQLITE_IOERR_DATA. Call reserve_checksums right after opening a database for writing.
const char* checksum_vfs();

/// Makes SQLite reserve the space for checksums in a new database, and in one that it rewrites
/// (VACUUM).
void reserve_checksums(sqlite3* database);

/// False for a database that another program wrote without space for checksums. The layer neither
/// writes nor verifies them there.
bool has_page_checksums(sqlite3* database);

/// Writes the checksum of a page that the layer does not see. Pages count from 1.
void set_page_checksum(unsigned char* page, std::size_t size, std::int64_t number);

}  // namespace celld::store
