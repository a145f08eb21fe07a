// Generates completion scripts from the table of verbs. The files in config/completion are their
// output.
#pragma once

#include <string>

namespace celld::cli {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace celld::cli
