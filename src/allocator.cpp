#include "src/allocator.hpp"

#include <cerrno>
#include <string>
#include <system_error>

#ifndef CELLD_WITHOUT_JEMALLOC  // Sanitizers have an allocator of their own.
#include <jemalloc/jemalloc.h>

/// jemalloc reads this when it starts; see jemalloc(3), "TUNING". Threads share four arenas, and
/// unused memory goes back to the system within a second.
extern "C" const char* malloc_conf;
const char* malloc_conf = "narenas:4,max_background_threads:1,dirty_decay_ms:1000,muzzy_decay_ms:0";

namespace celld {
namespace {

/// Changes a setting of jemalloc.
template <class Value>
void set(const char* name, Value value) {
  if (::mallctl(name, nullptr, nullptr, &value, sizeof value) != 0) {
    throw std::system_error(EAGAIN, std::generic_category());
  }
}

unsigned get(const char* name) {
  unsigned value = 0;
  std::size_t size = sizeof value;
  ::mallctl(name, &value, &size, nullptr, 0);
  return value;
}

void purge(unsigned arena) {
  const auto name = "arena." + std::to_string(arena) + ".purge";
  ::mallctl(name.c_str(), nullptr, nullptr, nullptr, 0);
}

}  // namespace

void prepare_allocator() {
  unsigned arenas = get("opt.narenas");
  // jemalloc creates an arena for the first thread that uses it, and crashes if it cannot.
  while (arenas > 0) set("thread.arena", --arenas);
  set("background_thread", true);
}

void return_free_memory() {
  purge(MALLCTL_ARENAS_ALL);
}

void return_free_memory_of_thread() {
  purge(get("thread.arena"));
}

}  // namespace celld
#else
void celld::prepare_allocator() {}
void celld::return_free_memory() {}
void celld::return_free_memory_of_thread() {}
#endif
