// What ends a command before its work is done, and what the shell is told then.
#pragma once

#include <stdexcept>
#include <string>

namespace celld::cli {

/// Scripts rely on these numbers.
enum class ExitCode : int {
  ok = 0,
  job_not_succeeded = 1,  ///< A job that was waited for failed or was cancelled.
  usage = 2,              ///< The command line, or a file it names, is at fault.
  refused = 3,            ///< celld refused the request.
  not_found = 4,
  unavailable = 5,    ///< No answer, or one that says celld cannot serve at the moment.
  not_ended = 6,      ///< A job that was waited for has not ended in time.
  output_failed = 7,  ///< Standard output, or the file asked for, cannot be written.
};

/// Ends a command; `what` is for the person who gave it. Thrown by whatever finds out, caught where
/// the command was started.
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
