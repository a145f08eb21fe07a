// The main program of celld: the boot sequence, and the events that end the process.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "src/allocator.hpp"
#include "src/config/checks.hpp"
#include "src/config/config.hpp"
#include "src/config/file_text.hpp"
#include "src/daemon.hpp"
#include "src/events.hpp"
#include "src/exhaustion.hpp"
#include "src/explain_command.hpp"
#include "src/logs/log.hpp"
#include "src/providers/command/supervise.hpp"
#include "src/providers/kinds.hpp"
#include "src/reload_log.hpp"
#include "src/service_manager.hpp"
#include "src/standard_descriptors.hpp"
#include "src/store/store.hpp"
#include "src/time_zones.hpp"
#include "src/token_command.hpp"
#include "src/version.hpp"
#include "src/watchdog.hpp"

namespace {

using namespace celld;
using logs::Level;
using logs::Line;

constexpr int exit_stopped = 0;
constexpr int exit_internal = 1;
constexpr int exit_bad_configuration = 2;
constexpr int exit_store = 3;

/// Time, after the shutdown proper, for threads to end and for the store's last checkpoint.
constexpr std::chrono::milliseconds stop_margin{15'000};

/// Time for the reader of standard error to take the last lines of the log.
constexpr std::chrono::milliseconds last_lines_patience{2000};

/// Enough for the default maximum of clients and as many calls.
constexpr rlim_t descriptors_expected = 32'768;

struct Arguments {
  std::string config_path;
  std::string data_directory = "data";
  std::string listen;
  std::string log_format;  ///< Empty: text on a terminal, else JSON.
  std::string log_level = "info";
  bool check = false;
  std::string explain;  ///< The service whose requests to show; empty: none.
  bool compact = false;
  std::optional<service_manager::ListeningSocket> socket;  ///< Inherited; replaces `listen`.
};

/// Fills `arguments`, or returns an exit code if there is nothing left to do. Flags override the
/// environment.
std::optional<int> parse_arguments(int argc, char** argv, Arguments& arguments) {
  CLI::App app{"Runs provisioning jobs for many customers, safely and fairly.", "celld"};
  app.add_option("--config", arguments.config_path, "the configuration file; required")
      ->envname("CELLD_CONFIG");
  app.add_option("--listen", arguments.listen, "HOST:PORT to serve; port 0 picks a free one")
      ->envname("CELLD_LISTEN");
  app.add_option("--data", arguments.data_directory, "the directory of the database")
      ->envname("CELLD_DATA")
      ->capture_default_str();
  app.add_option("--log-format", arguments.log_format,
                 "the format of the log; default: text on a terminal, else json")
      ->envname("CELLD_LOG_FORMAT")
      ->check(CLI::IsMember({"json", "text"}));
  app.add_option("--log-level", arguments.log_level, "the lowest level to log")
      ->envname("CELLD_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  auto* check = app.add_flag("--check", arguments.check, "check the configuration and exit");
  app.add_option("--explain", arguments.explain,
                 "with --check: show this service's requests for the job on stdin")
      ->type_name("SERVICE")
      ->needs(check);
  app.add_flag("--compact", arguments.compact,
               "return unused space of the database to the file system, and exit")
      ->excludes("--check");
  app.set_version_flag("--version", std::string("celld ") + version);
  const TokenCommand token{app};
  try {
    app.parse(argc, argv);
    if (token.given()) return token.run() ? exit_stopped : exit_internal;
    if (arguments.config_path.empty()) throw CLI::RequiredError("--config");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_stopped : exit_bad_configuration;
  }
  return std::nullopt;
}

/// Prints an error and returns false if an inherited socket cannot be used.
bool take_socket(Arguments& arguments) {
  auto taken = service_manager::take_socket();
  std::string error;
  if (auto* fault = std::get_if<std::string>(&taken)) {
    error = std::move(*fault);
  } else {
    arguments.socket = std::get<std::optional<service_manager::ListeningSocket>>(std::move(taken));
    if (arguments.socket && !arguments.listen.empty()) {
      error = "--listen or CELLD_LISTEN: celld was passed a socket that listens on " +
              arguments.socket->address + " (LISTEN_FDS); use only one of the two";
    }
  }
  if (error.empty()) return true;
  std::fprintf(stderr, "celld: %s\n", error.c_str());
  return false;
}

void print(const Arguments& arguments, const json::Fault& fault) {
  std::fprintf(stderr, "celld: %s: %s: %s\n", arguments.config_path.c_str(),
               place_of(fault).c_str(), fault.detail.c_str());
}

std::vector<json::Fault> check_time_zones(const config::Config& config) {
  return config::check_time_zones(config, time_zone_fault);
}

/// Reads the configuration from its file; returns it, or all of its faults.
config::Outcome read_configuration(const Arguments& arguments) {
  auto file = config::read_file(arguments.config_path);
  if (!file.fault.empty()) return std::vector<json::Fault>{{"", std::move(file.fault)}};
  config::Overrides overrides;
  if (!arguments.listen.empty()) overrides.listen = arguments.listen;
  if (arguments.socket) overrides = {arguments.socket->address, "the socket of LISTEN_FDS"};
  return config::parse_config(file.content, providers::service_kinds(),
                              config::process_environment(), overrides,
                              {{"/services", config::check_services},
                               {"/listen", check_certificates},
                               {"/schedules", check_time_zones}});
}

/// Every connection and every call in flight needs a descriptor.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  // The kernel grows the descriptor table step by step, and each step stops every thread. So grow
  // it in one step, before there are threads.
  const auto far = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, descriptors_expected)) - 1;
  const int copy = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, far);
  if (copy >= 0) ::close(copy);
}

