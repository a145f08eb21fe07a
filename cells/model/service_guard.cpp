#include "cells/model/service_guard.hpp"

#include <algorithm>

namespace cells {

ServiceGuard::ServiceGuard(const Protection& protection, std::size_t permits_max)
    : permits_max_(permits_max) {
  change(protection);
}

void ServiceGuard::change(const Protection& protection) {
  const auto& limits = protection.limits;
  const auto& before = protection_.limits;
  if (!limits.rate_per_s) {
    rate_.reset();
  } else if (!rate_ || limits.rate_per_s != before.rate_per_s || limits.burst != before.burst) {
    rate_.emplace(*limits.rate_per_s, limits.burst);
  }
  if (!protection.circuit) {
    circuit_.reset();
  } else if (circuit_) {
    circuit_->change(*protection.circuit);
  } else {
    circuit_.emplace(*protection.circuit);
  }
  protection_ = protection;
  if (protects()) return;
  paused_until_.reset();
  out_.clear();
  probes_.clear();
}

std::size_t ServiceGuard::available(SteadyTime now) const {
  if (paused_until(now)) return 0;
  std::size_t permits = permits_max_;
  if (const auto max = protection_.limits.concurrency) {
    permits = std::min<std::size_t>(permits, *max - std::min<std::size_t>(*max, out_.size()));
  }
  if (rate_) permits = std::min(permits, rate_->available(now));
  switch (circuit(now)) {
    case CircuitState::closed:
      return permits;
    case CircuitState::half_open:
      return std::min<std::size_t>(permits, probes_.empty() ? 1 : 0);
    case CircuitState::open:
      break;
  }
  return 0;
}

bool ServiceGuard::probes(SteadyTime now) const {
  return circuit(now) == CircuitState::half_open;
}

void ServiceGuard::take(const Lease& lease, bool is_probe, SteadyTime now) {
  if (!protects()) return;
  out_.insert(lease);
  if (is_probe) probes_.insert(lease);
  if (rate_) rate_->take(1, now);
}

void ServiceGuard::ended(const Lease& lease, const ProviderSign& sign, microseconds ran,
                         const Now& now) {
  if (!out_.contains(lease)) return;
  if (circuit_) circuit_->ended(sign.call, probes_.contains(lease), sign.what, ran, now);
  if (!sign.pause) return;
  const auto longest = protection_.circuit.value_or(CircuitPolicy{}).hold_max;
  const auto until = now.steady + std::min(*sign.pause, longest);
  paused_until_ = std::max(paused_until_.value_or(until), until);
}

void ServiceGuard::reset(WallTime now) {
  if (circuit_) circuit_->reset(now);
  paused_until_.reset();
}

std::optional<SteadyTime> ServiceGuard::next_change(SteadyTime now) const {
  std::optional<SteadyTime> next;
  const auto consider = [&](SteadyTime at) {
    if (at > now) next = std::max(next.value_or(at), at);
  };
  if (const auto until = paused_until(now)) consider(*until);
  if (circuit(now) == CircuitState::open) consider(*circuit_->next_change());
  if (rate_ && rate_->available(now) == 0) consider(rate_->next(now));
  return next;
}

CircuitState ServiceGuard::circuit(SteadyTime now) const {
  return circuit_ ? circuit_->state(now) : CircuitState::closed;
}

std::optional<WallTime> ServiceGuard::circuit_since() const {
  return circuit_ ? circuit_->since() : std::nullopt;
}

std::string ServiceGuard::circuit_why() const {
  return circuit_ ? circuit_->why() : "";
}

std::optional<SteadyTime> ServiceGuard::paused_until(SteadyTime now) const {
  return paused_until_ && now < *paused_until_ ? paused_until_ : std::nullopt;
}

}  // namespace cells
