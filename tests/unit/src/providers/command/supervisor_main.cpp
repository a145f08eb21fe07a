// Runs this test program as the supervisor of its own commands, as celld does.
#include <unistd.h>

#include <string_view>

#include "src/providers/command/supervise.hpp"

namespace {

// Runs before Catch's main(). glibc passes the arguments of main() to constructors.
[[gnu::constructor]] void supervise_if_asked(int argc, char** argv, char**) {
  if (argc == 2 && std::string_view(argv[1]) == celld::providers::supervise_argument) {
    ::_exit(celld::providers::supervise_commands());
  }
}

}  // namespace
