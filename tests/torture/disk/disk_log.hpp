// The log of celld's disk operations, which the shim writes and the replayer reads. Its records are
// in the order in which celld saw the operations happen. Numbers are in the byte order of the
// machine.
#pragma once

#include <cstdint>

namespace celld::disk {

enum class RecordKind : std::uint32_t {
  start,  ///< A new celld process; objects of the previous one are invalid. `value`: its pid.
  open,   ///< `object` is a file from now on. Payload: its path. `value`: 1 if it was created.
  open_directory,  ///< The same for a directory, which existed before.
  make_directory,  ///< Payload: its path.
  write,           ///< `value`: the offset. Payload: the bytes.
  truncate,        ///< `value`: the new size.
  unlink,          ///< Payload: the path.
  rename,          ///< Payload: the old path, a NUL, the new path.
  sync_begin,      ///< `value`: a number that sync_end repeats.
  sync_end,        ///< Success: everything done to the object before sync_begin is on disk.
  answer,          ///< celld is about to send an HTTP answer. Payload: its bytes.
  fault,           ///< The shim made a call fail. `value`: the thread. Payload: a description.
  writer,          ///< The first write or sync of the database, or its log, by the thread `value`.
};

/// `bytes` bytes of payload follow. Paths are relative to the watched directory.
struct RecordHead {
  RecordKind kind = RecordKind::start;
  std::uint32_t object = 0;  ///< The open file or directory, greater than 0; 0: none.
  std::int64_t value = 0;
  std::int64_t wall_ms = 0;  ///< Since 1970.
  std::uint64_t bytes = 0;
};

}  // namespace celld::disk
