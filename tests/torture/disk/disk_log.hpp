// The log that the shim writes of a celld's disk, and that the replayer reads: one record after the
// other, in the order in which celld saw the operations happen. For one machine: numbers are as the
// processor has them.
#pragma once

#include <cstdint>

namespace celld::disk {

enum class RecordKind : std::uint32_t {
  start,  ///< Another celld; the objects of the one before are forgotten. `value`: its pid.
  open,   ///< `object` stands for a file from now on; payload: its path. `value`: created.
  open_directory,  ///< The same for a directory, which was there.
  make_directory,  ///< Payload: its path.
  write,           ///< `value`: the offset. Payload: what was written.
  truncate,        ///< `value`: the new size.
  unlink,          ///< Payload: the path.
  rename,          ///< Payload: the old path, a NUL, the new path.
  sync_begin,      ///< `value`: a number that the end repeats.
  sync_end,        ///< It succeeded: what was done to the object before its begin is on disk.
  answer,          ///< An HTTP answer is about to leave. Payload: its bytes.
  fault,           ///< A call was made to fail. Payload: which, for people.
};

/// Paths are relative to the watched directory. Followed by `bytes` bytes of payload.
struct RecordHead {
  RecordKind kind = RecordKind::start;
  std::uint32_t object = 0;  ///< Of open and what follows it; greater than 0.
  std::int64_t value = 0;
  std::int64_t wall_ms = 0;  ///< Since 1970.
  std::uint64_t bytes = 0;
};

}  // namespace celld::disk
