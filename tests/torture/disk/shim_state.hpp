// What the shim knows: which descriptors belong to the watched directory, which call is to fail,
// and the log. Settings come from the environment:
//
//   CELLD_DISK_ROOT       the watched directory, without symbolic links; without it, nothing is
//                         watched
//
//   CELLD_DISK_LOG        a file to append the log to (disk_log.hpp)
//
//   CELLD_DISK_FAULT      KIND:N:ERROR:SPAN, the N-th call of a kind fails: KIND is one of the
//   names
//                         of CallKind or `any` (all but reads); ERROR is EIO, ENOSPC, or SHORT
//                         (half of a write succeeds and the next one fails with ENOSPC); SPAN is
//                         `once`, or `on`: every later call of that kind fails as well
//
//   CELLD_DISK_COUNT      a file that at each call gets how many of KIND there were
//
//   CELLD_DISK_BYTES_MAX  files that would grow beyond this together fail with ENOSPC
//
//   CELLD_DISK_SYNC_MS    a file with a number, read at each sync: it takes so much longer
//
//   CELLD_DISK_SYNC_LOST  N: each N-th sync of the database and its write-ahead log is not in the
//                         log, as if it had not been done. With 1 that is what SQLite does with
//                         `synchronous=OFF`
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

/// A descriptor of the watched directory.
struct Watched {
  std::uint32_t object = 0;  ///< 0: it is not watched.
  bool logged = false;       ///< False for the index of the write-ahead log: it is made anew.
};

class ShimState {
 public:
  /// The only one, made by the first call that is looked at.
  static ShimState& get();

  /// Relative to the watched directory; nothing when the path is elsewhere.
  std::optional<std::string> watched_path(int directory, const char* path) const;
  Watched watched(int descriptor) const;

  /// Held while a call is made and logged, so that the log has the order of the calls.
  std::mutex& mutex() { return mutex_; }

  // With the mutex held:

  /// Counts the call. An errno: it has to fail with that.
  int fault(CallKind kind, std::string_view name);
  /// How much of a write may happen; 0 after ENOSPC was decided on.
  std::size_t grant(const Watched& file, std::size_t bytes, std::int64_t end);
  void opened(int descriptor, const std::string& path, bool directory, bool created);
  void closed(int descriptor);
  void log(RecordKind kind, std::uint32_t object, std::int64_t value,
           std::string_view payload = {});
  std::string_view name(const Watched& file) const;
  std::int64_t next_ticket() { return ++tickets_; }

  /// Whether the sync of that file, which begins, is one that is not to be in the log.
  bool loses_sync(std::string_view name);

  // Without it:

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
    bool goes_on = false;
    bool in_half = false;
  };
  static constexpr std::size_t descriptors_max = 1 << 16;

  std::string root_;
  int log_ = -1;
  int count_ = -1;
  Fault fault_;
  std::optional<std::int64_t> bytes_max_;
  int sync_delay_ = -1;          ///< The file that has it.
  std::int64_t syncs_lost_ = 0;  ///< Each so many-th of the database's; 0: none.

  std::mutex mutex_;
  std::uint64_t calls_ = 0;
  bool halves_next_ = false;  ///< The write that was just counted is the one to be cut short.
  std::int64_t tickets_ = 0;
  std::int64_t database_syncs_ = 0;
  std::uint32_t objects_ = 0;
  std::unordered_map<std::uint32_t, std::string> names_;
  std::unordered_map<std::string, std::int64_t> sizes_;  ///< With CELLD_DISK_BYTES_MAX, by name.
  std::array<std::atomic<std::uint32_t>, descriptors_max> objects_of_{};
};

/// Ends the process: it has changed a file in a way that the log cannot express.
[[noreturn]] void give_up(const char* call);

}  // namespace celld::disk
