#include "cells/model/lease_matching.hpp"

#include <algorithm>
#include <utility>

namespace cells {
namespace {

const std::string any_customer;

}  // namespace

// --- Requests ------------------------------------------------------------------------------------

void LeaseMatching::add(Request request) {
  const auto number = request.number;
  Waiting waiting;
  static_cast<Request&>(waiting) = std::move(request);
  waiting.asks_before = last_ask_;
  ready(requests_.emplace(number, std::move(waiting)).first->second);
}

void LeaseMatching::stop_waiting(std::uint64_t number) {
  const auto found = requests_.find(number);
  if (found == requests_.end()) return;
  found->second.waits = false;
  found->second.withdrawn = true;
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
    Customer& bound = customer(*request.customer);
    bound.idle.insert(request.number);
    customer_turns_.join(bound);
  } else {
    idle_.insert(request.number);
  }
  if (request.granted > 0) {
    content_.insert(request.number);
  } else if (!request.waits) {
    impatient_.insert(request.number);
  }
}

void LeaseMatching::unready(const Waiting& request) {
  idle_.erase(request.number);
  content_.erase(request.number);
  impatient_.erase(request.number);
  if (!request.customer) return;
  Customer& bound = customer(*request.customer);
  bound.idle.erase(request.number);
  if (bound.idle.empty()) customer_turns_.leave(bound);
}

void LeaseMatching::finish(Waiting& request) {
  unready(request);
  finished_.push_back(request.number);
  const auto bound_to = request.customer;
  requests_.erase(request.number);
  if (bound_to) forget_if_idle(customer(*bound_to));
}

/// No cell can be asked now. Requests with some leases end, and so do, in their order, those that
/// do not wait, unless a cell may yet have something for them.
void LeaseMatching::finish_impatient() {
  while (!content_.empty()) finish(requests_.at(*content_.begin()));
  while (!impatient_.empty()) {
    Waiting& first = requests_.at(*impatient_.begin());
    if (may_get_more(first)) return;
    finish(first);
  }
}

/// A cell that was asked for all that it seemed to have looks empty until it answers. Of the asks
/// made after the request came, only those for an earlier request that is about to end count: asks
/// for requests that wait may follow one another without end.
bool LeaseMatching::may_get_more(const Waiting& request) const {
  return (!open_asks_.empty() && *open_asks_.begin() <= request.asks_before) ||
         (!impatient_asking_.empty() && *impatient_asking_.begin() < request.number);
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
  if (cell.key.customer == "*") {
    for (auto& [name, customer] : customers_) try_again(customer);
  } else if (const auto own = customers_.find(cell.key.customer); own != customers_.end()) {
    try_again(own->second);
  }
}

void LeaseMatching::try_again(Customer& customer) {
  if (!customer.idle.empty()) customer_turns_.join(customer);
}

