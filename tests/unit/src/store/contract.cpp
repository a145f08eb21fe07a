#include "tests/unit/src/store/contract.hpp"

namespace celld::store::test {

using namespace cells;  // NOLINT: tests of the port.

namespace {

Durability sketched_durability = Durability::disk;

}  // namespace

SketchedDurability::SketchedDurability(Durability durability) {
  sketched_durability = durability;
}

SketchedDurability::~SketchedDurability() {
  sketched_durability = Durability::disk;
}

JobPtr sketch_job(const JobSketch& sketch) {
  JobSpec spec;
  spec.customer = sketch.customer;
  spec.product = sketch.product;
  spec.action = "create";
  spec.entity = {sketch.entity_type, "primary", sketch.entity};
  spec.services = sketch.services;
  spec.parameters = sketch.parameters;
  spec.labels = sketch.labels;
  spec.priority = sketch.priority;
  spec.timeout = milliseconds{30000};
  spec.max_attempts = 5;
  Job job;
  job.id = sketch.id;
  job.spec = std::make_shared<const JobSpec>(std::move(spec));
  job.cell = sketch.cell;
  job.state = sketch.run_at ? JobState::scheduled : JobState::queued;
  job.place = sketch.run_at ? 0 : sketch.id;
  job.steps.resize(sketch.services.size());
  job.created_at = at_ms(static_cast<std::int64_t>(sketch.id >> 20));
  job.run_at = sketch.run_at.value_or(job.created_at);
  job.expires_at = sketch.expires_at;
  job.lane = sketch.lane;
  job.batch = sketch.batch;
  job.durability = sketched_durability;
  return std::make_shared<const Job>(std::move(job));
}

JobPtr running(const JobPtr& job, Lease lease) {
  return changed(job, [&](Job& next) {
    next.state = JobState::running;
    next.lease = lease;
    next.next_attempt_at.reset();
    next.steps[next.step].state = StepState::running;
    ++next.steps[next.step].attempts;
  });
}

JobPtr ended(const JobPtr& job, JobState state) {
  return changed(job, [&](Job& next) {
    next.state = state;
    next.place = 0;
    next.finished_at = at_ms(5000);
    next.next_attempt_at.reset();
  });
}

JobPtr settling(const JobPtr& job, WallTime until) {
  return changed(job, [&](Job& next) {
    next.state = JobState::failed;
    next.settle_until = until;
    next.error = JobError{"timeout", "no answer", "dns"};
  });
}

JobPtr retrying(const JobPtr& job, WallTime next_attempt_at) {
  return changed(job, [&](Job& next) {
    next.state = JobState::retrying;
    next.next_attempt_at = next_attempt_at;
  });
}

Ids ids(const std::vector<JobPtr>& jobs) {
  Ids result;
  for (const auto& job : jobs) result.push_back(job->id);
  return result;
}

Ids runnable_ids(Client& client, const CellKey& cell, const std::string& customer) {
  const auto fetched = client.ask(FetchRunnable{cell, customer, false, 1, 1000});
  if (fetched.customers.empty() || fetched.customers[0].customer != customer) return {};
  return ids(fetched.customers[0].jobs);
}

}  // namespace celld::store::test
