// Lanes, and the permits of protected services.
//
// The runnable jobs of a cell are in lanes: one for those that may start as soon as a worker inside
// is ready, one for each pull service, and one for each protected service. A desk asks this
// dispatcher for jobs of the other lanes (lanes.hpp). All lanes share the slots of the cell; when
// several want a free slot, the customer that has used the least service time goes first
// (SlotShares).
#include <algorithm>
#include <tuple>
#include <utility>

#include "cells/actors/job_dispatcher_actor.hpp"

namespace cells {
namespace {

/// How long borrowed slots stay after a desk had no request for them.
constexpr std::chrono::seconds slots_linger{10};

const std::string any_customer;

}  // namespace

// --- Lanes ---------------------------------------------------------------------------------------

JobDispatcherActor::LaneKind JobDispatcherActor::kind_of(const std::string& service) const {
  const auto found = config_.services->find(service);
  if (found == config_.services->end()) return LaneKind::none;
  if (!found->second.client) return LaneKind::leases;
  return found->second.protection.is_any() ? LaneKind::permits : LaneKind::none;
}

/// The lane that the job belongs in. An ended job stays where it was.
std::string JobDispatcherActor::lane_of(const Job& job) const {
  if (job.step >= job.spec->services.size()) return job.lane;
  const auto& service = job.spec->services[job.step];
  return kind_of(service) == LaneKind::none ? "" : service;
}

DispatchQueue& JobDispatcherActor::queue_of(const std::string& name) {
  return name.empty() ? queue_ : lane(name).queue;
}

JobDispatcherActor::Lane& JobDispatcherActor::lane(const std::string& name) {
  const auto [found, added] = lanes_.try_emplace(name, *context_, kind_of(name));
  if (!added) return found->second;
  auto& queue = found->second.queue;
  queue.set_terms(terms());
  for (const auto& [customer, jobs] : running_.running()) {
    if (running_.is_reached(customer)) queue.block(customer);
  }
  return found->second;
}

void JobDispatcherActor::remove_from_queue(const Job& job) {
  if (job.lane.empty()) {
    queue_.remove(job);
  } else if (const auto found = lanes_.find(job.lane); found != lanes_.end()) {
    found->second.queue.remove(job);
  }
}

/// A reload has changed the kind of the job's service. Fetches that are under way do not see the
/// change.
void JobDispatcherActor::change_lane(const JobPtr& job) {
  auto moved = std::make_shared<Job>(*job);
  moved->lane = lane_of(*job);
  queue_of(job->lane).left(job->id);
  send(store(), ChangeLane{job->id, moved->lane});
  queue_of(moved->lane).expect_more();
  offer(std::move(moved));
}

/// The store may have jobs in lanes that this actor does not know.
void JobDispatcherActor::refresh_lanes() {
  request(store(), caf::infinite, LoadCell{key_, durability()})
      .then(
          [this](const CellLoaded& loaded) {
            for (const auto& name : loaded.lanes) lane(name).queue.expect_more();
            dispatch(now());
          },
          [](const caf::error&) {});
}

template <class Message>
void JobDispatcherActor::tell_desk(LaneKind kind, Message message) {
  if (kind == LaneKind::leases) return send(context_->desk, std::move(message));
  const auto found = config_.services->find(message.service);
  if (found != config_.services->end() && found->second.client) {
    send(found->second.client, std::move(message));
  }
}

/// The desk forgets the lane, and the slots that it was offered are free.
void JobDispatcherActor::leave_desk(const std::string& name, Lane& lane) {
  if (std::exchange(lane.reported, false)) tell_desk(lane.kind, LaneEmptied{name, key_});
  lane.wanted.clear();
  reserved_ -= std::exchange(lane.reserved, 0);
}

/// A reload may have changed the kinds of services.
void JobDispatcherActor::change_desks() {
  for (auto& [name, lane] : lanes_) {
    const auto kind = kind_of(name);
    if (kind == lane.kind) continue;
    leave_desk(name, lane);
    lane.kind = kind;
  }
}

/// Jobs in the lane of a service that no longer has one belong in another lane.
void JobDispatcherActor::empty_foreign_lanes() {
  for (auto& [name, lane] : lanes_) {
    if (lane.kind != LaneKind::none) continue;
    while (const JobPtr job = lane.queue.take()) {
      lane.queue.ended(job->spec->customer, microseconds{0});
      if (!in_hand(job->id)) change_lane(job);
    }
  }
}

/// While a slot is free, seeks jobs for workers that wait for those of one customer, even if the
/// lane's window is full of other customers' jobs.
void JobDispatcherActor::seek_wanted() {
  if (!may_start() || !has_free_slot()) return;
  for (auto& [name, lane] : lanes_) {
    if (lane.queue.empty() || lane.wanted.contains(any_customer)) continue;
    for (const auto& customer : lane.wanted) lane.queue.seek(customer);
  }
}

/// Tells the desks which lanes have work, and forgets lanes without any.
void JobDispatcherActor::report_lanes() {
  for (auto it = lanes_.begin(); it != lanes_.end();) {
    auto& [name, lane] = *it;
    if (!lane.reported && may_start() && !lane.queue.empty() && lane.kind != LaneKind::none) {
      lane.reported = true;
      tell_desk(lane.kind, LaneFilled{name, key_, cell_, available(lane)});
    }
    if (!lane.queue.is_done() || lane.reserved > 0) {
      ++it;
      continue;
    }
    leave_desk(name, lane);
    it = lanes_.erase(it);
  }
}

// --- Slots ---------------------------------------------------------------------------------------

/// Whether a job of the lane could start now, if there is one.
bool JobDispatcherActor::can_take(const Lane& lane) const {
  return has_free_slot() && (lane.kind != LaneKind::permits || workers_.any_ready());
}

/// How many jobs of the lane could start now.
std::size_t JobDispatcherActor::available(const Lane& lane) const {
  const std::size_t taken = leases_.size() + reserved_;
  const std::size_t most = slots_.limit();
  std::size_t slots = most - std::min(most, taken);
  if (lane.kind == LaneKind::permits) slots = std::min<std::size_t>(slots, workers_.ready());
  return std::min(lane.queue.size(), slots);
}

/// The state of the lane to report to a desk that asked for jobs, of this customer if one is named.
LaneState JobDispatcherActor::lane_state(Lane& lane, const std::optional<std::string>& customer) {
  if (!may_start() || lane.queue.empty()) {
    lane.reported = false;
    return LaneState::empty;
  }
  lane.reported = true;
  const bool has_job = !customer || lane.queue.has(*customer);
  if (has_job && can_take(lane)) return LaneState::more;
  lane.wanted.insert(customer.value_or(any_customer));
  return LaneState::busy;
}

/// The customer whose job the desk would take; none if the desk waits for no job of this lane.
std::optional<std::string> JobDispatcherActor::candidate(Lane& lane) const {
  if (!can_take(lane)) return std::nullopt;
  const std::size_t most = context_->options.desks.offered_slots_max;
  if (lane.reserved >= std::min(lane.queue.size(), most)) return std::nullopt;
  if (lane.wanted.contains(any_customer)) return *lane.queue.next_customer();
  if (lane.reserved > 0) return std::nullopt;
  const std::string* next = lane.queue.next_customer(lane.wanted);
  return next ? std::optional{*next} : std::nullopt;
}

/// Of the lanes that want a slot, the one that gets it; null: none wants one.
JobDispatcherActor::Lanes::value_type* JobDispatcherActor::first_wanting_lane() {
  Lanes::value_type* first = nullptr;
  std::tuple<std::int64_t, std::uint64_t> least;
  for (auto& each : lanes_) {
    const auto customer = candidate(each.second);
    if (!customer) continue;
    const std::tuple rank{start_us(*customer, slots_ahead(each.second)), each.second.served};
    if (first && least <= rank) continue;
    first = &each;
    least = rank;
  }
  return first;
}

/// Whether a lane that wants a slot goes before the lane of workers inside, which also wants it.
bool JobDispatcherActor::goes_before_inside(Lanes::value_type& lane) {
  const std::tuple outside{start_us(*candidate(lane.second), slots_ahead(lane.second)),
                           lane.second.served};
  return outside < std::tuple{start_us(*queue_.next_customer(), 0), inside_served_};
}

/// When the customer's next job starts, in virtual time, after `ahead` more of its jobs.
std::int64_t JobDispatcherActor::start_us(const std::string& customer, std::size_t ahead) const {
  return shares_.start_us(customer, ahead, config_.settings.weights.weight_of(customer));
}

/// How many of the slots that are reserved for the lane each of its customers is going to get.
std::size_t JobDispatcherActor::slots_ahead(const Lane& lane) {
  return lane.reserved / std::max<std::size_t>(lane.queue.customers(), 1);
}

void JobDispatcherActor::offer_slot(Lanes::value_type& chosen) {
  auto& [name, lane] = chosen;
  SlotOffered offer{name, key_, cell_, std::nullopt};
  if (!lane.wanted.contains(any_customer)) offer.customer = candidate(lane);
  lane.reserved += 1;
  reserved_ += 1;
  lane.served = ++served_;
  tell_desk(lane.kind, std::move(offer));
}

void JobDispatcherActor::free_reserved(Lane& lane) {
  if (lane.reserved == 0) return;
  lane.reserved -= 1;
  reserved_ -= 1;
}

void JobDispatcherActor::decline_slot(const std::string& service) {
  const auto found = lanes_.find(service);
  // The slot may be free already: a grant used it, or the desk is a former one.
  if (found == lanes_.end() || found->second.reserved == 0) return;
  const Now at = now();
  free_reserved(found->second);
  found->second.wanted.clear();
  linger(at);
  dispatch(at);
  arm(at);
}

// --- The slots of the cell ---------------------------------------------------------------------

void JobDispatcherActor::join_capacity() {
  const auto running = static_cast<std::uint32_t>(leases_.size());
  slots_.begin(running);
  send(context_->capacity,
       CellJoined{key_, caf::actor_cast<JobDispatcher>(this), slots_.terms(), running});
}

/// The cell may have borrowed a slot for a worker outside that does not wait. The slot stays for a
/// while, if no other cell needs it, so that the next request finds it.
void JobDispatcherActor::linger(const Now& at) {
  const std::size_t taken = leases_.size() + reserved_;
  if (slots_.limit() <= std::max<std::size_t>(taken, slots_.terms().guarantee)) return;
  lingering_ = static_cast<std::uint32_t>(slots_.limit() - taken);
  lingers_until_ = at.steady + slots_linger;
}

void JobDispatcherActor::end_lingering(const Now& at) {
  if (!lingers_until_ || at.steady < *lingers_until_) return;
  lingers_until_.reset();
  lingering_ = 0;
}

/// Reports to the capacity desk what it has to know, and to the cell how many workers the borrowed
/// slots need.
void JobDispatcherActor::adjust_slots() {
  const auto idle = static_cast<std::uint32_t>(
      slots_.held() - std::min<std::size_t>(slots_.held(), leases_.size() + reserved_));
  lingering_ = std::min(lingering_, idle);
  if (slots_.is_at_rest()) return;
  const auto used = static_cast<std::uint32_t>(leases_.size() + reserved_);
  if (const auto report = slots_.adjust(used, could_start(), lanes_.empty() ? 0 : lingering_)) {
    send(context_->capacity, SlotsReported{key_, slots_.terms(), report->need, report->returned});
  }
  const auto guarantee = slots_.terms().guarantee;
  const auto borrowed = std::max(slots_.limit(), guarantee) - guarantee;
  if (std::exchange(borrowed_, borrowed) != borrowed) send(cell_, SlotsBorrowed{borrowed});
}

/// How many jobs could start at once if there were slots for them. A lane whose jobs a desk waits
/// for counts as one: how many the desk would take is known only when it takes them.
std::size_t JobDispatcherActor::could_start() const {
  if (!may_start()) return 0;
  std::size_t count = queue_.size();
  for (const auto& [name, lane] : lanes_) count += has_wanted_job(lane) ? 1 : 0;
  return count;
}

bool JobDispatcherActor::has_wanted_job(const Lane& lane) {
  if (lane.reserved >= lane.queue.size()) return false;
  return std::any_of(lane.wanted.begin(), lane.wanted.end(), [&](const auto& customer) {
    return customer == any_customer || lane.queue.has(customer);
  });
}

// --- Permits -------------------------------------------------------------------------------------

/// The next job of the lane. For a probe, one whose own probe has not failed, if there is one.
JobPtr JobDispatcherActor::take_for_permit(Lane& lane, bool is_probe) {
  if (!is_probe) {
    lane.failed_probes.clear();  // The circuit is closed.
    return lane.queue.take();
  }
  JobPtr job = lane.queue.take_other_than(lane.failed_probes);
  if (job && lane.failed_probes.contains(job->id)) lane.failed_probes.clear();  // All have failed.
  return job;
}

PermitsTaken JobDispatcherActor::take_permits(const GrantPermits& message) {
  const auto found = lanes_.find(message.service);
  if (found == lanes_.end() || found->second.kind != LaneKind::permits) return {};
  Lane& lane = found->second;
  const Now at = now();
  free_reserved(lane);
  PermitsTaken taken;
  while (taken.leases.size() < message.count && may_start() && can_take(lane)) {
    const JobPtr job = take_for_permit(lane, message.probe);
    if (!job) break;
    if (!can_start(job, lane.queue, at)) continue;
    taken.leases.push_back(hand_out(job, message.probe ? Permit::probe : Permit::call, at));
    lane.served = ++served_;
  }
  taken.lane = lane_state(lane, std::nullopt);
  taken.available = available(lane);
  dispatch(at);
  return taken;
}

LaneDescribed JobDispatcherActor::describe_lane(const std::string& service) const {
  const auto found = lanes_.find(service);
  return {found == lanes_.end() ? 0 : found->second.queue.size()};
}

/// The service time of an attempt counts in each lane of the cell.
void JobDispatcherActor::charge(const LiveLease& live, ProviderSign sign, const Now& at) {
  const auto& customer = live.job->spec->customer;
  const auto& own = live.job->lane;
  const microseconds ran = at.steady - live.handed_out_at;
  own.empty() ? queue_.ended(customer, ran) : queue_.owe(customer, ran);
  for (auto& [name, lane] : lanes_) {
    name == own ? lane.queue.ended(customer, ran) : lane.queue.owe(customer, ran);
  }
  shares_.end(customer, ran, live.charged_us, config_.settings.weights.weight_of(customer));
  if (live.outside) {
    send(context_->desk, LeaseOver{live.job->lease, ran});
  } else if (const auto client = permits_of(live)) {
    send(client, PermitOver{live.job->lease, key_, ran, std::move(sign)});
  }
}

/// The client that counts the attempt among its calls; null: none. A reload may have ended the
/// protection of the service since, or made it a pull service and another one changed it back; or
/// the protection is younger than the attempt.
ServiceClient JobDispatcherActor::permits_of(const LiveLease& live) const {
  const auto found = config_.services->find(live.job->spec->services[live.job->step]);
  if (found == config_.services->end()) return {};
  const auto& [name, service] = *found;
  if (!service.client) return service.former;
  const bool counts = live.permit != Permit::none || service.protection.is_any();
  return counts ? service.client : ServiceClient{};
}

}  // namespace cells
