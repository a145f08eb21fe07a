#include "tests/torture/simulation/checks.hpp"

#include <array>

namespace simulation {
namespace {

struct Entry {
  std::string_view name;
  std::string_view promise;
};

constexpr std::array<Entry, check_count> entries = {{
    {"accepted-stored", "P1"},
    {"cancel-stored", "P1"},
    {"reopen-stored", "P1"},
    {"override-stored", "P1"},
    {"job-lost", "P1"},
    {"ended-twice", "P2"},
    {"end-announced", "P2"},
    {"needless-call", "P2"},
    {"false-success", "P2"},
    {"lost-success", "P2"},
    {"operation-kept", "P2"},
    {"cancel-kept", "P2"},
    {"cancel-unasked", "P2"},
    {"uncounted-attempt", "P2"},
    {"attempts-max", "P2"},
    {"final-rejection", "P2"},
    {"early-failure", "P2"},
    {"wrong-service", "P2"},
    {"checkpoint", "P2"},
    {"undo-early", "P2"},
    {"undo-order", "P2"},
    {"undo-needless", "P2"},
    {"undo-once", "P2"},
    {"undo-missing", "P2"},
    {"undo-end", "P2"},
    {"fresh-lease", "P3"},
    {"stale-write", "P3"},
    {"lease-stored", "P3"},
    {"report-stored", "P3"},
    {"lease-kept", "P3"},
    {"stale-accepted", "P3"},
    {"repeat-refused", "P3"},
    {"revived", "P3"},
    {"lease-listed", "P3"},
    {"pool-size", "P4"},
    {"lease-returned", "P4"},
    {"burst", "P4"},
    {"capacity", "P4"},
    {"two-calls", "P5"},
    {"call-outlives-attempt", "P5"},
    {"cut-short", "P5"},
    {"provider-stopped", "P5"},
    {"daemon-ends", "P5"},
    {"entity-calls", "P6"},
    {"entity-leases", "P6"},
    {"line-head", "P6"},
    {"line-order", "P6"},
    {"entity-kept", "P6"},
    {"entity-doubt", "P6"},
    {"follower-cause", "P6"},
    {"follower-start", "P6"},
    {"idle-worker", "P7"},
    {"idle-lease", "P7"},
    {"guarantee", "P7"},
    {"running-quota", "P7"},
    {"turns", "P7"},
    {"service-limit", "P7"},
    {"service-rate", "P7"},
    {"circuit", "P7"},
    {"late-call", "P8"},
    {"late-slot", "P8"},
    {"refusal", "P9"},
    {"retry-after", "P9"},
    {"failed-request", "P9"},
    {"share-accepted", "P9"},
    {"queue-bound", "P9"},
    {"quota-bound", "P9"},
    {"quota-rate", "P9"},
    {"window-bound", "P9"},
    {"early-start", "P10"},
    {"early-retry", "P10"},
    {"early-timeout", "P10"},
    {"expiry", "P10"},
    {"lease-deadline", "P10"},
    {"late-admission", "P11"},
    {"late-start", "P11"},
    {"shutdown-time", "P11"},
    {"shutdown-leftovers", "P11"},
    {"grace", "P11"},
    {"needed-service", "P12"},
    {"needed-undo", "P12"},
    {"reload-refusal", "P12"},
    {"reload-ends", "P12"},
    {"pause", "cells"},
    {"admission", "cells"},
    {"routing", "cells"},
    {"line-stored", "batches"},
    {"batch-end", "batches"},
    {"batch-counts", "batches"},
    {"line-once", "batches"},
    {"one-job-per-key", "keys"},
    {"time-once", "schedules"},
    {"time-kept", "schedules"},
    {"overlap", "schedules"},
    {"early-removal", "retention"},
    {"late-removal", "retention"},
    {"counts", "counts"},
    {"unfinished-job", "liveness"},
    {"final-state", "liveness"},
    {"unanswered", "liveness"},
}};

const Entry& entry_of(Check check) {
  return entries[static_cast<std::size_t>(check)];
}

}  // namespace

std::string_view promise_of(Check check) {
  return entry_of(check).promise;
}

std::string_view to_string(Check check) {
  return entry_of(check).name;
}

std::optional<Check> parse_check(std::string_view name) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].name == name) return static_cast<Check>(i);
  }
  return std::nullopt;
}

}  // namespace simulation
