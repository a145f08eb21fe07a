// Decides how many calls to one service may begin.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "cells/model/circuit_breaker.hpp"
#include "cells/model/ids.hpp"
#include "cells/model/protection.hpp"
#include "cells/model/rate_limit.hpp"
#include "cells/model/time.hpp"

namespace cells {

/// What the end of one call says about the calls to come.
struct ProviderSign {
  CallSign call = CallSign::nothing;
  /// The provider asked that no call begin for this long.
  std::optional<milliseconds> pause;
  std::string what;  ///< Tells an operator how the call failed.
};

/// Hands out permits for the calls of one service, within its limits, and while its circuit is not
/// open. A permit belongs to a lease. Pure. Not thread-safe.
class ServiceGuard {
 public:
  static constexpr std::size_t permits_usual = 1000;

  /// At most `permits_max` permits are available at once.
  explicit ServiceGuard(const Protection& protection, std::size_t permits_max = permits_usual);

  /// Permits that are out stay out, unless nothing is protected any more. A rate limit that has not
  /// changed keeps its history.
  void change(const Protection& protection);
  bool protects() const { return protection_.is_any(); }

  /// How many permits there are now.
  std::size_t available(SteadyTime now) const;
  /// Whether a permit taken now would be a probe of a half-open circuit.
  bool probes(SteadyTime now) const;
  /// The lease takes a permit. Ignored while nothing is protected, because the end of the lease
  /// might then go unreported.
  void take(const Lease& lease, bool is_probe, SteadyTime now);
  /// A call that began without a permit counts as one that has a permit.
  void count(const Lease& lease) { out_.insert(lease); }
  bool has(const Lease& lease) const { return out_.contains(lease); }
  /// The attempt of the lease is over. A lease without a permit is ignored.
  void release(const Lease& lease) {
    out_.erase(lease);
    probes_.erase(lease);
  }
  /// The call under the lease has ended after it ran for `ran`; its permit is still out.
  void ended(const Lease& lease, const ProviderSign& sign, microseconds ran, const Now& now);
  /// Closes the circuit, and ends a pause.
  void reset(WallTime now);

  /// When there may be more permits, if time alone can bring that about.
  std::optional<SteadyTime> next_change(SteadyTime now) const;

  const Protection& protection() const { return protection_; }
  std::size_t out() const { return out_.size(); }
  CircuitState circuit(SteadyTime now) const;
  std::optional<WallTime> circuit_since() const;
  std::string circuit_why() const;
  std::optional<SteadyTime> paused_until(SteadyTime now) const;

 private:
  std::size_t permits_max_;
  Protection protection_;
  std::optional<RateLimit> rate_;
  std::optional<CircuitBreaker> circuit_;
  std::optional<SteadyTime> paused_until_;
  std::set<Lease> out_;
  std::set<Lease> probes_;  ///< The probes among them.
};

}  // namespace cells
