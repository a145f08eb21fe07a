// The configuration: one JSON file, checked whole, immutable afterwards.
// Parse → defaults → validate → Config; every fault at once, each with its JSON pointer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cells/model/cell_settings.hpp"
#include "cells/model/time.hpp"
#include "src/json/json.hpp"

namespace celld::config {

using cells::milliseconds;

/// PEM files; a relative path lies below celld's working directory.
struct Tls {
  std::string certificate_path;
  std::string key_path;
  std::string client_ca_path;  ///< Whose clients are let in; empty: no client needs a certificate.

  bool operator==(const Tls&) const = default;
};

struct Listen {
  std::string host = "127.0.0.1";  ///< Without tokens a loopback address or "localhost".
  std::uint16_t port = 8080;       ///< 0 takes a free port.
  std::optional<Tls> tls{};

  bool operator==(const Listen&) const = default;
};

/// What a token allows. Each route asks for exactly one, and none implies another.
enum class Scope : std::uint8_t {
  submit,  ///< To submit, cancel and retry jobs.
  read,    ///< To see jobs and cells.
  work,    ///< To lease jobs of services whose workers pull.
  admin,   ///< To change what celld does.
};
std::string_view to_string(Scope scope);
std::optional<Scope> parse_scope(std::string_view text);

using TokenDigest = std::array<std::uint8_t, 32>;  ///< SHA-256.

/// Whoever shows the token that has this digest may do this. The token itself is nowhere.
struct Token {
  std::string name;
  TokenDigest digest{};
  std::set<Scope> scopes;
  std::optional<std::string> customer;  ///< All that it may see and submit for.

  bool operator==(const Token&) const = default;
};

/// What one client may take of the server; as http::Limits.
struct Limits {
  std::size_t head_bytes_max = 16 << 10;
  std::size_t headers_max = 64;
  std::size_t uri_bytes_max = 4 << 10;
  std::size_t body_bytes_max = 1 << 20;
  milliseconds head_timeout{5000};
  milliseconds body_timeout{15000};
  milliseconds idle_timeout{60000};
  milliseconds write_timeout{10000};
  std::size_t connections_max = 10'000;
  std::size_t stream_backlog_bytes_max = 256 << 10;
  std::size_t unsent_bytes_max = 4 << 20;

  bool operator==(const Limits&) const = default;
};

struct Store {
  std::string path = "celld.db";  ///< Relative: below the data directory.

  bool operator==(const Store&) const = default;
};

/// A value that may be a secret: where it came from, and what it is. Only `source` is ever shown.
struct Secret {
  std::string source;  ///< As configured: "env:NAME", "file:PATH", or a literal.
  std::string value;

  bool operator==(const Secret&) const = default;
};

/// Calls a URL, as the API documentation says under "What an `http` provider is sent".
struct HttpService {
  std::string url;
  std::vector<std::pair<std::string, Secret>> headers;

  bool operator==(const HttpService&) const = default;
};

/// Runs a program, with the same document on its standard input.
struct CommandService {
  std::vector<std::string> arguments;  ///< At least one: the first is the program's absolute path.
  std::vector<std::pair<std::string, Secret>> environment;  ///< All of it.

  bool operator==(const CommandService&) const = default;
};

/// Answers by itself, for demonstrations, tests and benchmarks.
struct SimulatedService {
  milliseconds latency_min{0};  ///< Uniformly distributed between the two.
  milliseconds latency_max{0};
  double failure_rate = 0;  ///< 0 to 1, of retryable failures.
  std::uint64_t seed = 0;

  bool operator==(const SimulatedService&) const = default;
};

struct Service {
  std::string name;
  /// After an attempt with an unknown outcome, how long its entity is kept.
  milliseconds settle{0};
  std::variant<HttpService, CommandService, SimulatedService> kind;

  bool operator==(const Service&) const = default;
};

/// As in the configuration file: "http", "command" or "simulated".
std::string_view type_of(const Service& service);

struct Config {
  Listen listen;
  Store store;
  std::vector<Service> services;       ///< In order of name.
  std::vector<cells::CellRule> cells;  ///< With `defaults` filled in; in order of the file.
  std::vector<Token> tokens;           ///< In order of the file; none: everybody may everything.
  Limits limits;
  milliseconds retention{7 * 24 * 3'600'000LL};  ///< How long ended jobs are kept.
  milliseconds shutdown_grace{30000};
};

/// Where "env:" and "file:" values come from; replaced in tests. Nothing: there is none.
struct Environment {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  std::function<std::optional<std::string>(const std::string& path)> file;
};
Environment process_environment();

/// What flags and CELLD_… variables say instead of the file; flags win over variables.
struct Overrides {
  std::optional<std::string> listen;                       ///< HOST:PORT
  std::string listen_source = "--listen or CELLD_LISTEN";  ///< For errors.
};

/// What is to be asked of the machine about a section of the file ("/listen") that is itself
/// without fault; other sections may be anything.
struct MachineCheck {
  std::string section;
  std::function<std::vector<json::Fault>(const Config&)> faults_of;
};

using Outcome = std::variant<Config, std::vector<json::Fault>>;

/// Checks `text`, the content of a configuration file. `overrides` replace what the file says
/// before validation. Faults are grouped by section, in the order of the documentation; those that
/// `checks` find follow.
Outcome parse_config(std::string_view text, const Environment& environment,
                     const Overrides& overrides = {}, const std::vector<MachineCheck>& checks = {});

/// "HOST:PORT", also "[::1]:8080"; nothing when it is not of that form.
std::optional<Listen> parse_listen(std::string_view text);

}  // namespace celld::config
