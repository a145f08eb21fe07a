// A celld process with a fresh data directory, and measurements of it from outside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <nlohmann/json.hpp>

#include "tests/bench/http_wire.hpp"

namespace celld::bench {

/// The process starts and stops with the object. The destructor removes its directory.
class Daemon {
 public:
  /// Returns once celld serves. Creates its directory below `parent`. Each of `variables`
  /// (NAME=VALUE) is added to its environment. Throws.
  Daemon(const std::string& program, const std::filesystem::path& parent,
         const nlohmann::json& config, std::vector<std::string> variables = {});
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  std::uint16_t port() const { return port_; }
  double resident_mb() const;
  /// User and kernel time of all threads so far.
  double cpu_seconds() const;
  /// How often its threads have begun to wait for something.
  double voluntary_switches() const;
  /// Its calls of write() and similar functions on files and pipes, but not on sockets.
  double writing_calls() const;
  /// What those calls wrote.
  double bytes_written() const;
  /// The value of a metric without labels.
  double metric(const std::string& name) const;
  /// Size of the database and its write-ahead log.
  double database_bytes() const;

  /// Polls the only cell until `wanted` holds. Returns the seconds that took; throws after two
  /// minutes.
  double await_cell(const std::function<bool(const nlohmann::json& cell)>& wanted) const;
  /// Waits until no job is unfinished. Returns the seconds that took.
  double await_all_ended() const;

 private:
  void launch(const std::string& program);
  double io(const std::string& field) const;
  void await_listening(int output);
  void stop() noexcept;

  std::filesystem::path directory_;
  std::vector<std::string> variables_;
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

/// A configuration with one cell for all customers and products.
nlohmann::json one_cell_config(const nlohmann::json& service, std::uint32_t pool_size);

/// Such a configuration whose jobs are kept like this ("disk" or "memory"), without a bound on
/// their memory.
nlohmann::json keep_jobs(nlohmann::json config, const std::string& durability);

/// The service of one_cell_config.
constexpr const char* service_name = "provider";

/// The paths of the only cell, of its pool, and of its pause.
constexpr const char* cell_path = "/v1/cells/*/*";
constexpr const char* pool_path = "/v1/admin/cells/*/*/pool";
constexpr const char* pause_path = "/v1/admin/cells/*/*/pause";

/// Wakes the calling thread at regular intervals.
class Ticker {
 public:
  explicit Ticker(std::int64_t interval_ms);
  void await_tick();

 private:
  Descriptor timer_;
};

}  // namespace celld::bench
