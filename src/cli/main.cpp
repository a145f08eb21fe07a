// cellctl: parses the command line, runs the verb and reports failures.
#include <fcntl.h>

#include <csignal>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/commands.hpp"
#include "src/cli/session.hpp"
#include "src/providers/command/supervise.hpp"

namespace {

using namespace celld::cli;

ExitCode run(const std::vector<std::string>& words) {
  Commands commands;
  const CommandLine line = commands.parse(words);
  Session session(line.arguments);
  return line.action(session, line.arguments);
}

/// The next file or connection would get the number of a closed standard descriptor. Puts something
/// in its place that can be neither read nor written.
void fill_standard_descriptors() {
  for (const int descriptor : {0, 1, 2}) {
    if (::fcntl(descriptor, F_GETFD) != -1) continue;
    if (::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  // Only `cellctl worker` itself passes this argument.
  if (argc == 2 && std::string_view(argv[1]) == celld::providers::supervise_argument)
    return celld::providers::supervise_commands();
  std::signal(SIGPIPE, SIG_IGN);  // A broken connection is an ordinary error. See Output::print.
  ExitCode code = ExitCode::ok;
  try {
    code = run({argv + 1, argv + argc});
  } catch (const Failure& failure) {
    print_message(failure.what());
    code = failure.code();
  } catch (const std::exception& error) {
    print_message(std::string("internal error: ") + error.what());
    code = ExitCode::unavailable;
  }
  return static_cast<int>(code);
}
