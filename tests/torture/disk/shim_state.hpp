// The state of the shim: the descriptors in the watched directory, the call that has to fail, and
// the log. Settings come from the environment:
//
//   CELLD_DISK_ROOT       the watched directory, without symbolic links; if unset, the shim
//                         watches nothing
//
//   CELLD_DISK_LOG        the file to append the log to (disk_log.hpp)
//
//   CELLD_DISK_FAULT      KIND:N:ERROR:SPAN, the N-th call of a kind fails. KIND is open, mkdir,
//                         write, truncate, unlink, sync, read, or `any` (all but reads). ERROR is
//                         EIO, ENOSPC, or SHORT (half of a write succeeds and the next one fails
//                         with ENOSPC). SPAN is `once`, or `on`: every later call of that kind
//                         fails as well
//
//   CELLD_DISK_COUNT      a file into which each call writes the number of calls of KIND so far
//
//   CELLD_DISK_BYTES_MAX  the space for all files together; writes beyond it fail with ENOSPC
//
//   CELLD_DISK_SYNC_MS    a file with the number of milliseconds by which to delay each sync; the
//                         shim reads it at each sync
//
//   CELLD_DISK_SYNCHRONOUS  the value of SQLite's `synchronous`, instead of celld's
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tests/torture/disk/disk_log.hpp"

namespace celld::disk {

enum class CallKind : std::uint8_t { open, make_directory, write, truncate, unlink, sync, read };

/// A descriptor, as seen by the shim.
struct Watched {
  std::uint32_t object = 0;  ///< 0: not in the watched directory.
  bool logged = false;       ///< False for the index of the write-ahead log: SQLite rebuilds it.
};

class ShimState {
 public:
  /// The only instance. The first intercepted call creates it.
  static ShimState& get();

  /// Relative to the watched directory; none if the path is outside.
  std::optional<std::string> watched_path(int directory, const char* path) const;
  Watched watched(int descriptor) const;

  /// Held during a call and its logging, so that the log has the order of the calls.
  std::mutex& mutex() { return mutex_; }

  // With the mutex held:

  /// Counts the call. Returns the errno with which it has to fail, or 0.
  int fault(CallKind kind, std::string_view name);
  /// The number of bytes of a write to execute. 0: the write has to fail with ENOSPC.
  std::size_t grant(const Watched& file, std::size_t bytes, std::int64_t end);
  void opened(int descriptor, const std::string& path, bool directory, bool created);
  void closed(int descriptor);
  void log(RecordKind kind, std::uint32_t object, std::int64_t value,
           std::string_view payload = {});
  std::string_view name(const Watched& file) const;
  /// Logs this thread as one that writes to the database, if it does and was not logged yet.
  void note_writer(std::string_view name);
  std::int64_t next_ticket() { return ++tickets_; }

  // Without the mutex:

  /// The setting of SQLite; empty: as celld sets it.
  const std::string& synchronous() const { return synchronous_; }
  std::chrono::milliseconds sync_delay() const;

 private:
  ShimState();
  void parse_fault(const char* text);
  void count(std::uint64_t calls) const;

  struct Fault {
    bool any = false;
    CallKind kind = CallKind::write;
    std::uint64_t at = 0;  ///< 0: never.
    int error = 0;
    bool persists = false;
    bool halves_write = false;
  };
  static constexpr std::size_t descriptors_max = 1 << 16;

  std::string root_;
  int log_ = -1;
  int count_ = -1;
  Fault fault_;
  std::optional<std::int64_t> bytes_max_;
  std::string synchronous_;
  int sync_delay_ = -1;  ///< The open file of CELLD_DISK_SYNC_MS.

  std::mutex mutex_;
  std::uint64_t calls_ = 0;
  bool halves_next_ = false;  ///< The write counted last has to be cut in half.
  std::int64_t tickets_ = 0;
  std::uint32_t objects_ = 0;
  std::unordered_map<std::uint32_t, std::string> names_;
  std::unordered_map<std::string, std::int64_t> sizes_;  ///< By name, for CELLD_DISK_BYTES_MAX.
  std::array<std::atomic<std::uint32_t>, descriptors_max> objects_of_{};
};

/// Ends the process after a call that the shim cannot handle, so that no log is wrong.
[[noreturn]] void give_up(const char* call);

}  // namespace celld::disk
