#include "cells/model/submission.hpp"

#include <set>

#include "tests/unit/catch.hpp"
#include "tests/unit/cells/model/builders.hpp"

using namespace model_test;

namespace {

Job accepted(JobRequest request, const CellSettings& settings = {}) {
  if (request.spec.services.empty()) request.spec = spec_with_services({"dns", "billing"});
  return accept_job(std::move(request), {"acme", "*"}, settings, 42, noon);
}

}  // namespace

TEST_CASE("a refusal for lack of room, or while no jobs are accepted, is temporary") {
  using Kind = Refusal::Kind;
  const std::set temporary{
      Kind::queue_full,          Kind::cell_bytes_full, Kind::memory_full, Kind::customer_jobs_full,
      Kind::customer_bytes_full, Kind::too_many_cells,  Kind::draining,    Kind::shutting_down};
  for (std::size_t n = 0; n < Refusal::kind_count; ++n) {
    const auto kind = static_cast<Kind>(n);
    INFO("kind " << n);
    CHECK(is_temporary(kind) == temporary.contains(kind));
  }
}

TEST_CASE("a job due at once is queued, and its place is its id") {
  const Job job = accepted({});
  CHECK(job.id == 42);
  CHECK(job.cell == CellKey{"acme", "*"});
  CHECK(job.state == JobState::queued);
  CHECK(job.place == 42);
  CHECK(job.created_at == noon);
  CHECK(job.run_at == noon);
  CHECK_FALSE(job.expires_at);
  CHECK_FALSE(job.lease);
}

TEST_CASE("a new job has one waiting step per service") {
  const Job job = accepted({});
  CHECK(job.step == 0);
  CHECK(job.steps == std::vector<Step>(2));
}

TEST_CASE("a job with a delay is scheduled and has no place yet") {
  JobRequest request;
  request.delay = 5s;
  const Job job = accepted(request);
  CHECK(job.state == JobState::scheduled);
  CHECK(job.place == 0);
  CHECK(job.run_at == noon + 5s);
}

TEST_CASE("a job with a delay of zero is due at once") {
  JobRequest request;
  request.delay = 0ms;
  CHECK(accepted(request).state == JobState::queued);
}

TEST_CASE("a job is due at the time that it names") {
  JobRequest request;
  request.run_at = noon + 1ms;
  CHECK(accepted(request).state == JobState::scheduled);
  CHECK(accepted(request).run_at == noon + 1ms);
  request.run_at = noon;
  CHECK(accepted(request).state == JobState::queued);
  request.run_at = noon - 1h;
  CHECK(accepted(request).state == JobState::queued);
  CHECK(accepted(request).run_at == noon - 1h);
}

TEST_CASE("a job that must go behind others is scheduled for the time of its arrival") {
  JobRequest request;
  request.run_at = noon - 1h;
  const Job job = accept_job(request, {"acme", "*"}, {}, 42, noon, true);
  CHECK(job.state == JobState::scheduled);
  CHECK(job.run_at == noon);
  CHECK(job.place == 0);
  request.run_at = noon + 1h;
  CHECK(accept_job(request, {"acme", "*"}, {}, 42, noon, true).run_at == noon + 1h);
}

TEST_CASE("a job keeps the time at which it expires") {
  JobRequest request;
  request.expires_at = noon + 1h;
  CHECK(accepted(request).expires_at == noon + 1h);
}

TEST_CASE("the settings of the cell supply what a request leaves open") {
  CellSettings settings;
  settings.timeout = 12s;
  settings.retry.max_attempts = 9;
  JobRequest request;
  request.spec = spec_with_services({"dns"});
  request.spec.timeout = 0ms;
  request.spec.max_attempts = 0;
  const Job job = accepted(request, settings);
  CHECK(job.spec->timeout == 12s);
  CHECK(job.spec->max_attempts == 9);
}

TEST_CASE("the settings of the cell do not replace what a request sets") {
  JobRequest request;
  request.spec = spec_with_services({"dns"});
  request.spec.timeout = 1s;
  request.spec.max_attempts = 2;
  const JobSpec asked = request.spec;
  CHECK(*accepted(request).spec == asked);
}
