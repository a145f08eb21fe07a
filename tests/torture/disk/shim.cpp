// A preloaded library between celld and its disk. It handles only files below one directory and
// answers on sockets; every other call goes straight to the kernel. shim_state.hpp lists its
// settings.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <string>
#include <string_view>

#include "tests/torture/disk/shim_state.hpp"

namespace {

using namespace celld::disk;
using Lock = std::lock_guard<std::mutex>;

/// Reports an error like a libc function.
int failed_with(int error) {
  errno = error;
  return -1;
}

bool exists(const char* path) {
  struct stat status{};
  const int error = errno;
  const bool found = ::syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0;
  errno = error;
  return found;
}

bool is_directory(int descriptor) {
  struct stat status{};
  return ::syscall(SYS_fstat, descriptor, &status) == 0 && S_ISDIR(status.st_mode);
}

int opening(int directory, const char* path, int flags, mode_t mode) {
  auto& state = ShimState::get();
  const auto name = state.watched_path(directory, path);
  const auto open = [&] {
    return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
  };
  if (!name) return open();
  const Lock lock{state.mutex()};
  if (const int error = state.fault(CallKind::open, *name)) return failed_with(error);
  const bool created = (flags & O_CREAT) != 0 && !exists(path);
  if ((flags & O_TRUNC) != 0) give_up("O_TRUNC");
  const int descriptor = open();
  if (descriptor >= 0) state.opened(descriptor, *name, is_directory(descriptor), created);
  return descriptor;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

ssize_t writing(int descriptor, const void* data, std::size_t bytes, std::int64_t offset) {
  auto& state = ShimState::get();
  const auto file = state.watched(descriptor);
  if (file.object == 0) return ::syscall(SYS_pwrite64, descriptor, data, bytes, offset);
  const Lock lock{state.mutex()};
  state.note_writer(state.name(file));
  if (const int error = state.fault(CallKind::write, state.name(file))) return failed_with(error);
  const auto granted = state.grant(file, bytes, offset + static_cast<std::int64_t>(bytes));
  if (granted == 0 && bytes != 0) return failed_with(ENOSPC);
  const ssize_t written = ::syscall(SYS_pwrite64, descriptor, data, granted, offset);
  if (written > 0 && file.logged) {
    state.log(RecordKind::write, file.object, offset,
              {static_cast<const char*>(data), static_cast<std::size_t>(written)});
  }
  return written;
}

ssize_t reading(int descriptor, void* to, std::size_t bytes, std::int64_t offset) {
  auto& state = ShimState::get();
  const auto file = state.watched(descriptor);
  if (file.object != 0) {
    const Lock lock{state.mutex()};
    if (const int error = state.fault(CallKind::read, state.name(file))) return failed_with(error);
  }
  return ::syscall(SYS_pread64, descriptor, to, bytes, offset);
}

int truncating(int descriptor, std::int64_t size) {
  auto& state = ShimState::get();
  const auto file = state.watched(descriptor);
  const auto truncate = [&] {
    return static_cast<int>(::syscall(SYS_ftruncate, descriptor, size));
  };
  if (file.object == 0) return truncate();
  const Lock lock{state.mutex()};
  if (const int error = state.fault(CallKind::truncate, state.name(file))) {
    return failed_with(error);
  }
  const int code = truncate();
  if (code == 0 && file.logged) state.log(RecordKind::truncate, file.object, size);
  return code;
}

/// Logs the beginning and the end separately: writes in between may be on disk or not.
int syncing(long call, int descriptor) {
  auto& state = ShimState::get();
  const auto file = state.watched(descriptor);
  if (file.object == 0) return static_cast<int>(::syscall(call, descriptor));
  std::int64_t ticket = 0;
  {
    const Lock lock{state.mutex()};
    state.note_writer(state.name(file));
    if (const int error = state.fault(CallKind::sync, state.name(file))) return failed_with(error);
    ticket = state.next_ticket();
    state.log(RecordKind::sync_begin, file.object, ticket);
  }
  // Simulates a slow disk.
  if (const auto delay = state.sync_delay(); delay.count() > 0) {
    ::poll(nullptr, 0, static_cast<int>(delay.count()));
  }
  const int code = static_cast<int>(::syscall(call, descriptor));
  if (code == 0) {
    const Lock lock{state.mutex()};
    state.log(RecordKind::sync_end, file.object, ticket);
  }
  return code;
}

/// Handles a call that takes one path.
template <class Call>
int naming(CallKind kind, RecordKind record, const char* path, Call call) {
  auto& state = ShimState::get();
  const auto name = state.watched_path(AT_FDCWD, path);
  if (!name) return static_cast<int>(call());
  const Lock lock{state.mutex()};
  if (const int error = state.fault(kind, *name)) return failed_with(error);
  const int code = static_cast<int>(call());
  if (code == 0 && !name->ends_with("-shm")) state.log(record, 0, 0, *name);
  return code;
}

bool is_success(std::string_view answer) {
  return answer.starts_with("HTTP/1.1 20");
}

}  // namespace

// These functions have the names and types of the C library.
// NOLINTBEGIN
extern "C" {

#define CELLD_OPENS(NAME)                          \
  int NAME(const char* path, int flags, ...) {     \
    va_list arguments;                             \
    va_start(arguments, flags);                    \
    const mode_t mode = mode_of(flags, arguments); \
    va_end(arguments);                             \
    return opening(AT_FDCWD, path, flags, mode);   \
  }
#define CELLD_OPENS_AT(NAME)                                  \
  int NAME(int directory, const char* path, int flags, ...) { \
    va_list arguments;                                        \
    va_start(arguments, flags);                               \
    const mode_t mode = mode_of(flags, arguments);            \
    va_end(arguments);                                        \
    return opening(directory, path, flags, mode);             \
  }
CELLD_OPENS(open)
CELLD_OPENS(open64)
CELLD_OPENS_AT(openat)
CELLD_OPENS_AT(openat64)

int close(int descriptor) {
  auto& state = ShimState::get();
  if (state.watched(descriptor).object != 0) {
    const Lock lock{state.mutex()};
    state.closed(descriptor);
  }
  return static_cast<int>(::syscall(SYS_close, descriptor));
}

ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  return writing(descriptor, data, bytes, offset);
}
ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off64_t offset) {
  return writing(descriptor, data, bytes, offset);
}
ssize_t write(int descriptor, const void* data, size_t bytes) {
  if (ShimState::get().watched(descriptor).object != 0) {
    const auto at = ::lseek(descriptor, 0, SEEK_CUR);
    const auto written = writing(descriptor, data, bytes, at);
    if (written > 0) ::lseek(descriptor, at + written, SEEK_SET);
    return written;
  }
  return ::syscall(SYS_write, descriptor, data, bytes);
}
ssize_t pread(int descriptor, void* to, size_t bytes, off_t offset) {
  return reading(descriptor, to, bytes, offset);
}
ssize_t pread64(int descriptor, void* to, size_t bytes, off64_t offset) {
  return reading(descriptor, to, bytes, offset);
}
int ftruncate(int descriptor, off_t size) noexcept {
  return truncating(descriptor, size);
}
int ftruncate64(int descriptor, off64_t size) noexcept {
  return truncating(descriptor, size);
}
int fsync(int descriptor) {
  return syncing(SYS_fsync, descriptor);
}
int fdatasync(int descriptor) {
  return syncing(SYS_fdatasync, descriptor);
}
int unlink(const char* path) noexcept {
  return naming(CallKind::unlink, RecordKind::unlink, path,
                [&] { return ::syscall(SYS_unlinkat, AT_FDCWD, path, 0); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  return naming(CallKind::make_directory, RecordKind::make_directory, path,
                [&] { return ::syscall(SYS_mkdirat, AT_FDCWD, path, mode); });
}
int rename(const char* from, const char* to) noexcept {
  auto& state = ShimState::get();
  const auto old_name = state.watched_path(AT_FDCWD, from);
  const auto new_name = state.watched_path(AT_FDCWD, to);
  const Lock lock{state.mutex()};
  const int code = static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
  if (!old_name && !new_name) return code;
  if (!old_name || !new_name) give_up("rename into or out of the directory");
  if (code == 0) state.log(RecordKind::rename, 0, 0, *old_name + '\0' + *new_name);
  return code;
}

ssize_t send(int socket, const void* data, size_t bytes, int flags) {
  const std::string_view answer{static_cast<const char*>(data), bytes};
  if (is_success(answer)) {
    auto& state = ShimState::get();
    const Lock lock{state.mutex()};
    state.log(RecordKind::answer, 0, socket, answer);
  }
  return ::syscall(SYS_sendto, socket, data, bytes, flags, nullptr, 0);
}

/// Replaces the value of `synchronous`, as if celld set it wrongly.
int sqlite3_exec(sqlite3* database, const char* sql, int (*row)(void*, int, char**, char**),
                 void* argument, char** error) {
  using Function = decltype(&sqlite3_exec);
  static const auto original = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "sqlite3_exec"));
  const std::string_view statement{sql};
  const auto& synchronous = ShimState::get().synchronous();
  if (synchronous.empty() || !statement.starts_with("PRAGMA synchronous")) {
    return original(database, sql, row, argument, error);
  }
  return original(database, ("PRAGMA synchronous = " + synchronous).c_str(), row, argument, error);
}

// celld does not use these on its files.
ssize_t writev(int descriptor, const iovec* parts, int count) {
  if (ShimState::get().watched(descriptor).object != 0) give_up("writev");
  return ::syscall(SYS_writev, descriptor, parts, count);
}
int fallocate(int descriptor, int mode, off_t offset, off_t bytes) {
  if (ShimState::get().watched(descriptor).object != 0) give_up("fallocate");
  return static_cast<int>(::syscall(SYS_fallocate, descriptor, mode, offset, bytes));
}
int fallocate64(int descriptor, int mode, off64_t offset, off64_t bytes) {
  return fallocate(descriptor, mode, offset, bytes);
}
int posix_fallocate(int descriptor, off_t offset, off_t bytes) {
  return fallocate(descriptor, 0, offset, bytes) == 0 ? 0 : errno;
}
int posix_fallocate64(int descriptor, off64_t offset, off64_t bytes) {
  return posix_fallocate(descriptor, offset, bytes);
}
}
// NOLINTEND
