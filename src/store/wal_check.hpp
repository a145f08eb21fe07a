// Finds damage to a write-ahead log that SQLite does not report.
#pragma once

#include <string>

namespace celld::store {

/// Whether the write-ahead log of the database at `path` contains a commit that SQLite would drop.
/// SQLite ends the log without an error at the first frame whose checksum is wrong, because a power
/// cut may have interrupted its write. But the frames of a transaction are written only when its
/// predecessor is on disk: if a complete transaction and the beginning of its successor come after
/// the wrong frame, the frame has changed since. Damage to the last two transactions looks like a
/// power cut.
///
/// SQLite ignores a log whose header is wrong. SQLite overwrites the header of a log only once all
/// pages of the log are in the database. So a wrong header loses a commit only if some page in the
/// log differs from the database.
///
/// Throws SqliteFailure if the log cannot be read.
bool lost_commits(const std::string& path);

}  // namespace celld::store
