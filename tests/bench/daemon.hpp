// A celld of one's own, on a fresh data directory, and what can be seen of it from outside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include <sys/types.h>

#include <nlohmann/json.hpp>

#include "tests/bench/http_wire.hpp"

namespace celld::bench {

/// Starts with the object, and is stopped and its directory removed with it.
class Daemon {
 public:
  /// Returns when it serves. `directory` is made below `parent`. Throws.
  Daemon(const std::string& program, const std::filesystem::path& parent,
         const nlohmann::json& config);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  std::uint16_t port() const { return port_; }
  double resident_mb() const;
  /// Of user and kernel, of all its threads so far.
  double cpu_seconds() const;
  /// The database with its write-ahead log.
  double database_bytes() const;

  /// Asks for its only cell until it is as wanted; the seconds that took. Throws after two minutes.
  double await_cell(const std::function<bool(const nlohmann::json& cell)>& wanted) const;
  /// The seconds until no job is unfinished.
  double await_all_ended() const;

 private:
  void launch(const std::string& program);
  void await_listening(int output);
  void stop() noexcept;

  std::filesystem::path directory_;
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

/// A configuration with one cell for everything.
nlohmann::json one_cell_config(const nlohmann::json& service, std::uint32_t pool_size);

/// The service of one_cell_config.
constexpr const char* service_name = "provider";

/// Where its only cell is described, and where its pool is resized.
constexpr const char* cell_path = "/v1/cells/*/*";
constexpr const char* pool_path = "/v1/admin/cells/*/*/pool";

/// Wakes its owner at even intervals.
class Ticker {
 public:
  explicit Ticker(std::int64_t interval_ms);
  void await_tick();

 private:
  Descriptor timer_;
};

}  // namespace celld::bench
