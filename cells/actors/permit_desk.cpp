#include "cells/actors/permit_desk.hpp"

#include <memory>
#include <utility>

namespace cells {

PermitDesk::PermitDesk(Owner& owner, std::string service, const Protection& protection,
                       std::size_t permits_max, std::function<Now()> clocks)
    : owner_(owner),
      service_(std::move(service)),
      clocks_(std::move(clocks)),
      guard_(protection, permits_max) {}

void PermitDesk::clear() {
  cells_.clear();
  offers_.clear();
}

// --- What changes the number of permits ----------------------------------------------------------

void PermitDesk::change(const Protection& protection, const std::vector<Lease>& calling) {
  const bool was_protected = guard_.protects();
  guard_.change(protection);
  without_permit_.clear();
  if (guard_.protects() && !was_protected) {
    for (const auto& lease : calling) guard_.count(lease);
    without_permit_.insert(calling.begin(), calling.end());
  }
  hand_out();
}

void PermitDesk::over(const PermitOver& message) {
  guard_.ended(message.lease, message.sign, message.ran, clocks_());
  guard_.release(message.lease);
  without_permit_.erase(message.lease);
  matching_.ended(message.key, message.ran);
  forget(message.key);
  hand_out();
}

void PermitDesk::call_began(const Lease& lease) {
  if (!guard_.protects() || guard_.has(lease)) return;
  guard_.count(lease);
  without_permit_.insert(lease);
}

void PermitDesk::call_ended(const Lease& lease) {
  if (without_permit_.erase(lease) == 0) return;
  guard_.release(lease);
  hand_out();
}

void PermitDesk::reset() {
  guard_.reset(clocks_().wall);
  hand_out();
}

void PermitDesk::tick(SteadyTime armed) {
  if (armed_ != armed) return;
  armed_.reset();
  hand_out();
}

// --- What changes the demand ---------------------------------------------------------------------

void PermitDesk::filled(const LaneFilled& message) {
  cells_[message.key] = message.cell;
  matching_.filled(message.key, message.available);
  hand_out();
}

void PermitDesk::emptied(const CellKey& cell) {
  std::erase_if(offers_, [&](const auto& each) { return each.first == cell; });
  matching_.emptied(cell);
  forget(cell);
}

/// While a cell is being asked, a slot stays reserved: how many permits there are is known only
/// once that cell has answered.
void PermitDesk::offered(const SlotOffered& message) {
  offers_.emplace_back(message.key, message.cell);
  answer_offers();
  hand_out();
}

/// Without a permit, a slot is declined, and the cell is asked in its turn.
void PermitDesk::answer_offers() {
  while (!asking_ && !offers_.empty()) {
    const auto [key, cell] = std::move(offers_.front());
    offers_.pop_front();
    cells_.try_emplace(key, cell);  // A successor of the cell may have reported since.
    make_offer();
    if (const auto ask = matching_.offered(key, std::nullopt)) {
      send_ask(*ask);
    } else {
      owner_.send(cell, DeclineSlot{service_});
    }
  }
}

// --- Handing out ---------------------------------------------------------------------------------

void PermitDesk::hand_out() {
  if (!asking_) {
    make_offer();
    if (const auto ask = matching_.next_ask()) send_ask(*ask);
  }
  arm();
}

/// Offers what the guard has now. An offer that a cell is being asked to take stays.
void PermitDesk::make_offer() {
  if (asking_) return;
  const std::size_t permits = guard_.available(clocks_().steady);
  if (offer_ && offer_->max != permits) withdraw_offer();
  if (offer_ || permits == 0) return;
  offer_ = LeaseMatching::Request{++last_request_, std::nullopt, permits, true};
  matching_.add(*offer_);
}

void PermitDesk::withdraw_offer() {
  if (offer_) matching_.stop_waiting(offer_->number);
  offer_.reset();
  matching_.take_finished();
}

void PermitDesk::send_ask(const LeaseMatching::Ask& ask) {
  asking_ = true;
  const bool probe = guard_.probes(clocks_().steady);
  owner_.request(cells_.at(ask.cell), caf::infinite, GrantPermits{service_, ask.count, probe})
      .then([this, ask, probe](const PermitsTaken& taken) { answered(ask, probe, &taken); },
            [this, ask, probe](const caf::error&) { answered(ask, probe, nullptr); });
}

/// `taken` is null if the cell is gone.
void PermitDesk::answered(const LeaseMatching::Ask& ask, bool probe, const PermitsTaken* taken) {
  asking_ = false;
  if (taken != nullptr) {
    const SteadyTime now = clocks_().steady;
    for (const auto& lease : taken->leases) {
      guard_.take(lease, probe, now);
      without_permit_.erase(lease);  // Its call may have begun before this answer came.
    }
    matching_.answered(ask, taken->leases.size(), taken->lane, taken->available);
  } else {
    matching_.lost(ask);
    matching_.go_on(ask.request);
  }
  withdraw_offer();
  answer_offers();
  forget(ask.cell);
  hand_out();
}

void PermitDesk::forget(const CellKey& cell) {
  if (!matching_.remembers(cell)) cells_.erase(cell);
}

/// One timer, for when time alone brings permits.
void PermitDesk::arm() {
  if (cells_.empty()) return;
  const SteadyTime now = clocks_().steady;
  const auto at = guard_.next_change(now);
  if (!at || (armed_ && *armed_ <= *at)) return;
  armed_ = at;
  owner_.delayed_send(&owner_, *at - now, Tick{*at});
}

// --- Reporting -----------------------------------------------------------------------------------

void PermitDesk::describe(ServiceStatus& status) const {
  const Now now = clocks_();
  status.protection = guard_.protection();
  status.circuit = guard_.circuit(now.steady);
  status.circuit_since = guard_.circuit_since();
  status.circuit_why = guard_.circuit_why();
  if (const auto until = guard_.paused_until(now.steady)) {
    status.paused_until = now.wall + std::chrono::ceil<milliseconds>(*until - now.steady);
  }
}

void PermitDesk::count_waiting(std::function<void(std::uint64_t)> then) {
  struct Count {
    std::function<void(std::uint64_t)> then;
    std::size_t missing = 0;
    std::uint64_t waiting = 0;
  };
  if (cells_.empty()) return then(0);
  auto count = std::make_shared<Count>(Count{std::move(then), cells_.size()});
  const auto add = [count](std::size_t waiting) {
    count->waiting += waiting;
    if (--count->missing == 0) count->then(count->waiting);
  };
  for (const auto& [key, cell] : cells_) {
    owner_.request(cell, caf::infinite, DescribeLane{service_})
        .then([add](const LaneDescribed& lane) { add(lane.waiting); },
              [add](const caf::error&) { add(0); });
  }
}

}  // namespace cells
