#include "src/allocator.hpp"

#include <string>

#ifndef CELLD_WITHOUT_JEMALLOC  // Sanitizers have an allocator of their own.
#include <jemalloc/jemalloc.h>

/// What jemalloc reads at its start: jemalloc(3), "TUNING". One thread of its own returns free
/// memory to the system after a second, and sleeps while there is none.
extern "C" const char* malloc_conf;
const char* malloc_conf =
    "background_thread:true,max_background_threads:1,dirty_decay_ms:1000,muzzy_decay_ms:0";

namespace celld {

void return_free_memory() {
  const auto all_arenas = "arena." + std::to_string(MALLCTL_ARENAS_ALL) + ".purge";
  ::mallctl(all_arenas.c_str(), nullptr, nullptr, nullptr, 0);
}

}  // namespace celld
#else
void celld::return_free_memory() {}
#endif
