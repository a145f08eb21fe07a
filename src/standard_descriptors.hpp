// Descriptors 0, 1 and 2 of a process.
#pragma once

namespace celld {

/// Puts something that can be neither read nor written in place of each standard descriptor that is
/// closed. Otherwise the next file or connection would get its number, and what is printed. Call
/// this first.
void fill_standard_descriptors();

}  // namespace celld
