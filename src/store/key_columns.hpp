// The keys of the indexes of jobs, and SQL text for their columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "src/store/sqlite.hpp"

namespace celld::store {

/// The columns of a key; the last one that is in use is the job's id, which is positive.
using IndexKey = std::array<std::int64_t, 5>;

struct KeyColumns {
  std::array<const char*, 5> names;  ///< Null where unused.
  std::size_t width;                 ///< The number of columns.
  std::size_t prefix;                ///< The number of columns that a scan fixes.
};

/// "a`between`b`between`c" of the columns from `first` to before `end`.
std::string join_names(const KeyColumns& columns, std::size_t first, std::size_t end,
                       const char* between = ", ");
/// "?`first`, ?`first + 1`", `count` of them.
std::string parameters(std::size_t first, std::size_t count);
/// "a = ?`first` AND b = ?`first + 1`" of the first `count` columns.
std::string equal(const KeyColumns& columns, std::size_t count, std::size_t first = 1);

/// Binds the first `width` columns of the key to the parameters from `first` on.
void bind_key(Statement& statement, std::size_t first, const IndexKey& key, std::size_t width);
/// A key in the first `width` columns of the row.
IndexKey read_key(const Statement& row, std::size_t width);

}  // namespace celld::store
