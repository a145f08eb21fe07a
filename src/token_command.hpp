// `celld token`: makes an API token and its entry for the configuration.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace celld {

/// Registers itself with `app`; must outlive the parsing.
class TokenCommand {
 public:
  explicit TokenCommand(CLI::App& app);
  TokenCommand(const TokenCommand&) = delete;
  TokenCommand& operator=(const TokenCommand&) = delete;

  /// Whether the command line asks for this command.
  bool given() const { return command_->parsed(); }

  /// Prints the token, which celld does not store, and its entry for `auth.tokens`, each on a line
  /// of standard output. On failure, prints a message and returns false.
  bool run() const;

 private:
  CLI::App* command_;
  std::string name_ = "client";
  std::vector<std::string> scopes_ = {"submit", "read"};
  std::vector<std::string> services_;
  std::string customer_;
  bool json_ = false;
};

}  // namespace celld
