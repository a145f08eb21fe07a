// Makes metric families at scrape time, from counts kept elsewhere.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>

namespace celld::metrics {

/// Stands for all cells, or all services, without a label of their own. Not a valid name, so it
/// matches none.
inline constexpr std::string_view others_label = "(others)";

using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

inline prometheus::MetricFamily family(std::string name, prometheus::MetricType type,
                                       std::string help) {
  prometheus::MetricFamily made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.type = type;
  return made;
}

inline prometheus::MetricFamily gauges(std::string name, std::string help) {
  return family(std::move(name), prometheus::MetricType::Gauge, std::move(help));
}

inline prometheus::MetricFamily counters(std::string name, std::string help) {
  return family(std::move(name), prometheus::MetricType::Counter, std::move(help));
}

/// Adds a sample to a family of gauges or counters.
inline void add(prometheus::MetricFamily& to, Labels labels, double value) {
  prometheus::ClientMetric sample;
  for (const auto& [name, text] : labels) {
    sample.label.push_back({std::string(name), std::string(text)});
  }
  (to.type == prometheus::MetricType::Counter ? sample.counter.value : sample.gauge.value) = value;
  to.metric.push_back(std::move(sample));
}

}  // namespace celld::metrics
