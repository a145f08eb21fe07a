// Several probes as one.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "cells/actors/engine_context.hpp"

namespace cells {

/// Calls each of its probes, in order.
class ProbeList : public EngineProbe {
 public:
  explicit ProbeList(std::vector<std::shared_ptr<EngineProbe>> probes)
      : probes_(std::move(probes)) {}

  void spawned(std::string_view role, const CellKey& cell, const caf::actor& actor) override {
    for (const auto& probe : probes_) probe->spawned(role, cell, actor);
  }
  void submitted(const Job& job) override {
    for (const auto& probe : probes_) probe->submitted(job);
  }
  void refused(const Refusal& refusal, const std::string& customer) override {
    for (const auto& probe : probes_) probe->refused(refusal, customer);
  }
  void handed_out(const Job& job, std::size_t running, std::size_t max) override {
    for (const auto& probe : probes_) probe->handed_out(job, running, max);
  }
  void first_attempt_began(const Job& job, milliseconds waited) override {
    for (const auto& probe : probes_) probe->first_attempt_began(job, waited);
  }
  void attempt_ended(const Job& job, AttemptEnd::Kind kind, AbortCause cause,
                     microseconds ran) override {
    for (const auto& probe : probes_) probe->attempt_ended(job, kind, cause, ran);
  }
  void lease_ended(const Job& before, const Job& after, AbortCause cause) override {
    for (const auto& probe : probes_) probe->lease_ended(before, after, cause);
  }
  void job_ended(const Job& job) override {
    for (const auto& probe : probes_) probe->job_ended(job);
  }
  void stale_report(const CellKey& cell, Lease lease) override {
    for (const auto& probe : probes_) probe->stale_report(cell, lease);
  }
  void window_holds(const CellKey& cell, std::size_t jobs) override {
    for (const auto& probe : probes_) probe->window_holds(cell, jobs);
  }
  void cell_restarted(const CellKey& cell) override {
    for (const auto& probe : probes_) probe->cell_restarted(cell);
  }
  void provider_restarted(const std::string& service) override {
    for (const auto& probe : probes_) probe->provider_restarted(service);
  }
  void circuit_opened(const std::string& service) override {
    for (const auto& probe : probes_) probe->circuit_opened(service);
  }
  void circuit_closed(const std::string& service) override {
    for (const auto& probe : probes_) probe->circuit_closed(service);
  }
  void job_held(const Job& job) override {
    for (const auto& probe : probes_) probe->job_held(job);
  }
  void jobs_without_cell(std::uint64_t jobs, const std::string& customer,
                         const std::string& product) override {
    for (const auto& probe : probes_) probe->jobs_without_cell(jobs, customer, product);
  }
  void due_times_passed(const std::string& schedule, DueOutcome outcome,
                        std::uint64_t times) override {
    for (const auto& probe : probes_) probe->due_times_passed(schedule, outcome, times);
  }
  void firing_refused(const std::string& schedule, const Refusal& refusal) override {
    for (const auto& probe : probes_) probe->firing_refused(schedule, refusal);
  }
  void schedule_without_zone(const std::string& schedule, const std::string& zone) override {
    for (const auto& probe : probes_) probe->schedule_without_zone(schedule, zone);
  }

 private:
  std::vector<std::shared_ptr<EngineProbe>> probes_;
};

}  // namespace cells
