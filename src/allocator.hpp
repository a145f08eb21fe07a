// celld allocates with jemalloc: see docs/decisions/0029-jemalloc.md.
#pragma once

namespace celld {

/// Creates jemalloc's arenas, and its thread that returns free memory to the system after a while.
/// jemalloc would create them on first use, when it could no longer report a failure. Throws
/// std::system_error if the system allows no more memory or threads. Must be called before there
/// are other threads.
void prepare_allocator();

/// Returns all memory that is free at this moment to the system.
void return_free_memory();

/// The same, but only for the arena from which this thread allocates.
void return_free_memory_of_thread();

}  // namespace celld
