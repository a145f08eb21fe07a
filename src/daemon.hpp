// The composition: engine, store, providers and API of one daemon, from a checked configuration.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/config/config.hpp"
#include "src/events.hpp"
#include "src/http/api/reload.hpp"
#include "src/json/json.hpp"
#include "src/logs/log.hpp"

namespace celld {

/// Why the daemon could not start, and its exit code.
struct StartFailure {
  int exit_code = 1;
  std::string text;
};

/// What is wrong with the files that `listen.tls` names, if anything.
std::vector<json::Fault> check_certificates(const config::Config& config);

/// A running celld. Destruction stops and joins everything.
class Daemon {
 public:
  /// Binds, opens the store in `data_directory`, waits until no command of an earlier celld runs
  /// there, resumes the jobs of the store, and serves. `events` receives failures; it must outlive
  /// the daemon, as must `log`. With a `listening_socket`, serves that socket, which
  /// `config.listen` must then describe, and does not bind.
  static std::variant<std::unique_ptr<Daemon>, StartFailure> start(
      const config::Config& config, const std::string& data_directory, Events& events,
      logs::Log& log, std::optional<int> listening_socket = std::nullopt);

  virtual ~Daemon() = default;

  /// "http://HOST:PORT", or https with TLS, as bound.
  virtual std::string url() const = 0;

  /// Applies this checked configuration. New connections use the present contents of the files in
  /// `listen.tls`. Settings that only a restart can change stay as they are. If there are faults,
  /// nothing changes (promise P12). Refused if `events` has a request to stop before the engine has
  /// completed the reload; then only shut_down() may follow. Call only from the thread that called
  /// start().
  virtual api::ReloadOutcome reload(const config::Config& next) = 0;

  /// Whether the parts that every request needs, the connection thread and the cell dispatcher,
  /// answer in time. May run at the same time as any other call, but on one thread at a time.
  virtual bool answers(std::chrono::milliseconds within) = 0;

  /// The longest that shut_down() takes.
  virtual std::chrono::milliseconds shutdown_longest() const = 0;

  /// Shuts down as promise P11 says. First leaves an inherited listening socket to the next
  /// process: for a moment, requests on open connections are still served, and their answers
  /// announce that the connection closes. Then admits nothing more. Returns once everything that
  /// can finish within the configured grace period has finished, the rest is handed back, and
  /// everything is on disk. Calls that do not end when aborted are logged, and their jobs stay
  /// `running`. Returns an error text, empty on success.
  virtual std::string shut_down() = 0;

  /// After a part of celld has failed: answers every pending request with 503 now.
  virtual void refuse_all() = 0;
};

}  // namespace celld
