// Completion scripts for shells, made from the table of verbs; the files in config/completion are
// what these return.
#pragma once

#include <string>

namespace celld::cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace celld::cli
