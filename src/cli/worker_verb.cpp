// `cellctl worker`
#include <unistd.h>

#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <system_error>

#include "src/cli/commands.hpp"
#include "src/cli/session.hpp"
#include "src/cli/worker/worker.hpp"

namespace celld::cli {
namespace {

constexpr std::int64_t concurrency_max = 1000;
constexpr milliseconds grace_default{5'000};
constexpr std::size_t name_bytes_max = 255;

/// A name that no other process has, so that it has no earlier leases.
std::string unique_name() {
  constexpr std::size_t host_bytes_max = 200;
  std::array<char, host_bytes_max> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return std::string(host.data()) + "-" + std::to_string(::getpid()) + "-" +
         std::to_string(std::random_device{}());
}

std::string read_name(const Arguments& arguments) {
  const auto given = arguments.text("--name");
  if (!given) return unique_name();
  if (given->empty() || given->size() > name_bytes_max)
    throw usage_failure("--name must have 1 to 255 bytes");
  return *given;
}

std::string current_directory() {
  std::error_code error;
  const auto path = std::filesystem::current_path(error);
  if (error) throw usage_failure("the current directory is not usable: " + error.message());
  return path;
}

WorkerSettings read_settings(Session& session, const Arguments& arguments) {
  WorkerSettings settings;
  settings.connection = session.connection();
  settings.service = arguments.text("--service").value_or("");
  settings.quiet = arguments.has("--quiet");
  settings.runs.command = arguments.text("--exec").value_or("");
  settings.runs.directory = current_directory();
  settings.runs.worker = read_name(arguments);
  const auto concurrency = arguments.integer("--concurrency").value_or(1);
  if (concurrency < 1 || concurrency > concurrency_max)
    throw usage_failure("--concurrency must be between 1 and 1000");
  settings.runs.concurrency = static_cast<std::size_t>(concurrency);
  settings.runs.grace = arguments.duration("--grace").value_or(grace_default);
  if (settings.service.empty()) throw usage_failure("--service is required");
  if (settings.runs.command.empty()) throw usage_failure("--exec is required, with a command");
  return settings;
}

ExitCode worker(Session& session, const Arguments& arguments) {
  return run_worker(read_settings(session, arguments));
}

}  // namespace

void add_worker(Commands& commands) {
  CLI::App& verb = commands.add(
      "", "worker",
      {"run a command for each job of a service of type `pull`",
       "The shell runs CMD once per attempt, with the document of a `command` provider on "
       "standard\n"
       "input. Standard output and the exit status are the result: 0 success, 75 try again, most\n"
       "others fail the job. Lines on standard error: `progress 40%`, `message TEXT`; others "
       "appear\n"
       "in the job when the command ends. The first SIGTERM or SIGINT lets running commands "
       "finish,\n"
       "the second ends them. docs/cellctl.md has the details.",
       "cellctl worker --service send --exec 'exec ./send' --concurrency 4"},
      worker);
  add_value(verb, "--service", "NAME", "lease the jobs of this service");
  add_value(verb, "--exec", "CMD", "run this shell command for each job");
  add_value(verb, "--name", "NAME", "the worker's unique name (host, process and a random number)");
  add_value(verb, "--concurrency", "N", "run up to N commands at a time (1)")->check(integer_fault);
  add_value(verb, "--grace", "DURATION", "the time from SIGTERM to SIGKILL (5s)");
  add_switch(verb, "-q,--quiet", "print only failures and problems");
}

}  // namespace celld::cli