std::string serving_at(const Daemon& daemon) {
  return "serving at " + daemon.url();
}

api::ReloadOutcome reload(Daemon& daemon, logs::Log& log, const Arguments& arguments) {
  service_manager::reloading();
  auto read = read_configuration(arguments);
  api::ReloadOutcome outcome = std::vector<json::Fault>{};
  if (auto* faults = std::get_if<std::vector<json::Fault>>(&read)) {
    outcome = std::move(*faults);
  } else {
    outcome = daemon.reload(std::get<config::Config>(read));
  }
  log_reload(log, arguments.config_path, outcome);
  service_manager::ready(serving_at(daemon));
  return outcome;
}

void warn_of_plain_tokens(logs::Log& log, const config::Listen& listen) {
  if (listen.tls || config::is_loopback(listen.host)) return;
  log.write({Level::warning, "tokens travel unencrypted to " + listen.host +
                                 ": configure `listen.tls`, or admit only connections from a "
                                 "TLS proxy"});
}

/// Feeds the service manager's watchdog, if it has one.
std::unique_ptr<Watchdog> start_watchdog(Daemon& daemon, logs::Log& log) {
  const auto interval = service_manager::watchdog_interval();
  if (!interval) return nullptr;
  return std::make_unique<Watchdog>(
      *interval, Watchdog::Duties{[&daemon](auto within) { return daemon.answers(within); },
                                  service_manager::alive,
                                  [&log] {
                                    log.write({Level::error,
                                               "celld does not answer; the service manager's "
                                               "watchdog is not notified"});
                                  }});
}

/// Serves until an event ends celld; returns the exit code.
int serve(Daemon& daemon, Events& events, logs::Log& log, const Arguments& arguments) {
  const auto give_up = [&](const std::string& why, int exit_code) {
    log.write({Level::critical, why});
    daemon.refuse_all();
    return exit_code;
  };
  for (;;) {
    const auto event = events.wait();
    switch (event.kind) {
      case Events::Kind::hang_up:
        reload(daemon, log, arguments);
        continue;
      case Events::Kind::reload:
        event.answer(reload(daemon, log, arguments));
        continue;
      case Events::Kind::stop: {
        log.write({Level::info, "shutting down"});
        events.refuse_reloads();
        service_manager::stopping(daemon.shutdown_longest() + stop_margin);
        const std::string failure = daemon.shut_down();
        if (failure.empty()) {
          log.write({Level::info, "shut down"});
          return exit_stopped;
        }
        log.write({Level::error, "the shutdown did not complete: " + failure});
        return exit_store;
      }
      case Events::Kind::store_failed:
        return give_up("the store failed; celld accepts nothing more: " + event.detail, exit_store);
      case Events::Kind::engine_failed:
        return give_up("the engine failed: " + event.detail, exit_internal);
    }
  }
}

