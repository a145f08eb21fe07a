// Jobs and calls for the tests of the providers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cells/ports/provider.hpp"

namespace celld::test {

/// A job with one service per step, whose current step is in this attempt.
inline std::shared_ptr<cells::Job> make_job(cells::JobId id, std::vector<std::string> services,
                                            std::size_t step = 0, std::uint32_t attempt = 1) {
  auto spec = std::make_shared<cells::JobSpec>();
  spec->customer = "acme";
  spec->product = "dns";
  spec->action = "create";
  spec->entity = {"zone", "", "example.com"};
  spec->services = std::move(services);
  auto job = std::make_shared<cells::Job>();
  job->id = id;
  job->step = step;
  job->steps.resize(spec->services.size());
  job->steps[step].attempts = attempt;
  job->spec = std::move(spec);
  return job;
}

inline cells::StartCall make_call(cells::Lease lease, cells::JobPtr job,
                                  cells::milliseconds timeout = cells::milliseconds{10'000}) {
  return {lease, std::move(job), timeout};
}

}  // namespace celld::test
