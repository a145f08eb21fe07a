// The error that ends a command, and the exit codes.
#pragma once

#include <stdexcept>
#include <string>

namespace celld::cli {

/// Scripts rely on these numbers.
enum class ExitCode : int {
  ok = 0,
  job_not_succeeded = 1,  ///< A job or batch did not succeed, or a worker ended its commands.
  usage = 2,              ///< The command line, or a file it names, is invalid.
  refused = 3,            ///< celld refused the request.
  not_found = 4,
  unavailable = 5,    ///< No response, a 5xx, reports not delivered, or a damaged backup.
  not_ended = 6,      ///< A job that cellctl waited for did not end in time.
  output_failed = 7,  ///< Standard output or the requested file cannot be written.
};

/// Ends the command: `main` prints `what()` for the user and exits with `code()`.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

inline Failure usage_failure(const std::string& text) {
  return {ExitCode::usage, text};
}

}  // namespace celld::cli
