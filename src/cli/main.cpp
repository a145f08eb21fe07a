// cellctl: parses the command line, runs the verb and reports failures.
#include <csignal>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/commands.hpp"
#include "src/cli/session.hpp"
#include "src/providers/command/supervise.hpp"
#include "src/standard_descriptors.hpp"

namespace {

using namespace celld::cli;

ExitCode run(const std::vector<std::string>& words) {
  Commands commands;
  const CommandLine line = commands.parse(words);
  Session session(line.arguments);
  return line.action(session, line.arguments);
}

}  // namespace

int main(int argc, char** argv) {
  celld::fill_standard_descriptors();
  // Only `cellctl worker` itself passes this argument.
  if (argc == 2 && std::string_view(argv[1]) == celld::providers::supervise_argument)
    return celld::providers::supervise_commands();
  std::signal(SIGPIPE, SIG_IGN);  // A broken connection is an ordinary error. See Output::print.
  std::signal(SIGXFSZ, SIG_IGN);  // So is a limit on the size of files.
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
