// Circuit breakers, judged by how the calls at a service have ended. Where the engine may have
// heard of two ends in another order, the world takes the circuit to be closed.
#include <algorithm>

#include "tests/torture/simulation/world.hpp"

namespace simulation {
namespace {

/// The longest time for which an open circuit, or a pause that a provider has asked for, lets no
/// attempt begin.
constexpr milliseconds held_back_max{3000};

enum class Sign : std::uint8_t { alive, failing, unclear };

Sign sign_of(const CallAnswer* answer, AbortCause cause) {
  using Kind = CallOutcome::Kind;
  if (answer == nullptr || answer->garbage) return Sign::unclear;
  switch (answer->kind) {
    case Kind::succeeded:
    case Kind::rejected:
    case Kind::pending:
      return Sign::alive;
    case Kind::retryable:
    case Kind::unknown:
      return Sign::failing;
    case Kind::aborted:
      return cause == AbortCause::timeout ? Sign::failing : Sign::unclear;
    case Kind::throttled:
    case Kind::unauthorized:
    case Kind::unable:
      break;
  }
  return Sign::unclear;
}

/// The time between the ends of the calls in which none of them ran.
template <class Calls>
microseconds idle_between(Calls calls) {
  SteadyTime covered = calls.front().ended;
  std::sort(calls.begin(), calls.end(),
            [](const auto& a, const auto& b) { return a.began < b.began; });
  microseconds idle{0};
  for (const auto& call : calls) {
    if (call.began > covered) idle += call.began - covered;
    covered = std::max(covered, call.ended);
  }
  return idle;
}

}  // namespace

/// The circuit of the service under its present policy; null: it has none, or the policy may have
/// changed. The engine goes on counting failures across a change; the world starts over, and trusts
/// its own count once the failures that it has not seen are out of the window.
World::WatchedCircuit* World::watched_circuit(const std::string& service) {
  if (dying_) {
    circuits_.erase(service);
    return nullptr;
  }
  const auto [item, is_new] = circuits_.try_emplace(service);
  auto& circuit = item->second;
  const auto found = protection_.find(service);
  if (reload_ || found == protection_.end() || !found->second.protection.circuit ||
      pulled_.contains(service)) {
    circuit.missed = true;
    return nullptr;
  }
  const auto& [protection, since] = found->second;
  if (is_new) {
    circuit.since = since;
  } else if (circuit.missed || circuit.since != since) {
    circuit = {since};
    become_unclear(circuit, *protection.circuit);
  }
  return &circuit;
}

bool World::has_circuit(const std::string& service) const {
  const auto until = circuit_until_.find(service);
  return until != circuit_until_.end() && now_steady - in_transit <= until->second;
}

/// Whether its circuit may keep an attempt at the service from beginning: while a probe is under
/// way, and for a while after the last attempt has ended, even if the circuit has been removed
/// meanwhile.
bool World::may_be_held_back(const std::string& service) const {
  const auto until = circuit_until_.find(service);
  if (until == circuit_until_.end()) return false;
  if (has_circuit(service) && running_at(service) > 0) return true;
  const auto ended = last_end_at_.find(service);
  return now_steady - in_transit - held_back_max <= until->second && ended != last_end_at_.end() &&
         now_steady <= ended->second + held_back_max;
}

/// Whether the attempt certainly began as a probe, or should not have begun.
bool World::began_behind(const WatchedCircuit& circuit, SteadyTime handed_out_at) {
  return circuit.opened_at && handed_out_at > *circuit.opened_at + in_transit;
}

/// The engine may have the circuit open, or count a failure that the world does not. That lasts
/// until a call that begins later succeeds, or until such failures are out of the window.
void World::become_unclear(WatchedCircuit& circuit, const CircuitPolicy& policy) {
  circuit.failures.clear();
  circuit.opened_at.reset();
  circuit.unclear_since = now_steady;
  circuit.unclear_until = now_steady + policy.window + policy.open;
}

/// The answer to a call that began before the circuit opened, or may have opened, does not close
/// it. The world is unsure just after the opening: the engine may have heard of the answer before
/// it opened the circuit, and a call that began then may be a probe.
void World::note_alive(WatchedCircuit& circuit, SteadyTime began, const CircuitPolicy& policy) {
  if (circuit.opened_at && !began_behind(circuit, began)) {
    const bool is_certain =
        began <= *circuit.opened_at && now_steady > *circuit.opened_at + in_transit;
    if (!is_certain) become_unclear(circuit, policy);
    return;
  }
  const bool is_unclear = now_steady < circuit.unclear_until;
  if (is_unclear && began <= circuit.unclear_since + in_transit) return;
  circuit.failures.clear();
  circuit.opened_at.reset();
  circuit.unclear_until = now_steady;
}

/// The time for which failing calls ran does not count towards the window. Near the window's bound,
/// the moment at which the engine heard of an end may make a difference.
void World::note_failing(WatchedCircuit& circuit, SteadyTime began, const CircuitPolicy& policy) {
  auto& failures = circuit.failures;
  failures.push_back({began, now_steady});
  while (failures.size() > policy.failures) failures.pop_front();
  if (failures.size() < policy.failures) return;
  const microseconds idle = idle_between(failures);
  if (idle + in_transit <= policy.window) {
    circuit.opened_at = now_steady;
  } else if (idle <= policy.window + in_transit) {
    become_unclear(circuit, policy);
  }
}

/// Only calls from inside count. A worker outside may still have a lease from the time when the
/// service was a pull service, which has no circuit.
void World::note_circuit(const Job& before, AbortCause cause) {
  const auto given = handed_out_.find(before.lease);
  auto* circuit = watched_circuit(before.spec->services[before.step]);
  if (!circuit || given == handed_out_.end() || !given->second.worker.empty()) return;
  const auto& policy = *protection_.at(before.spec->services[before.step]).protection.circuit;
  const auto answer = answers_.find(before.lease);
  const bool timed_out = answer != answers_.end() && cause == AbortCause::timeout &&
                         answer->second.kind == CallOutcome::Kind::aborted;
  const bool is_known =
      answer != answers_.end() && answer_is_certain(before, timed_out ? AbortCause::none : cause);
  const Sign sign = sign_of(is_known ? &answer->second : nullptr, cause);
  const bool is_probe = began_behind(*circuit, given->second.at);
  if (sign == Sign::failing && circuit->opened_at) {
    if (is_probe) circuit->opened_at = now_steady;  // Others began before it opened.
  } else if (sign == Sign::failing) {
    const SteadyTime began = given->second.at;
    if (began < circuit->unclear_until + in_transit || began < circuit->since) {
      return become_unclear(*circuit, policy);
    }
    note_failing(*circuit, given->second.at, policy);
  } else if (sign == Sign::alive) {
    note_alive(*circuit, given->second.at, policy);
  } else {
    become_unclear(*circuit, policy);
  }
}

/// Called when the hand-out of the job counts.
void World::check_circuit(const Job& job) {
  const std::string& service = job.spec->services[job.step];
  auto* circuit = watched_circuit(service);
  if (!circuit || !began_behind(*circuit, now_steady)) return;
  const auto open = protection_.at(service).protection.circuit->open;
  const auto probes = std::count_if(handed_out_.begin(), handed_out_.end(), [&](const auto& item) {
    return item.second.service == service && began_behind(*circuit, item.second.at);
  });
  if (now_steady < *circuit->opened_at + open || probes > 1) {
    violated(Check::circuit, format_job_id(job.id) + " starts although the circuit of " + service +
                                 " is open, as one of " + std::to_string(probes));
  }
}

bool World::is_probe(const Job& before) {
  const auto given = handed_out_.find(before.lease);
  const auto* circuit = watched_circuit(before.spec->services[before.step]);
  return circuit && given != handed_out_.end() && began_behind(*circuit, given->second.at);
}

bool World::may_be_probe(const Job& before) const {
  const auto until = circuit_until_.find(before.spec->services[before.step]);
  const auto given = handed_out_.find(before.lease);
  return until != circuit_until_.end() &&
         (given == handed_out_.end() || given->second.at - in_transit <= until->second);
}

}  // namespace simulation
