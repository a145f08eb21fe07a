// The configuration: one JSON file, checked whole, immutable afterwards.
// Parse → defaults → validate → Config; every fault at once, each with its JSON pointer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cells/model/quota.hpp"
#include "cells/model/time.hpp"
#include "src/json/json.hpp"

namespace celld::config {

using cells::milliseconds;

struct Listen {
  std::string host = "127.0.0.1";  ///< A loopback address or "localhost": there are no tokens yet.
  std::uint16_t port = 8080;       ///< 0 takes a free port.
};

struct Store {
  std::string path = "celld.db";  ///< Relative: below the data directory.
};

/// A value that may be a secret: where it came from, and what it is. Only `source` is ever shown.
struct Secret {
  std::string source;  ///< As configured: "env:NAME", "file:PATH", or a literal.
  std::string value;
};

/// Calls a URL, as the API documentation says under "What an `http` provider is sent".
struct HttpService {
  std::string url;
  std::vector<std::pair<std::string, Secret>> headers;
};

/// Answers by itself, for demonstrations, tests and benchmarks.
struct SimulatedService {
  milliseconds latency_min{0};  ///< Uniformly distributed between the two.
  milliseconds latency_max{0};
  double failure_rate = 0;  ///< 0 to 1, of retryable failures.
  std::uint64_t seed = 0;
};

struct Service {
  std::string name;
  /// After an attempt with an unknown outcome, how long its entity is kept.
  milliseconds settle{0};
  std::variant<HttpService, SimulatedService> kind;
};

struct Config {
  Listen listen;
  Store store;
  std::vector<Service> services;       ///< In order of name.
  std::vector<cells::CellRule> cells;  ///< With `defaults` filled in; in order of the file.
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
  std::optional<std::string> listen;  ///< HOST:PORT
};

using Outcome = std::variant<Config, std::vector<json::Fault>>;

/// Checks `text`, the content of a configuration file. `overrides` replace what the file says
/// before validation. Faults are grouped by section, in the order of the documentation.
Outcome parse_config(std::string_view text, const Environment& environment,
                     const Overrides& overrides = {});

/// "HOST:PORT", also "[::1]:8080"; nothing when it is not of that form.
std::optional<Listen> parse_listen(std::string_view text);

}  // namespace celld::config
