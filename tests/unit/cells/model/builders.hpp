// Jobs for tests of the model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cells/model/job.hpp"

namespace model_test {

using namespace cells;
using namespace std::chrono_literals;

inline constexpr WallTime noon{1'800'000'000'000ms};

inline JobSpec spec_with_services(std::vector<std::string> services) {
  JobSpec spec;
  spec.customer = "acme";
  spec.product = "dns";
  spec.action = "create";
  spec.entity = {"zone", "", "example.com"};
  spec.services = std::move(services);
  spec.timeout = 30s;
  spec.max_attempts = 3;
  return spec;
}

/// A job that waits for its first attempt.
inline Job queued_job(JobSpec spec = spec_with_services({"dns", "billing"})) {
  Job job;
  job.id = 1;
  job.place = 1;
  job.cell = {"acme", "dns"};
  job.steps.resize(spec.services.size());
  job.spec = std::make_shared<const JobSpec>(std::move(spec));
  job.created_at = noon;
  job.run_at = noon;
  return job;
}

/// A runnable job with little more than what decides its turn.
inline JobPtr job_of(const std::string& customer, JobId id, int priority = 5) {
  Job job;
  job.id = id;
  job.place = id;
  JobSpec spec;
  spec.customer = customer;
  spec.services = {"dns"};
  spec.priority = priority;
  job.steps.resize(1);
  job.spec = std::make_shared<const JobSpec>(std::move(spec));
  return std::make_shared<const Job>(std::move(job));
}

}  // namespace model_test
