// The part of a service client that hands out permits for the calls of a protected service.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cells/actors/protocol.hpp"
#include "cells/model/lease_matching.hpp"
#include "cells/model/service_guard.hpp"

namespace cells {

/// Decides nothing itself: the guard knows how many permits there are, and the matching which cell
/// is asked to take some. Asks one cell at a time, so that two answers never take the same permit.
/// Runs within its owner's handlers, and may send messages to it.
class PermitDesk {
 public:
  using Owner = ServiceClient::base;

  PermitDesk(Owner& owner, std::string service, const Protection& protection,
             std::size_t permits_max, std::function<Now()> clocks);

  /// The configuration has changed. `calling`: the leases with a call in flight.
  void change(const Protection& protection, const std::vector<Lease>& calling);
  void filled(const LaneFilled& message);
  void emptied(const CellKey& cell);
  void offered(const SlotOffered& message);
  void over(const PermitOver& message);
  /// The call of a lease begins, or has ended. A dispatcher that does not know yet that the service
  /// is protected begins calls without a permit; these count, too.
  void call_began(const Lease& lease);
  void call_ended(const Lease& lease);
  /// Closes the circuit, and ends a pause.
  void reset();
  /// The timer that was set for `armed` has fired.
  void tick(SteadyTime armed);

  /// A half-open circuit is not closed.
  bool has_closed_circuit() const {
    return guard_.circuit(clocks_().steady) == CircuitState::closed;
  }
  /// Fills in what concerns protection, except `waiting`.
  void describe(ServiceStatus& status) const;
  /// Asks every cell with work how many jobs wait, and calls `then` with the sum.
  void count_waiting(std::function<void(std::uint64_t)> then);
  /// Releases the handles of cells.
  void clear();

 private:
  void hand_out();
  void answer_offers();
  void make_offer();
  void send_ask(const LeaseMatching::Ask& ask);
  void answered(const LeaseMatching::Ask& ask, bool probe, const PermitsTaken* taken);
  void withdraw_offer();
  void forget(const CellKey& cell);
  void arm();

  Owner& owner_;
  const std::string service_;
  const std::function<Now()> clocks_;
  ServiceGuard guard_;
  LeaseMatching matching_;
  std::map<CellKey, LaneHolder> cells_;                ///< Those that the matching remembers.
  std::deque<std::pair<CellKey, LaneHolder>> offers_;  ///< Slots that cells hold for an answer.
  /// The permits that there are now, as a request to the matching.
  std::optional<LeaseMatching::Request> offer_;
  bool asking_ = false;  ///< A cell has been asked, and has not answered.
  std::uint64_t last_request_ = 0;
  std::set<Lease> without_permit_;  ///< Calls that began without one.
  std::optional<SteadyTime> armed_;
};

}  // namespace cells
