// `celld token`: makes a token for the API and the entry that lets it in.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace celld {

/// Registers itself with the command line; must outlive its parsing.
class TokenCommand {
 public:
  explicit TokenCommand(CLI::App& app);
  TokenCommand(const TokenCommand&) = delete;
  TokenCommand& operator=(const TokenCommand&) = delete;

  /// True when it is what was asked for.
  bool given() const { return command_->parsed(); }

  /// Prints the token, which is kept nowhere, and its entry for `auth.tokens`, each on a line of
  /// standard output. False, and a message: there is no token.
  bool run() const;

 private:
  CLI::App* command_;
  std::string name_ = "client";
  std::vector<std::string> scopes_ = {"submit", "read"};
  std::string customer_;
  bool json_ = false;
};

}  // namespace celld
