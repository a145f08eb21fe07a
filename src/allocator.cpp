#include "src/allocator.hpp"

#include <string>
#include <system_error>

#ifndef CELLD_WITHOUT_JEMALLOC  // Sanitizers have an allocator of their own.
#include <jemalloc/jemalloc.h>

/// What jemalloc reads when it starts: jemalloc(3), "TUNING". Memory counts as free after a second
/// without use.
extern "C" const char* malloc_conf;
const char* malloc_conf = "max_background_threads:1,dirty_decay_ms:1000,muzzy_decay_ms:0";

namespace celld {

/// Not by `malloc_conf`: then jemalloc would create the thread before celld can report a failure.
void return_memory_in_time() {
  bool enabled = true;
  const int error = ::mallctl("background_thread", nullptr, nullptr, &enabled, sizeof enabled);
  if (error != 0) throw std::system_error(error, std::generic_category());
}

void return_free_memory() {
  const auto all_arenas = "arena." + std::to_string(MALLCTL_ARENAS_ALL) + ".purge";
  ::mallctl(all_arenas.c_str(), nullptr, nullptr, nullptr, 0);
}

}  // namespace celld
#else
void celld::return_memory_in_time() {}
void celld::return_free_memory() {}
#endif
