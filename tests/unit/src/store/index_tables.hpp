// Compares the tables of the store's indexes (behind_index.hpp) with the rows of the jobs.
#pragma once

#include <string>

namespace celld::store::test {

/// Fails unless each table has all keys of the jobs up to `indexed_id`, no key of a job above
/// `indexing_id`, and no key that no job has.
void check_indexes(const std::string& database);

}  // namespace celld::store::test
