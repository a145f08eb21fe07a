// A preloaded library that gives a process a wall clock of its own: the machine's, shifted by the
// nanoseconds in the file that CLOCK_OFFSET_FILE names, which may change at any time. It allocates
// nothing, because allocators read clocks.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr std::int64_t ns_per_s = 1'000'000'000;

const volatile std::int64_t* map_offset() {
  static constexpr std::int64_t none = 0;
  const char* const path = std::getenv("CLOCK_OFFSET_FILE");
  const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &none;
  void* const mapped = ::mmap(nullptr, sizeof none, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  return mapped == MAP_FAILED ? &none : static_cast<const std::int64_t*>(mapped);
}

std::int64_t wall_ns() {
  static const volatile std::int64_t* const offset_ns = map_offset();
  timespec at{};
  ::syscall(SYS_clock_gettime, CLOCK_REALTIME, &at);
  return at.tv_sec * ns_per_s + at.tv_nsec + *offset_ns;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* at) noexcept {
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) {
    return static_cast<int>(::syscall(SYS_clock_gettime, clock, at));
  }
  const std::int64_t now = wall_ns();
  *at = {now / ns_per_s, now % ns_per_s};
  return 0;
}

extern "C" int gettimeofday(timeval* at, void* /*zone*/) noexcept {
  const std::int64_t now = wall_ns();
  *at = {now / ns_per_s, now % ns_per_s / 1000};
  return 0;
}

extern "C" time_t time(time_t* at) noexcept {
  const time_t now = wall_ns() / ns_per_s;
  if (at != nullptr) *at = now;
  return now;
}
