// Writes what the engine's probe sees.
#pragma once

#include <string>

#include "cells/actors/engine_context.hpp"
#include "src/logs/log.hpp"

namespace celld {

/// Every line about a job names it, its cell, its lease where it has one, and its trace where it
/// came with one. Of what is in a job and of what a provider says, only names and codes.
class EngineLog : public cells::EngineProbe {
 public:
  /// `log` must outlive it.
  explicit EngineLog(logs::Log& log) : log_(log) {}

  void submitted(const cells::Job& job) override;
  void refused(const cells::Refusal& refusal) override;
  void handed_out(const cells::Job& job, std::size_t running, std::size_t max) override;
  void attempt_ended(const cells::Job& job, cells::AttemptEnd::Kind kind, cells::AbortCause cause,
                     cells::microseconds ran) override;
  void lease_ended(const cells::Job& before, const cells::Job& after,
                   cells::AbortCause cause) override;
  void job_ended(const cells::Job& job) override;
  void stale_report(const cells::CellKey& cell, cells::Lease lease) override;
  void cell_restarted(const cells::CellKey& cell) override;
  void provider_restarted(const std::string& service) override;

 private:
  logs::Log& log_;
};

}  // namespace celld
