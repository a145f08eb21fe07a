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

/// Why the daemon could not start, and what it then exits with.
struct StartFailure {
  int exit_code = 1;
  std::string text;
};

/// What is wrong with the files that `listen.tls` names, if anything.
std::vector<json::Fault> check_certificates(const config::Config& config);

/// A running celld. Everything is stopped and joined when it goes.
class Daemon {
 public:
  /// Binds, opens the store below `data_directory`, waits until no command of an earlier celld runs
  /// there, takes up what it has, and serves. `events` hears of failures and must outlive the
  /// engine, as must `log`. With a `listening_socket` it serves that one, which `config.listen`
  /// then describes, and does not bind.
  static std::variant<std::unique_ptr<Daemon>, StartFailure> start(
      const config::Config& config, const std::string& data_directory, Events& events,
      logs::Log& log, std::optional<int> listening_socket = std::nullopt);

  virtual ~Daemon() = default;

  /// "http://HOST:PORT", or https with TLS, as bound.
  virtual std::string url() const = 0;

  /// Goes on with this checked configuration, and with what the files of `listen.tls` hold now, for
  /// connections from now on. What only a start can change stays. With faults nothing changes
  /// (promise P12). From the thread that has started it.
  virtual api::ReloadOutcome reload(const config::Config& next) = 0;

  /// Whether those answer in this time that every request needs: the thread of the connections, and
  /// the cell dispatcher. From one thread of the caller's, beside all else.
  virtual bool answers(std::chrono::milliseconds within) = 0;

  /// The longest that a drain takes.
  virtual std::chrono::milliseconds shutdown_longest() const = 0;

  /// Stops as promise P11 says. A listening socket that celld was given is left to its successor
  /// first: for a moment, requests on open connections are served, and their answers say that the
  /// connection closes. From then on nothing is admitted; returns when everything that could finish
  /// within the configured grace has, the rest is handed back, and all is on disk. What does not
  /// end when it is told to stays `running`, after a warning. The text is an error; empty: all went
  /// well.
  virtual std::string shut_down() = 0;

  /// After the store has failed: every request in hand gets its 503 now.
  virtual void refuse_all() = 0;
};

}  // namespace celld
