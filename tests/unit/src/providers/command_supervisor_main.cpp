// This test program is the supervisor of its own commands, as celld is of its.
#include <unistd.h>

#include <string_view>

#include "src/providers/command_supervise.hpp"

namespace {

// Before main(), which is Catch's. glibc gives constructors the arguments of main().
[[gnu::constructor]] void supervise_if_told(int argc, char** argv, char**) {
  if (argc == 2 && std::string_view(argv[1]) == celld::providers::supervise_argument) {
    ::_exit(celld::providers::supervise_commands());
  }
}

}  // namespace
