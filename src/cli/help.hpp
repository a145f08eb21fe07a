// The help pages, generated from the table of verbs. Every page fits on one screen.
#pragma once

#include <string>
#include <string_view>

#include "src/cli/verbs.hpp"

namespace celld::cli {

std::string help_of_all();
std::string help_of_noun(std::string_view noun);
std::string help_of_verb(const Verb& verb);

}  // namespace celld::cli
