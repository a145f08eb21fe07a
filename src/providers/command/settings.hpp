// The settings of a `command` service.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/config/secrets.hpp"

namespace celld::providers {

/// Runs a program for each attempt. Its standard input is the document that an `http` service gets.
struct CommandService {
  std::vector<std::string> arguments;  ///< The program's absolute path, then its arguments.
  config::NamedSecrets environment;    ///< Nothing is inherited.
  /// Undoes a step; as `arguments`. None: the service has no undo.
  std::optional<std::vector<std::string>> undo_arguments{};

  bool operator==(const CommandService&) const = default;
};

}  // namespace celld::providers
