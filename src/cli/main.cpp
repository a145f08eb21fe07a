// cellctl: parses the command line, runs the verb and reports failures.
#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "src/cli/help.hpp"
#include "src/cli/session.hpp"
#include "src/cli/verbs.hpp"
#include "src/version.hpp"

namespace {

using namespace celld::cli;

std::string help_for(const CommandLine& line) {
  if (line.verb != nullptr) return help_of_verb(*line.verb);
  return line.noun.empty() ? help_of_all() : help_of_noun(line.noun);
}

ExitCode run(const std::vector<std::string>& words) {
  const CommandLine line = parse_command_line(words);
  Session session(line.arguments);
  if (line.help || line.version) {
    session.out().print(line.help ? help_for(line)
                                  : std::string("cellctl ") + celld::version + "\n");
    return ExitCode::ok;
  }
  return line.verb->run(session, line.arguments);
}

}  // namespace

int main(int argc, char** argv) {
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
