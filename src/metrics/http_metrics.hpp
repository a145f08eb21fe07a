// Counts the events of the HTTP server's observer.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "src/http/server_observer.hpp"

namespace celld::metrics {

/// Labels are endpoint patterns and status classes, never text from a client.
class HttpMetrics : public http::ServerObserver {
 public:
  explicit HttpMetrics(prometheus::Registry& registry);

  void serves(const std::vector<http::Endpoint>& endpoints) override;
  void answered(std::optional<std::size_t> endpoint, int status,
                std::chrono::microseconds took) override;
  void refused(int status) override;

 private:
  struct EndpointMetrics {
    std::array<prometheus::Counter*, 3> requests{};  ///< For 2xx, 4xx and 5xx.
    prometheus::Histogram* time = nullptr;
  };

  EndpointMetrics add(const std::string& method, const std::string& path);

  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& times_;
  std::vector<EndpointMetrics> endpoints_;
  EndpointMetrics no_endpoint_;
  std::map<int, prometheus::Counter*> refusals_;  ///< By status.
  prometheus::Counter* other_refusals_ = nullptr;
};

}  // namespace celld::metrics
