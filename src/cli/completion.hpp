// Generates completion scripts from the tree of commands. The files in config/completion are their
// output.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace celld::cli {

std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

}  // namespace celld::cli
