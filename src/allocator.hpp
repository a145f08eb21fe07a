// celld allocates with jemalloc: see docs/decisions/0029-jemalloc.md.
#pragma once

namespace celld {

/// Returns the memory that is free at this moment to the system. In time, that happens by itself.
void return_free_memory();

}  // namespace celld
