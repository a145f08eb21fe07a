#include "src/metrics/http_metrics.hpp"

#include <string>

namespace celld::metrics {
namespace {

/// The statuses with which the server refuses an incomplete request. Others count as `other`.
constexpr std::array<int, 8> refusal_statuses = {400, 408, 413, 414, 415, 431, 503, 505};

constexpr std::array<const char*, 3> status_classes = {"2xx", "4xx", "5xx"};

prometheus::Histogram::BucketBoundaries time_buckets() {
  return {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60};
}

}  // namespace

HttpMetrics::HttpMetrics(prometheus::Registry& registry)
    : requests_(prometheus::BuildCounter()
                    .Name("celld_http_requests_total")
                    .Help("Answered requests, by endpoint, method and status class.")
                    .Register(registry)),
      times_(prometheus::BuildHistogram()
                 .Name("celld_http_request_seconds")
                 .Help("Time from a complete request to its answer; for a stream, to its start.")
                 .Register(registry)),
      no_endpoint_(add("(any)", "(none)")) {
  auto& refusals =
      prometheus::BuildCounter()
          .Name("celld_http_refusals_total")
          .Help("Requests and connections refused before a request was complete, by status.")
          .Register(registry);
  for (const int status : refusal_statuses) {
    refusals_[status] = &refusals.Add({{"status", std::to_string(status)}});
  }
  other_refusals_ = &refusals.Add({{"status", "other"}});
}

HttpMetrics::EndpointMetrics HttpMetrics::add(const std::string& method, const std::string& path) {
  EndpointMetrics metrics;
  for (std::size_t i = 0; i < status_classes.size(); ++i) {
    metrics.requests[i] =
        &requests_.Add({{"method", method}, {"route", path}, {"status", status_classes[i]}});
  }
  metrics.time = &times_.Add({{"method", method}, {"route", path}}, time_buckets());
  return metrics;
}

void HttpMetrics::serves(const std::vector<http::Endpoint>& endpoints) {
  for (const auto& endpoint : endpoints) {
    endpoints_.push_back(add(endpoint.method, endpoint.pattern));
  }
}

void HttpMetrics::answered(std::optional<std::size_t> endpoint, int status,
                           std::chrono::microseconds took) {
  const EndpointMetrics& metrics = endpoint ? endpoints_[*endpoint] : no_endpoint_;
  metrics.requests[status < 400 ? 0 : status < 500 ? 1 : 2]->Increment();
  metrics.time->Observe(std::chrono::duration<double>(took).count());
}

void HttpMetrics::refused(int status) {
  const auto found = refusals_.find(status);
  (found == refusals_.end() ? other_refusals_ : found->second)->Increment();
}

}  // namespace celld::metrics
