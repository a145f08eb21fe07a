#include "cells/model/job.hpp"

#include <algorithm>
#include <numeric>

namespace cells {
namespace {

constexpr std::array<std::string_view, job_state_count> job_state_names = {
    "scheduled",    "queued",    "running", "retrying",
    "compensating", "succeeded", "failed",  "cancelled"};
constexpr std::array<std::string_view, 8> step_state_names = {
    "waiting", "running", "retrying", "succeeded", "failed", "undone", "undo_failed", "skipped"};
constexpr std::array<std::string_view, 3> severity_names = {"info", "warning", "error"};
constexpr std::array<std::string_view, 2> on_failure_names = {"stop", "compensate"};

template <class Enum, std::size_t Count>
std::optional<Enum> parse(const std::array<std::string_view, Count>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view to_string(JobState state) {
  return job_state_names[static_cast<std::size_t>(state)];
}
std::string_view to_string(StepState state) {
  return step_state_names[static_cast<std::size_t>(state)];
}
std::string_view to_string(Severity severity) {
  return severity_names[static_cast<std::size_t>(severity)];
}
std::string_view to_string(OnFailure on_failure) {
  return on_failure_names[static_cast<std::size_t>(on_failure)];
}

std::optional<JobState> parse_job_state(std::string_view name) {
  return parse<JobState>(job_state_names, name);
}
std::optional<StepState> parse_step_state(std::string_view name) {
  return parse<StepState>(step_state_names, name);
}
std::optional<Severity> parse_severity(std::string_view name) {
  return parse<Severity>(severity_names, name);
}
std::optional<OnFailure> parse_on_failure(std::string_view name) {
  return parse<OnFailure>(on_failure_names, name);
}

bool is_ended(JobState state) {
  return state == JobState::succeeded || state == JobState::failed || state == JobState::cancelled;
}

bool Job::operator==(const Job& other) const {
  return id == other.id && (spec == other.spec || (spec && other.spec && *spec == *other.spec)) &&
         cell == other.cell && state == other.state && place == other.place &&
         failed_ahead == other.failed_ahead && lane == other.lane && step == other.step &&
         steps == other.steps && properties == other.properties && messages == other.messages &&
         error == other.error && lease == other.lease && interruptions == other.interruptions &&
         cancel_requested == other.cancel_requested && created_at == other.created_at &&
         run_at == other.run_at && expires_at == other.expires_at &&
         started_at == other.started_at && finished_at == other.finished_at &&
         next_attempt_at == other.next_attempt_at && settle_until == other.settle_until &&
         batch == other.batch && durability == other.durability;
}

bool is_compensating(const Job& job) {
  return job.error && !is_ended(job.state);
}

JobState shown_state(const Job& job) {
  return is_compensating(job) ? JobState::compensating : job.state;
}

std::uint32_t current_attempt(const Job& job) {
  if (job.steps.empty()) return 0;
  const Step& step = job.steps[std::min(job.step, job.steps.size() - 1)];
  return is_compensating(job) ? step.undo_attempts : step.attempts;
}

std::optional<WallTime> expiry_of(const Job& job) {
  return is_compensating(job) ? std::nullopt : job.expires_at;
}

// A compensation goes from the last step to be undone to the first one of the job, and skips none
// in between.
bool may_call(const Job& job, std::size_t step) {
  if (is_compensating(job)) return step <= job.step;
  return step >= job.step || job.spec->on_failure == OnFailure::compensate;
}

bool may_undo(const Job& job, std::size_t step) {
  return job.spec->on_failure == OnFailure::compensate && may_call(job, step);
}

std::uint64_t JobCounts::unfinished() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < by_state.size(); ++i) {
    if (!is_ended(static_cast<JobState>(i))) sum += by_state[i];
  }
  return sum;
}

JobCounts& JobCounts::operator+=(const JobCounts& other) {
  for (std::size_t i = 0; i < by_state.size(); ++i) by_state[i] += other.by_state[i];
  bytes += other.bytes;
  return *this;
}

JobCounts& JobCounts::operator-=(const JobCounts& other) {
  for (std::size_t i = 0; i < by_state.size(); ++i) by_state[i] -= other.by_state[i];
  bytes -= other.bytes;
  return *this;
}

std::size_t approximate_bytes(const Job& job) {
  constexpr std::size_t references = 128;  // The entries of containers that refer to it.
  std::size_t bytes = references + sizeof(Job) + job.steps.size() * sizeof(Step);
  if (const auto& spec = job.spec) {
    bytes += sizeof(JobSpec) + spec->services.size() * sizeof(std::string);
    bytes += spec->parameters.size();
    for (const auto& [name, value] : spec->labels) bytes += name.size() + value.size() + 64;
  }
  for (const auto& step : job.steps) bytes += step.operation.size();
  for (const auto& [name, value] : job.properties) bytes += name.size() + value.size() + 64;
  for (const auto& message : job.messages) bytes += message.text.size() + 64;
  return bytes;
}

}  // namespace cells