/// Exits at once, without waiting for any part of celld or for the reader of standard error.
[[noreturn]] void leave(int exit_code) {
  std::fflush(stdout);
  std::_Exit(exit_code);
}

int start_and_serve(const Arguments& arguments, const config::Config& configuration, Events& events,
                    logs::Log& log) {
  warn_of_plain_tokens(log, configuration.listen);
  std::optional<int> listening_socket;
  if (arguments.socket) {
    log.write({Level::info, "serving the inherited socket, " + arguments.socket->address +
                                "; the address in `listen` is ignored"});
    listening_socket = arguments.socket->descriptor;
  }
  std::optional<ThreadsRequired> during_the_start{std::in_place};
  auto started =
      Daemon::start(configuration, arguments.data_directory, events, log, listening_socket);
  during_the_start.reset();
  if (const auto* failure = std::get_if<StartFailure>(&started)) {
    log.write({Level::critical, failure->text});
    return failure->exit_code;
  }
  auto& daemon = *std::get<std::unique_ptr<Daemon>>(started);
  std::printf("celld listening on %s\n", daemon.url().c_str());
  std::fflush(stdout);
  log.write(Line{Level::info, serving_at(daemon)}
                .text("version", version)
                .text("config", arguments.config_path)
                .text("data", arguments.data_directory));
  service_manager::ready(serving_at(daemon));
  const auto watchdog = start_watchdog(daemon, log);
  const int exit_code = serve(daemon, events, log, arguments);
  if (exit_code != exit_stopped) {
    // The daemon's parts may wait for a store, or for one another, that no longer answer.
    log.finish(last_lines_patience);
    leave(exit_code);
  }
  return exit_code;
}

logs::Settings log_settings(const Arguments& arguments) {
  logs::Settings settings;
  settings.level = logs::parse_level(arguments.log_level).value_or(Level::info);
  const auto usual = ::isatty(STDERR_FILENO) == 1 ? logs::Format::text : logs::Format::json;
  settings.format = logs::parse_format(arguments.log_format).value_or(usual);
  return settings;
}

/// Returns the exit code.
int compact(const Arguments& arguments, const config::Config& configuration) {
  const std::string error = store::compact_store(configuration.store, arguments.data_directory);
  if (error.empty()) return exit_stopped;
  std::fprintf(stderr, "celld: %s\n", error.c_str());
  return exit_store;
}

/// Returns the exit code.
int explain(const Arguments& arguments, const config::Config& configuration) {
  const std::string job{std::istreambuf_iterator<char>(std::cin), {}};
  return explain_job(configuration, arguments.explain, job) ? exit_stopped : exit_bad_configuration;
}

int run(const Arguments& arguments, const config::Config& configuration) {
  Events events;
  prepare_allocator();
  raise_descriptor_limit();
  logs::Log log{log_settings(arguments), stderr};
  int exit_code = exit_internal;
  try {
    exit_code = start_and_serve(arguments, configuration, events, log);
  } catch (const std::exception& error) {
    log.write({Level::critical, error.what()});
  }
  // The reader of standard error may have stopped reading.
  if (!log.finish(last_lines_patience)) leave(exit_code);
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  // Only celld itself passes this argument.
  if (argc == 2 && std::string_view(argv[1]) == providers::supervise_argument) {
    return providers::supervise_commands();
  }
  ::signal(SIGXFSZ, SIG_IGN);  // A write beyond a limit on file sizes fails with EFBIG.
  end_without_memory(exit_internal);
  Arguments arguments;
  if (const auto exit_code = parse_arguments(argc, argv, arguments)) return *exit_code;
  if (!take_socket(arguments)) return exit_bad_configuration;
  const auto read = read_configuration(arguments);
  if (const auto* faults = std::get_if<std::vector<json::Fault>>(&read)) {
    for (const auto& fault : *faults) print(arguments, fault);
    return exit_bad_configuration;
  }
  if (arguments.check && arguments.explain.empty()) return exit_stopped;
  try {
    const auto& configuration = std::get<config::Config>(read);
    if (arguments.check) return explain(arguments, configuration);
    return arguments.compact ? compact(arguments, configuration) : run(arguments, configuration);
  } catch (const std::exception& error) {  // Before there was a log.
    std::fprintf(stderr, "celld: %s\n", error.what());
    return exit_internal;
  }
}
