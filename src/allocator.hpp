// celld allocates with jemalloc: see docs/decisions/0029-jemalloc.md.
#pragma once

namespace celld {

/// From now on, a thread returns free memory to the system in time. Throws std::system_error if the
/// thread cannot be created.
void return_memory_in_time();

/// Returns the memory that is free at this moment.
void return_free_memory();

}  // namespace celld
