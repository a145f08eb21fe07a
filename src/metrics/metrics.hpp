// All metrics of celld, and their text for Prometheus. docs/metrics.md lists them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "src/metrics/cell_survey.hpp"
#include "src/metrics/cell_tallies.hpp"
#include "src/metrics/engine_metrics.hpp"
#include "src/metrics/http_metrics.hpp"
#include "src/store/store.hpp"

namespace celld::metrics {

/// Values read from the daemon's parts at scrape time.
struct DaemonReading {
  bool ready = false;
  std::size_t connections = 0;
  std::size_t connections_max = 0;
  std::size_t event_streams = 0;
  std::uint64_t batches_reading = 0;
  std::map<std::string, std::uint64_t> batch_lines{};  ///< By outcome.
  store::StoreStatistics store;
};

/// Thread-safe. Its parts live as long as this object.
class Metrics {
 public:
  Metrics(const std::vector<std::string>& services, std::string version);
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  EngineMetrics& engine() { return engine_; }
  HttpMetrics& http() { return http_; }
  CellTallies& tallies() { return tallies_; }
  void committed(const store::CommitReport& report);

  /// In Prometheus' text format. Reads files, so a thread that must not block must not call it.
  std::string text(const CellSurvey& survey, const DaemonReading& reading) const;

 private:
  std::vector<prometheus::MetricFamily> daemon_families(const DaemonReading& reading) const;

  const std::string version_;
  const std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
  prometheus::Registry registry_;
  CellTallies tallies_;
  EngineMetrics engine_;
  HttpMetrics http_;
  prometheus::Histogram& commit_time_;
  prometheus::Histogram& batch_size_;
};

}  // namespace celld::metrics
