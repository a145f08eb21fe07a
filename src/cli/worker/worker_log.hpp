// What a worker says on standard error.
#pragma once

#include <string>

#include "src/cli/output.hpp"

namespace celld::cli {

/// Thread-safe. Every text must be safe for a terminal: see `cleaned`.
class WorkerLog {
 public:
  explicit WorkerLog(bool quiet) : quiet_(quiet) {}

  /// Reports normal progress; prints nothing when quiet.
  void note(const std::string& text) const {
    if (!quiet_) problem(text);
  }
  static void problem(const std::string& text) { print_message(text); }

 private:
  bool quiet_;
};

}  // namespace celld::cli
