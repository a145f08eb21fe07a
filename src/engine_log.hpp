// Logs the events of the engine's probe.
#pragma once

#include <string>

#include "cells/actors/engine_context.hpp"
#include "src/logs/log.hpp"

namespace celld {

/// Each line about a job names the job, its cell, its lease if it has one, and its trace if it came
/// with one. Of a job's contents and a provider's answers, only names and codes are logged.
class EngineLog : public cells::EngineProbe {
 public:
  /// `log` must outlive this object.
  explicit EngineLog(logs::Log& log) : log_(log) {}

  void submitted(const cells::Job& job) override;
  void refused(const cells::Refusal& refusal, const std::string& customer) override;
  void handed_out(const cells::Job& job, std::size_t running, std::size_t max) override;
  void attempt_ended(const cells::Job& job, cells::AttemptEnd::Kind kind, cells::AbortCause cause,
                     cells::microseconds ran) override;
  void lease_ended(const cells::Job& before, const cells::Job& after,
                   cells::AbortCause cause) override;
  void job_ended(const cells::Job& job) override;
  void stale_report(const cells::CellKey& cell, cells::Lease lease) override;
  void cell_restarted(const cells::CellKey& cell) override;
  void provider_restarted(const std::string& service) override;
  void circuit_opened(const std::string& service) override;
  void circuit_closed(const std::string& service) override;
  void job_held(const cells::Job& job) override;
  void jobs_without_cell(std::uint64_t jobs, const std::string& customer,
                         const std::string& product) override;
  void due_times_passed(const std::string& schedule, cells::DueOutcome outcome,
                        std::uint64_t times) override;
  void firing_refused(const std::string& schedule, const cells::Refusal& refusal) override;
  void schedule_without_zone(const std::string& schedule, const std::string& zone) override;

 private:
  logs::Log& log_;
};

}  // namespace celld
