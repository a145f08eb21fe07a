#include "cells/model/lease_matching.hpp"

#include <algorithm>
#include <utility>

namespace cells {
namespace {

const std::string anybody;

}  // namespace

// --- Requests ------------------------------------------------------------------------------------

void LeaseMatching::add(Request request) {
  const auto number = request.number;
  Waiting waiting;
  static_cast<Request&>(waiting) = std::move(request);
  ready(requests_.emplace(number, std::move(waiting)).first->second);
}

void LeaseMatching::stop_waiting(std::uint64_t number) {
  const auto found = requests_.find(number);
  if (found == requests_.end()) return;
  found->second.waits = false;
  if (!found->second.asking) finish(found->second);
}

void LeaseMatching::fill(std::uint64_t number) {
  const auto found = requests_.find(number);
  if (found != requests_.end()) found->second.max = found->second.granted;
}

/// The request can be matched with a cell.
void LeaseMatching::ready(Waiting& request) {
  request.asking = false;
  if (request.customer) {
    idle_bound_[*request.customer].insert(request.number);
    to_try_.insert(*request.customer);
  } else {
    idle_.insert(request.number);
  }
  if (!request.waits || request.granted > 0) impatient_.insert(request.number);
}

void LeaseMatching::unready(const Waiting& request) {
  idle_.erase(request.number);
  impatient_.erase(request.number);
  if (!request.customer) return;
  const auto bound = idle_bound_.find(*request.customer);
  if (bound == idle_bound_.end()) return;
  bound->second.erase(request.number);
  if (bound->second.empty()) idle_bound_.erase(bound);
}

void LeaseMatching::finish(Waiting& request) {
  unready(request);
  finished_.push_back(request.number);
  requests_.erase(request.number);
}

/// A request that does not wait, or that has some leases, ends when no cell can be asked now.
void LeaseMatching::finish_impatient() {
  while (!impatient_.empty()) finish(requests_.at(*impatient_.begin()));
}

std::vector<std::uint64_t> LeaseMatching::take_finished() {
  return std::exchange(finished_, {});
}

// --- Cells ---------------------------------------------------------------------------------------

LeaseMatching::Cell& LeaseMatching::cell(const CellKey& key) {
  const auto [found, added] = cells_.try_emplace(key);
  if (added) found->second.key = key;
  return found->second;
}

/// The cell may have work for these customers now.
void LeaseMatching::try_again(const Cell& cell) {
  if (cell.key.customer != "*") {
    to_try_.insert(cell.key.customer);
  } else {
    for (const auto& [customer, requests] : idle_bound_) to_try_.insert(customer);
  }
}

/// Puts the cell into the ring or takes it out, and forgets a cell without work and leases.
void LeaseMatching::update_ring(Cell& cell) {
  if (!cell.has_work) {
    cell.available = 0;
    cell.wanted.clear();
  }
  // A cell without a free slot is asked once, so that it knows that a worker waits.
  const bool unasked = cell.has_work && cell.asks == 0 && !cell.wanted.contains(anybody);
  cell.available > 0 || unasked ? turns_.join(cell) : turns_.leave(cell);
  if (!cell.has_work && cell.asks == 0 && !cell.is_served()) cells_.erase(CellKey{cell.key});
}

void LeaseMatching::filled(const CellKey& key, std::size_t available) {
  Cell& filled = cell(key);
  filled.has_work = true;
  filled.wanted.clear();  // The cell's dispatcher may be a new one, which knows of no request.
  try_again(filled);
  filled.available = available - std::min(available, filled.asked);
  update_ring(filled);
}

void LeaseMatching::emptied(const CellKey& key) {
  const auto found = cells_.find(key);
  if (found == cells_.end()) return;
  found->second.has_work = false;
  update_ring(found->second);
}

std::vector<CellKey> LeaseMatching::with_work() const {
  std::vector<CellKey> keys;
  for (const auto& [key, cell] : cells_) {
    if (cell.has_work) keys.push_back(key);
  }
  return keys;
}

void LeaseMatching::note_lease(const CellKey& key) {
  turns_.charge(cell(key));
}

void LeaseMatching::ended(const CellKey& key, microseconds service_time) {
  const auto found = cells_.find(key);
  if (found == cells_.end()) return;
  turns_.ended(found->second, service_time);
  update_ring(found->second);
}

// --- Matching ------------------------------------------------------------------------------------

std::optional<LeaseMatching::Ask> LeaseMatching::offered(const CellKey& key,
                                                         const std::optional<std::string>& customer,
                                                         std::size_t permits) {
  Cell& offering = cell(key);
  offering.has_work = true;
  const auto bound = customer ? idle_bound_.find(*customer) : idle_bound_.end();
  if (permits > 0 && bound != idle_bound_.end()) {
    return ask(requests_.at(*bound->second.begin()), offering, permits);
  }
  if (permits > 0 && !idle_.empty()) return ask(requests_.at(*idle_.begin()), offering, permits);
  offering.wanted.clear();
  offering.asks_overtaken = offering.asks;
  try_again(offering);
  offering.available = std::max<std::size_t>(offering.available, 1);
  update_ring(offering);
  return std::nullopt;
}

std::optional<LeaseMatching::Ask> LeaseMatching::next_ask(std::size_t permits) {
  if (permits > 0 && !idle_.empty()) {
    if (auto* next = static_cast<Cell*>(turns_.next())) {
      return ask(requests_.at(*idle_.begin()), *next, permits);
    }
  }
  while (permits > 0 && !to_try_.empty()) {
    const auto requests = idle_bound_.find(*to_try_.begin());
    Cell* next = requests == idle_bound_.end() ? nullptr : cell_for(requests->first);
    if (next) return ask(requests_.at(*requests->second.begin()), *next, permits);
    to_try_.erase(to_try_.begin());
  }
  finish_impatient();
  return std::nullopt;
}

/// A cell that may have a job of the customer and has not been asked for one.
LeaseMatching::Cell* LeaseMatching::cell_for(const std::string& customer) {
  for (const auto& name : {customer, std::string{"*"}}) {
    for (auto it = cells_.lower_bound({name, ""}); it != cells_.end(); ++it) {
      auto& [key, cell] = *it;
      if (key.customer != name) break;
      if (cell.has_work && !cell.wanted.contains(customer)) return &cell;
    }
  }
  return nullptr;
}

LeaseMatching::Ask LeaseMatching::ask(Waiting& request, Cell& cell, std::size_t permits) {
  unready(request);
  request.asking = true;
  const Ask made{cell.key, request.number, std::min(request.max - request.granted, permits)};
  for (std::size_t n = 0; n < made.count; ++n) turns_.charge(cell);
  cell.available -= std::min(cell.available, made.count);
  cell.asked += made.count;
  cell.asks += 1;
  if (request.customer) cell.wanted.insert(*request.customer);  // Until it has answered.
  update_ring(cell);
  return made;
}

/// The ask is over: takes back what the cell was charged for leases that it did not grant.
LeaseMatching::Cell& LeaseMatching::take_back(const Ask& ask, std::size_t granted) {
  Cell& from = cell(ask.cell);
  from.asked -= ask.count;
  from.asks -= 1;
  from.asks_overtaken -= std::min<std::size_t>(from.asks_overtaken, 1);
  for (std::size_t n = granted; n < ask.count; ++n) turns_.ended(from, microseconds{0});
  return from;
}

void LeaseMatching::answered(const Ask& ask, std::size_t granted, LaneState lane,
                             std::size_t available) {
  const bool is_overtaken = cell(ask.cell).asks_overtaken > 0;
  Cell& from = take_back(ask, granted);
  from.has_work = lane != LaneState::empty;
  from.available = lane == LaneState::more ? available - std::min(available, from.asked) : 0;
  const auto found = requests_.find(ask.request);
  if (found != requests_.end()) {
    Waiting& request = found->second;
    note_lane(from, request, lane, is_overtaken);
    request.granted += granted;
    request.granted >= request.max ? finish(request) : ready(request);
  }
  update_ring(from);
}

/// Notes whether the cell will offer a slot.
void LeaseMatching::note_lane(Cell& cell, const Waiting& request, LaneState lane,
                              bool is_overtaken) {
  const auto& customer = request.customer ? *request.customer : anybody;
  if (lane == LaneState::busy && !is_overtaken) {
    cell.wanted.insert(customer);
    return;
  }
  cell.wanted.erase(customer);
  if (request.customer) to_try_.insert(customer);  // Others may wait for jobs of this customer.
  if (is_overtaken) try_again(cell);
}

void LeaseMatching::lost(const Ask& ask) {
  Cell& gone = take_back(ask, 0);
  gone.has_work = false;
  update_ring(gone);
}

void LeaseMatching::go_on(std::uint64_t request) {
  const auto found = requests_.find(request);
  if (found != requests_.end()) ready(found->second);
}

}  // namespace cells
