#include "src/metrics/metrics.hpp"

#include <iterator>
#include <sstream>
#include <utility>

#include <prometheus/text_serializer.h>

#include "src/metrics/families.hpp"
#include "src/metrics/process_metrics.hpp"

namespace celld::metrics {
namespace {

using prometheus::MetricFamily;
using Buckets = prometheus::Histogram::BucketBoundaries;

Buckets commit_buckets() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5};
}

Buckets batch_buckets() {
  return {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
}

void append(std::vector<MetricFamily>& to, std::vector<MetricFamily> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

MetricFamily one(MetricFamily made, double value) {
  add(made, {}, value);
  return made;
}

MetricFamily store_files(const store::StoreStatistics& statistics) {
  MetricFamily made =
      gauges("celld_store_file_bytes", "Size of the database and of its write-ahead log.");
  for (const auto& [file, bytes] : statistics.file_bytes)
    add(made, {{"file", file}}, static_cast<double>(bytes));
  return made;
}

MetricFamily free_space(const store::StoreStatistics& statistics) {
  MetricFamily made = gauges("celld_store_free_bytes",
                             "Space that celld may still use on the file system of the database.");
  if (statistics.free_bytes) add(made, {}, static_cast<double>(*statistics.free_bytes));
  return made;
}

MetricFamily batch_lines(const std::map<std::string, std::uint64_t>& lines) {
  MetricFamily made =
      counters("celld_batch_lines_total", "Lines of batches, by what became of them.");
  for (const auto& [outcome, count] : lines)
    add(made, {{"outcome", outcome}}, static_cast<double>(count));
  return made;
}

MetricFamily build_info(const std::string& version) {
  MetricFamily made = gauges("celld_build_info", "Always 1; the label holds the version.");
  add(made, {{"version", version}}, 1);
  return made;
}

}  // namespace

Metrics::Metrics(const std::vector<std::string>& services, std::string version)
    : version_(std::move(version)),
      engine_(registry_, tallies_, services),
      http_(registry_),
      commit_time_(prometheus::BuildHistogram()
                       .Name("celld_store_commit_seconds")
                       .Help("Time until a transaction was on disk.")
                       .Register(registry_)
                       .Add({}, commit_buckets())),
      batch_size_(prometheus::BuildHistogram()
                      .Name("celld_store_batch_operations")
                      .Help("Operations per transaction.")
                      .Register(registry_)
                      .Add({}, batch_buckets())) {}

void Metrics::committed(const store::CommitReport& report) {
  commit_time_.Observe(std::chrono::duration<double>(report.took).count());
  batch_size_.Observe(static_cast<double>(report.operations));
}

std::string Metrics::text(const CellSurvey& survey, const DaemonReading& reading) const {
  auto families = daemon_families(reading);
  append(families, process_families());
  append(families, registry_.Collect());
  append(families, cell_families(survey, tallies_.snapshot()));
  std::ostringstream out;
  prometheus::TextSerializer{}.Serialize(out, families);
  return std::move(out).str();
}

std::vector<MetricFamily> Metrics::daemon_families(const DaemonReading& reading) const {
  const auto started = std::chrono::duration<double>(started_.time_since_epoch()).count();
  return {
      build_info(version_),
      one(gauges("celld_process_start_time_seconds",
                 "When celld started, in seconds since 1970 UTC."),
          started),
      one(gauges("celld_ready", "1 while celld accepts jobs, else 0, like /readyz."),
          reading.ready ? 1 : 0),
      one(gauges("celld_http_connections", "Open connections."),
          static_cast<double>(reading.connections)),
      one(gauges("celld_http_connections_max", "Maximum number of open connections."),
          static_cast<double>(reading.connections_max)),
      one(gauges("celld_http_event_streams",
                 "Connections with an event stream or another long answer in progress."),
          static_cast<double>(reading.event_streams)),
      one(gauges("celld_batches_reading", "Batches that are being read."),
          static_cast<double>(reading.batches_reading)),
      batch_lines(reading.batch_lines),
      one(counters("celld_store_checkpoints_total", "Checkpoints of the write-ahead log."),
          static_cast<double>(reading.store.checkpoints)),
      store_files(reading.store),
      free_space(reading.store),
      one(gauges("celld_job_memory_bytes", "Memory that jobs in memory take."),
          static_cast<double>(reading.store.job_memory_bytes)),
  };
}

}  // namespace celld::metrics
