// The configuration: one JSON file, validated as a whole and immutable afterwards.
// Parse → defaults → validate → Config; all faults at once, each with its JSON pointer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cells/model/cell_settings.hpp"
#include "cells/model/protection.hpp"
#include "cells/model/schedule.hpp"
#include "cells/model/time.hpp"
#include "src/config/service_kind.hpp"
#include "src/json/json.hpp"

namespace celld::config {

using cells::milliseconds;

/// PEM files. A relative path starts at celld's working directory.
struct Tls {
  std::string certificate_path;
  std::string key_path;
  std::string client_ca_path;  ///< Authorities of client certificates; empty: none required.

  bool operator==(const Tls&) const = default;
};

struct Listen {
  std::string host = "127.0.0.1";  ///< Without tokens, a loopback address or "localhost".
  std::uint16_t port = 8080;       ///< 0 picks a free port.
  std::optional<Tls> tls{};

  bool operator==(const Listen&) const = default;
};

/// What a token allows. Each endpoint requires exactly one scope, and no scope implies another.
enum class Scope : std::uint8_t {
  submit,  ///< Submit, cancel and reopen jobs; change schedules.
  read,    ///< Read jobs, batches, schedules, cells, services, events and metrics.
  work,    ///< Lease jobs of pull services.
  admin,   ///< Administer celld: everything below /v1/admin.
};
std::string_view to_string(Scope scope);
std::optional<Scope> parse_scope(std::string_view text);

using TokenDigest = std::array<std::uint8_t, 32>;  ///< SHA-256.

/// What the token with this digest allows. celld does not know the token itself.
struct Token {
  std::string name;
  TokenDigest digest{};
  std::set<Scope> scopes;
  std::optional<std::string> customer;  ///< Binds the token to this customer's jobs and cells.
  /// Binds the scope `work` to the jobs of these services.
  std::optional<std::set<std::string>> services{};

  bool operator==(const Token&) const = default;
};

/// The limits on what one client can use, as in http::Limits.
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

/// What all jobs together may use.
struct Capacity {
  std::uint64_t memory_bytes_max = 256 << 20;  ///< Of jobs in memory.
  /// Running jobs of all cells together; none: the sum of the pool sizes.
  std::optional<std::uint64_t> running_max{};

  bool operator==(const Capacity&) const = default;
};

struct Store {
  std::string path = "celld.db";    ///< A relative path starts at the data directory.
  std::size_t recent_jobs = 32768;  ///< The newest jobs, which are indexed in memory.

  bool operator==(const Store&) const = default;
};

struct Service {
  std::string name;
  /// How long the entity is kept after an attempt with an unknown outcome.
  milliseconds settle{0};
  /// Null only after a fault.
  std::shared_ptr<const ServiceSettings> settings;
  cells::Protection protection{};

  bool operator==(const Service& other) const {
    return name == other.name && settle == other.settle && protection == other.protection &&
           settings->equals(*other.settings);
  }
};

struct Config {
  Listen listen;
  Store store;
  std::vector<Service> services;       ///< Sorted by name.
  std::vector<cells::CellRule> cells;  ///< In file order, with `defaults` applied.
  std::vector<Token> tokens;           ///< In file order; empty: no token is required.
  std::map<std::string, cells::ScheduleSpec> schedules;
  Limits limits;
  Capacity capacity;
  milliseconds retention{7 * 24 * 3'600'000LL};  ///< How long ended jobs are kept.
  milliseconds shutdown_grace{30000};
};

/// Settings from flags and CELLD_… variables. They override the file; flags override variables.
struct Overrides {
  std::optional<std::string> listen;                       ///< HOST:PORT
  std::string listen_source = "--listen or CELLD_LISTEN";  ///< For faults.
};

/// A check of one section ("/listen") against the machine, such as whether files exist. The check
/// runs only when the section itself has no fault; other sections may have faults.
struct MachineCheck {
  std::string section;
  std::function<std::vector<json::Fault>(const Config&)> faults_of;
};

using Outcome = std::variant<Config, std::vector<json::Fault>>;

/// Parses and validates `text`, the content of a configuration file. `overrides` apply before
/// validation. Faults are grouped by section, in the order of the documentation; those of `checks`
/// come last.
Outcome parse_config(std::string_view text, const ServiceKinds& kinds,
                     const Environment& environment, const Overrides& overrides = {},
                     const std::vector<MachineCheck>& checks = {});

/// What is wrong with the services on this machine.
std::vector<json::Fault> check_services(const Config& config);

/// What is wrong with a time zone on this machine; empty: nothing.
using TimeZoneFault = std::function<std::string(const std::string& zone)>;
/// The schedules whose time zones are wrong.
std::vector<json::Fault> check_time_zones(const Config& config, const TimeZoneFault& fault_of);

/// Parses "HOST:PORT", such as "[::1]:8080"; nothing for any other form.
std::optional<Listen> parse_listen(std::string_view text);

}  // namespace celld::config
