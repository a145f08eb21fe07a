// Counts the memory allocations of the process that loads it (LD_PRELOAD), in a file that the
// benchmark maps too. The file's name is in CELLD_ALLOCATIONS; it starts with a 64-bit counter.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

// The names under which glibc exports its allocator for replacements such as this one.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

using Counter = std::atomic<std::uint64_t>;
static_assert(Counter::is_always_lock_free);

Counter uncounted;  // Until the file is mapped.
std::atomic<Counter*> counter{&uncounted};

void count() {
  counter.load(std::memory_order_relaxed)->fetch_add(1, std::memory_order_relaxed);
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
  count();
  return __libc_malloc(size);
}

void* calloc(std::size_t count_of_items, std::size_t size) {
  count();
  return __libc_calloc(count_of_items, size);
}

void* realloc(void* block, std::size_t size) {
  count();
  return __libc_realloc(block, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

}  // extern "C"
