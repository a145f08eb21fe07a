// Counts the events of the engine's probe.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "cells/actors/engine_context.hpp"
#include "src/metrics/cell_tallies.hpp"

namespace celld::metrics {

/// How an attempt ended, as the label `outcome` names it.
std::string_view outcome_of(cells::AttemptEnd::Kind kind, cells::AbortCause cause);

/// How many services have labels of their own: twice the maximum that can be configured.
inline constexpr std::size_t labelled_services_max = 2000;

/// An event costs look-ups, and allocates only for a cell not seen before.
class EngineMetrics : public cells::EngineProbe {
 public:
  EngineMetrics(prometheus::Registry& registry, CellTallies& tallies,
                const std::vector<std::string>& services);

  /// Gives the service labels of its own, which it keeps when it is removed. From any thread.
  void add_service(const std::string& name);

  void submitted(const cells::Job& job) override;
  void refused(const cells::Refusal& refusal, const std::string& customer) override;
  void first_attempt_began(const cells::Job& job, cells::milliseconds waited) override;
  void attempt_ended(const cells::Job& job, cells::AttemptEnd::Kind kind, cells::AbortCause cause,
                     cells::microseconds ran) override;
  void lease_ended(const cells::Job& before, const cells::Job& after,
                   cells::AbortCause cause) override;
  void job_ended(const cells::Job& job) override;
  void stale_report(const cells::CellKey& cell, cells::Lease lease) override;
  void cell_restarted(const cells::CellKey& cell) override;
  void due_times_passed(const std::string& schedule, cells::DueOutcome outcome,
                        std::uint64_t times) override;

 private:
  struct Service {
    std::map<std::string_view, prometheus::Counter*> attempts;  ///< By outcome.
    prometheus::Histogram* run_time = nullptr;
    prometheus::Counter* undo_failures = nullptr;
  };

  const Service& service_of(const cells::Job& job) const;

  CellTallies& tallies_;
  prometheus::Family<prometheus::Counter>& attempts_;
  prometheus::Family<prometheus::Histogram>& run_times_;
  prometheus::Family<prometheus::Counter>& undo_failures_;
  mutable std::shared_mutex services_mutex_;
  std::map<std::string, Service, std::less<>> services_;  ///< Never shrinks.
  prometheus::Histogram& queue_wait_;
  prometheus::Counter& stale_reports_;
  prometheus::Counter& restarts_;
  std::array<prometheus::Counter*, cells::due_outcome_count> due_times_{};  ///< By outcome.
};

}  // namespace celld::metrics
