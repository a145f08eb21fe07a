// Builds the body of a submission from a file and flags.
#pragma once

#include <string>

#include "src/cli/arguments.hpp"

namespace celld::cli {

struct JobDocument {
  std::string body;             ///< JSON text.
  std::string idempotency_key;  ///< From the flag or the file; empty: neither has one.
};

/// The flags that `job_document` reads, except --key.
void add_job_flags(CLI::App& verb);
/// The flags that say when one job runs. A job of a schedule has none of them.
void add_time_flags(CLI::App& verb);

/// The job in `--file`, overridden by the other flags; without a file, the flags alone. celld
/// validates the members. Throws a Failure when the file is not a JSON object or a parameter is
/// malformed.
JobDocument job_document(const Arguments& arguments);

/// The same for a job of a schedule, which has no key: JSON text.
std::string schedule_job(const Arguments& arguments);

}  // namespace celld::cli
