// celld allocates with jemalloc: see docs/decisions/0029-jemalloc.md.
#pragma once

namespace celld {

/// Creates jemalloc's arenas, and its thread that returns free memory to the system in time. It
/// would create them later, but could not report a failure then. Throws std::system_error if the
/// system allows no more memory or threads. Must be called before there are other threads.
void prepare_allocator();

/// Returns the memory that is free at this moment.
void return_free_memory();

/// The same, only for the arena from which this thread allocates.
void return_free_memory_of_thread();

}  // namespace celld
