// The file in which a graceful shutdown keeps jobs in memory for the next start: an SQLite database
// with the schema of the store, so that a later version of celld can read it too.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "src/store/memory_jobs.hpp"

namespace celld::store {

/// Writes the open jobs of `content` that `keeps` selects, with their idempotency keys, to a new
/// file at `path`; without such jobs, writes no file. Durable once it returns. Returns an error in
/// plain words, or an empty text.
std::string write_kept_jobs(const std::string& path, const StoreContent& content,
                            const std::function<bool(const cells::Job&)>& keeps);

/// Reads the file. No jobs if there is none. The string is an error in plain words.
std::variant<StoreContent, std::string> read_kept_jobs(const std::string& path);

/// Removes the file, before any of its jobs starts: a crash must not run them again. Durable once
/// it returns. Returns an error in plain words, or an empty text.
std::string remove_kept_jobs(const std::string& path);

}  // namespace celld::store
