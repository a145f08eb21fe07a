#include "tests/torture/disk/shim_state.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <utility>
#include <vector>

namespace celld::disk {
namespace {

/// The top bit of an object's number: do not log its calls.
constexpr std::uint32_t unlogged_bit = 1U << 31;

constexpr std::array<std::string_view, 7> kind_names{"open",   "mkdir", "write", "truncate",
                                                     "unlink", "sync",  "read"};

std::string_view text_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? std::string_view{} : std::string_view{text};
}

std::int64_t number_of(const char* variable) {
  return std::strtoll(std::string{text_of(variable)}.c_str(), nullptr, 10);
}

/// Avoids open(), which is the shim's own.
int open_outside(const char* variable, int flags) {
  const auto path = text_of(variable);
  if (path.empty()) return -1;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path.data(), flags | O_CLOEXEC, 0600));
}

[[noreturn]] void refuse(const char* variable) {
  std::fprintf(stderr, "disk shim: %s is invalid\n", variable);
  std::_Exit(70);
}

bool ends_with_index_name(std::string_view path) {
  return path.ends_with("-shm");
}

bool is_database(std::string_view path) {
  return path.ends_with("/celld.db") || path.ends_with("/celld.db-wal");
}

}  // namespace

void give_up(const char* call) {
  std::fprintf(stderr, "disk shim: %s on a watched file, which the log cannot express\n", call);
  std::_Exit(70);
}

// Never destroyed: calls arrive until the very end of the process.
ShimState& ShimState::get() {
  static auto* const state = new ShimState;
  return *state;
}

ShimState::ShimState()
    : root_(text_of("CELLD_DISK_ROOT")),
      log_(open_outside("CELLD_DISK_LOG", O_WRONLY | O_CREAT | O_APPEND)),
      count_(open_outside("CELLD_DISK_COUNT", O_WRONLY | O_CREAT)),
      synchronous_(text_of("CELLD_DISK_SYNCHRONOUS")),
      sync_delay_(open_outside("CELLD_DISK_SYNC_MS", O_RDONLY)) {
  if (const char* fault = std::getenv("CELLD_DISK_FAULT")) parse_fault(fault);
  if (const auto bytes = number_of("CELLD_DISK_BYTES_MAX")) bytes_max_ = bytes;
  log(RecordKind::start, 0, ::getpid());
}

void ShimState::parse_fault(const char* text) {
  std::vector<std::string> parts;
  std::istringstream stream{text};
  for (std::string part; std::getline(stream, part, ':');) parts.push_back(part);
  if (parts.size() != 4) refuse("CELLD_DISK_FAULT");
  fault_.any = parts[0] == "any";
  const auto* kind = std::find(kind_names.begin(), kind_names.end(), parts[0]);
  if (!fault_.any && kind == kind_names.end()) refuse("CELLD_DISK_FAULT");
  fault_.kind = static_cast<CallKind>(kind - kind_names.begin());
  fault_.at = std::strtoull(parts[1].c_str(), nullptr, 10);
  fault_.error = parts[2] == "EIO" ? EIO : ENOSPC;
  fault_.halves_write = parts[2] == "SHORT";
  fault_.persists = parts[3] == "on";
}

std::optional<std::string> ShimState::watched_path(int directory, const char* path) const {
  if (root_.empty() || path == nullptr) return std::nullopt;
  std::filesystem::path whole{path};
  if (whole.is_relative()) {
    if (directory != AT_FDCWD) return std::nullopt;
    whole = std::filesystem::current_path() / whole;
  }
  const std::string text = whole.lexically_normal().string();
  if (!text.starts_with(root_ + "/") && text != root_) return std::nullopt;
  return text == root_ ? std::string{} : text.substr(root_.size() + 1);
}

Watched ShimState::watched(int descriptor) const {
  if (descriptor < 0 || static_cast<std::size_t>(descriptor) >= descriptors_max) return {};
  const auto object = objects_of_[static_cast<std::size_t>(descriptor)].load();
  return {object, object != 0 && (object & unlogged_bit) == 0};
}

