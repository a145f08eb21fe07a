// Counts the memory allocations of the process that loads it (LD_PRELOAD), in a file that the
// benchmark maps too. The file's name is in CELLD_ALLOCATIONS; it starts with a 64-bit counter.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using Counter = std::atomic<std::uint64_t>;
static_assert(Counter::is_always_lock_free);

Counter uncounted;  // Until the file is mapped.
std::atomic<Counter*> counter{&uncounted};

void count() {
  counter.load(std::memory_order_relaxed)->fetch_add(1, std::memory_order_relaxed);
}

/// The function of this name in the allocator of the process.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void* next_malloc(std::size_t size) {
  static auto* const function = next<void*(std::size_t)>("malloc");
  count();
  return function(size);
}

void* next_aligned_alloc(std::size_t alignment, std::size_t size) {
  static auto* const function = next<void*(std::size_t, std::size_t)>("aligned_alloc");
  count();
  return function(alignment, size);
}

void* or_throw(void* block) {
  if (block == nullptr) throw std::bad_alloc{};
  return block;
}

__attribute__((constructor)) void map_counter() {
  const char* path = std::getenv("CELLD_ALLOCATIONS");
  const int file = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* mapped = ::mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (mapped != MAP_FAILED) counter = static_cast<Counter*>(mapped);
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  return next_malloc(size);
}

void* calloc(std::size_t count_of_items, std::size_t size) {
  static auto* const function = next<void*(std::size_t, std::size_t)>("calloc");
  count();
  return function(count_of_items, size);
}

void* realloc(void* block, std::size_t size) {
  static auto* const function = next<void*(void*, std::size_t)>("realloc");
  count();
  return function(block, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return next_aligned_alloc(alignment, size);
}

}  // extern "C"

// An allocator may have an operator new that does not call malloc. Its operator delete takes what
// its malloc returned.
void* operator new(std::size_t size) {
  return or_throw(next_malloc(size));
}
void* operator new[](std::size_t size) {
  return or_throw(next_malloc(size));
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return next_malloc(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto multiple = static_cast<std::size_t>(alignment);
  return or_throw(next_aligned_alloc(multiple, (size + multiple - 1) / multiple * multiple));
}
