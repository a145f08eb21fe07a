// What SQLite does not report about a write-ahead log.
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
/// SQLite ignores a log whose header is wrong. SQLite writes a new header over an old log when the
/// database has all that the log has, so this write may have been interrupted: a commit is lost if,
/// for some page, the log has a content that the database does not have.
///
/// Throws SqliteFailure if the log cannot be read.
bool lost_commits(const std::string& path);

}  // namespace celld::store