int ShimState::fault(CallKind kind, std::string_view name) {
  const bool counts = fault_.any ? kind != CallKind::read : kind == fault_.kind;
  if (!counts) return 0;
  count(++calls_);
  const bool hit =
      fault_.at != 0 && (calls_ == fault_.at || (fault_.persists && calls_ > fault_.at));
  if (!hit) return 0;
  const auto what = std::string{kind_names[static_cast<std::size_t>(kind)]} + " " +
                    std::string{name} + " " + std::strerror(fault_.error);
  log(RecordKind::fault, 0, ::gettid(), what);
  if (fault_.halves_write && kind == CallKind::write && calls_ == fault_.at) {
    halves_next_ = true;
    if (!fault_.persists) ++fault_.at;  // The next call, for the second half, fails with ENOSPC.
    return 0;
  }
  return fault_.error;
}

std::chrono::milliseconds ShimState::sync_delay() const {
  std::array<char, 20> text{};
  if (sync_delay_ >= 0) ::syscall(SYS_pread64, sync_delay_, text.data(), text.size() - 1, 0);
  return std::chrono::milliseconds{std::strtoll(text.data(), nullptr, 10)};
}

void ShimState::count(std::uint64_t calls) const {
  if (count_ < 0) return;
  const auto text = std::to_string(calls);
  ::syscall(SYS_pwrite64, count_, text.data(), text.size(), 0);
}

std::size_t ShimState::grant(const Watched& file, std::size_t bytes, std::int64_t end) {
  if (std::exchange(halves_next_, false)) return bytes / 2;
  if (!bytes_max_) return bytes;
  auto& size = sizes_[std::string{name(file)}];
  if (end <= size) return bytes;
  const auto all = std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{0},
                                   [](auto sum, const auto& entry) { return sum + entry.second; });
  const auto room = *bytes_max_ - all;
  const auto granted = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(bytes) + room - end + size, 0, static_cast<std::int64_t>(bytes));
  size = std::max(size, end - static_cast<std::int64_t>(bytes) + granted);
  if (granted == 0) log(RecordKind::fault, 0, ::gettid(), "write: no space left");
  return static_cast<std::size_t>(granted);
}

void ShimState::opened(int descriptor, const std::string& path, bool directory, bool created) {
  if (static_cast<std::size_t>(descriptor) >= descriptors_max) give_up("open beyond the table");
  auto object = ++objects_;
  if (ends_with_index_name(path)) object |= unlogged_bit;
  names_[object] = path;
  objects_of_[static_cast<std::size_t>(descriptor)] = object;
  if ((object & unlogged_bit) != 0) return;
  log(directory ? RecordKind::open_directory : RecordKind::open, object, created ? 1 : 0, path);
}

void ShimState::closed(int descriptor) {
  const auto object = objects_of_[static_cast<std::size_t>(descriptor)].exchange(0);
  names_.erase(object);
}

std::string_view ShimState::name(const Watched& file) const {
  const auto found = names_.find(file.object);
  return found == names_.end() ? std::string_view{} : std::string_view{found->second};
}

void ShimState::note_writer(std::string_view name) {
  thread_local bool noted = false;
  if (noted || !is_database(name)) return;
  noted = true;
  log(RecordKind::writer, 0, ::gettid());
}

void ShimState::log(RecordKind kind, std::uint32_t object, std::int64_t value,
                    std::string_view payload) {
  if (log_ < 0) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  RecordHead head{kind, object, value,
                  std::chrono::duration_cast<std::chrono::milliseconds>(now).count(),
                  payload.size()};
  const std::array<iovec, 2> parts{
      iovec{&head, sizeof head},
      iovec{const_cast<char*>(payload.data()), payload.size()}};  // NOLINT: iovec wants it.
  const auto wanted = static_cast<long>(sizeof head + payload.size());
  if (::syscall(SYS_writev, log_, parts.data(), parts.size()) != wanted) give_up("log");
}

}  // namespace celld::disk
