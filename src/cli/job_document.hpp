// The body of a submission, from a file and from flags.
#pragma once

#include <string>

#include "src/cli/arguments.hpp"

namespace celld::cli {

struct JobDocument {
  std::string body;             ///< JSON text.
  std::string idempotency_key;  ///< Of a flag or of the file; empty: neither has one.
};

/// The job of `--file`, with what the other flags say instead; without a file, what they say. The
/// fields themselves are celld's to check. Throws a Failure when the file is not a JSON object, or
/// a flag cannot be understood.
JobDocument job_document(const Arguments& arguments);

}  // namespace celld::cli