/// Puts the cell into the ring or takes it out, and forgets a cell without work and leases.
void LeaseMatching::update_ring(Cell& cell) {
  if (!cell.has_work) {
    cell.available = 0;
    cell.wanted.clear();
  }
  // A cell without a free slot is asked once, so that it knows that a worker waits.
  const bool unasked = cell.has_work && cell.asks == 0 && !cell.wanted.contains(any_customer);
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

// --- Customers that requests are bound to --------------------------------------------------------

LeaseMatching::Customer& LeaseMatching::customer(const std::string& name) {
  const auto [found, added] = customers_.try_emplace(name);
  if (added) {
    found->second.name = name;
    customer_turns_.set_clock(found->second, customer_clocks_.take(name));
  }
  return found->second;
}

void LeaseMatching::forget_if_idle(Customer& customer) {
  if (!customer.idle.empty() || customer.is_served()) return;
  customer_clocks_.note(customer.name, customer_turns_.clock_us(customer),
                        customer_turns_.now_us());
  customers_.erase(std::string{customer.name});
}

/// Counts all leases of the customer, as the turns are those of its jobs. Only those of bound
/// requests were charged.
void LeaseMatching::served(const std::string& name, microseconds service_time, bool bound) {
  const auto found = customers_.find(name);
  if (found == customers_.end()) return customer_clocks_.add(name, service_time.count());
  Customer& customer = found->second;
  bound ? customer_turns_.ended(customer, service_time)
        : customer_turns_.owe(customer, service_time);
  forget_if_idle(customer);
}

// --- Matching ------------------------------------------------------------------------------------

std::optional<LeaseMatching::Ask> LeaseMatching::offered(const CellKey& key,
                                                         const std::optional<std::string>& customer,
                                                         std::size_t permits) {
  Cell& offering = cell(key);
  offering.has_work = true;
  const auto bound = customer ? customers_.find(*customer) : customers_.end();
  if (permits > 0 && bound != customers_.end() && !bound->second.idle.empty()) {
    return ask(requests_.at(*bound->second.idle.begin()), offering, permits);
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
  while (auto* bound = permits > 0 ? static_cast<Customer*>(customer_turns_.next()) : nullptr) {
    if (Cell* next = cell_for(bound->name)) {
      return ask(requests_.at(*bound->idle.begin()), *next, permits);
    }
    customer_turns_.leave(*bound);
  }
  finish_impatient();
  return std::nullopt;
}

/// Of the cells that may have a job of the customer and have not been asked for one, the one whose
/// turn it is.
LeaseMatching::Cell* LeaseMatching::cell_for(const std::string& customer) {
  Cell* first = nullptr;
  for (const auto& name : {customer, std::string{"*"}}) {
    for (auto it = cells_.lower_bound({name, ""}); it != cells_.end(); ++it) {
      auto& [key, cell] = *it;
      if (key.customer != name) break;
      if (!cell.has_work || cell.wanted.contains(customer)) continue;
      if (!first || turns_.starts_before(cell, *first)) first = &cell;
    }
  }
  return first;
}

LeaseMatching::Ask LeaseMatching::ask(Waiting& request, Cell& cell, std::size_t permits) {
  // Their service starts now, not when they last left their rings.
  turns_.join(cell);
  if (request.customer) customer_turns_.join(customer(*request.customer));
  unready(request);
  request.asking = true;
  request.ask = ++last_ask_;
  open_asks_.insert(request.ask);
  if (request.is_impatient()) impatient_asking_.insert(request.number);
  const Ask made{cell.key, request.number, std::min(request.max - request.granted, permits)};
  for (std::size_t n = 0; n < made.count; ++n) turns_.charge(cell);
  cell.available -= std::min(cell.available, made.count);
  cell.asked += made.count;
  cell.asks += 1;
  if (request.customer) {
    cell.wanted.insert(*request.customer);  // Until it has answered.
    Customer& bound = customer(*request.customer);
    for (std::size_t n = 0; n < made.count; ++n) customer_turns_.charge(bound);
  }
  update_ring(cell);
  return made;
}

/// The ask is over: takes back what the cell and the customer were charged for leases that the cell
/// did not grant.
LeaseMatching::Cell& LeaseMatching::take_back(const Ask& ask, std::size_t granted) {
  const auto& request = requests_.at(ask.request);
  open_asks_.erase(request.ask);
  impatient_asking_.erase(request.number);
  if (request.customer) {
    Customer& bound = customer(*request.customer);
    for (std::size_t n = granted; n < ask.count; ++n) {
      customer_turns_.ended(bound, microseconds{0});
    }
  }
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
  const bool had_work = from.has_work;
  from.has_work = lane != LaneState::empty;
  // `more` is worth one ask, whatever the others that are open may take.
  from.available = lane == LaneState::more ? std::max(available, from.asked + 1) - from.asked : 0;
  Waiting& request = requests_.at(ask.request);
  note_lane(from, request, lane, is_overtaken);
  request.granted += granted;
  go_on(request);
  if (from.has_work && !had_work) try_again(from);
  update_ring(from);
}

/// Notes whether the cell will offer a slot.
void LeaseMatching::note_lane(Cell& cell, const Waiting& request, LaneState lane,
                              bool is_overtaken) {
  const auto& customer = request.customer ? *request.customer : any_customer;
  if (lane == LaneState::busy && !is_overtaken) {
    cell.wanted.insert(customer);
    return;
  }
  cell.wanted.erase(customer);
  // Others may wait for jobs of this customer.
  if (request.customer) try_again(this->customer(customer));
  if (is_overtaken) try_again(cell);
}

void LeaseMatching::lost(const Ask& ask) {
  Cell& gone = take_back(ask, 0);
  gone.has_work = false;
  update_ring(gone);
}

void LeaseMatching::go_on(std::uint64_t request) {
  const auto found = requests_.find(request);
  if (found != requests_.end()) go_on(found->second);
}

void LeaseMatching::go_on(Waiting& request) {
  request.withdrawn || request.granted >= request.max ? finish(request) : ready(request);
}

}  // namespace cells
