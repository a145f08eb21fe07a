// Lanes, and the leases of workers outside.
//
// The runnable jobs of a cell are in lanes: one for the workers inside, and one for each pull
// service. The lease desk asks this dispatcher for jobs of a lane. Inside and outside share the
// slots of the cell; when several lanes want a free slot, the customer that has had the least of
// the cell goes first (SlotShares).
#include <algorithm>
#include <tuple>
#include <utility>

#include "cells/actors/job_dispatcher_actor.hpp"

namespace cells {
namespace {

/// The most slots of one lane that are offered and not answered.
constexpr std::uint32_t offers_max = 64;

const std::string anybody;

}  // namespace

// --- Lanes ---------------------------------------------------------------------------------------

bool JobDispatcherActor::is_pull(const std::string& service) const {
  const auto found = config_.services->find(service);
  return found != config_.services->end() && !found->second.client;
}

/// Where the job belongs. An ended job stays where it was.
std::string JobDispatcherActor::lane_of(const Job& job) const {
  if (job.step >= job.spec->services.size()) return job.lane;
  const auto& service = job.spec->services[job.step];
  return is_pull(service) ? service : "";
}

DispatchQueue& JobDispatcherActor::queue_of(const std::string& name) {
  return name.empty() ? queue_ : lane(name).queue;
}

JobDispatcherActor::PullLane& JobDispatcherActor::lane(const std::string& name) {
  return lanes_.try_emplace(name, context_->options.window).first->second;
}

void JobDispatcherActor::remove_from_queue(const Job& job) {
  if (job.lane.empty()) {
    queue_.remove(job);
  } else if (const auto found = lanes_.find(job.lane); found != lanes_.end()) {
    found->second.queue.remove(job);
  }
}

/// A reload has changed the kind of the job's service.
void JobDispatcherActor::change_lane(const JobPtr& job) {
  auto moved = std::make_shared<Job>(*job);
  moved->lane = lane_of(*job);
  send(store(), ChangeLane{job->id, moved->lane});
  queue_of(moved->lane).expect_more();  // A fetch that is under way does not see the change.
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

/// Jobs in the lane of a service that is no longer pulled belong in another lane.
void JobDispatcherActor::empty_foreign_lanes() {
  for (auto& [name, lane] : lanes_) {
    if (is_pull(name)) continue;
    while (const JobPtr job = lane.queue.take()) {
      lane.queue.ended(job->spec->customer, microseconds{0});
      if (!in_hand(job->id)) change_lane(job);
    }
  }
}

/// A slot is free: a worker that waits for the jobs of one customer alone takes it, even if a
/// window is full of the jobs of others.
void JobDispatcherActor::seek_wanted() {
  if (!may_start() || !has_free_slot()) return;
  for (auto& [name, lane] : lanes_) {
    if (lane.queue.empty() || lane.wanted.contains(anybody)) continue;
    for (const auto& customer : lane.wanted) lane.queue.seek(customer);
  }
}

/// Tells the desk which lanes have work, and forgets lanes without any.
void JobDispatcherActor::settle_lanes() {
  for (auto it = lanes_.begin(); it != lanes_.end();) {
    auto& [name, lane] = *it;
    if (!lane.reported && may_start() && !lane.queue.empty() && is_pull(name)) {
      lane.reported = true;
      send(context_->desk, LaneFilled{name, key_, cell_, available(lane)});
    }
    if (!lane.queue.is_done() || lane.reserved > 0) {
      ++it;
      continue;
    }
    if (lane.reported) send(context_->desk, LaneEmptied{name, key_});
    it = lanes_.erase(it);
  }
}

// --- Slots ---------------------------------------------------------------------------------------

/// The customer whose job a worker that waits would get; none if no worker waits for this lane.
std::optional<std::string> JobDispatcherActor::candidate(PullLane& lane) {
  if (lane.reserved >= std::min<std::size_t>(lane.queue.size(), offers_max)) return std::nullopt;
  if (lane.wanted.contains(anybody)) return *lane.queue.next_customer();
  if (lane.reserved > 0) return std::nullopt;
  for (const auto& customer : lane.wanted) {
    if (lane.queue.has(customer)) return customer;
  }
  return std::nullopt;
}

/// Of the lanes that want a slot, the one to have it; null: none does.
JobDispatcherActor::Lanes::value_type* JobDispatcherActor::first_wanting_lane() {
  Lanes::value_type* first = nullptr;
  std::tuple<std::int64_t, std::uint64_t> least;
  for (auto& each : lanes_) {
    const auto customer = candidate(each.second);
    if (!customer) continue;
    const std::tuple rank{shares_.start_us(*customer), each.second.served};
    if (first && least <= rank) continue;
    first = &each;
    least = rank;
  }
  return first;
}

/// Whether a lane that wants a slot has it before the lane of workers inside, which has a job.
bool JobDispatcherActor::goes_before_inside(Lanes::value_type& lane) {
  const std::tuple outside{shares_.start_us(*candidate(lane.second)), lane.second.served};
  return outside < std::tuple{shares_.start_us(*queue_.next_customer()), inside_served_};
}

void JobDispatcherActor::offer_slot(Lanes::value_type& chosen) {
  auto& [name, lane] = chosen;
  SlotOffered offer{name, key_, cell_, std::nullopt};
  if (!lane.wanted.contains(anybody)) offer.customer = candidate(lane);
  lane.reserved += 1;
  reserved_ += 1;
  lane.served = ++served_;
  send(context_->desk, std::move(offer));
}

void JobDispatcherActor::free_reserved(PullLane& lane) {
  if (lane.reserved == 0) return;
  lane.reserved -= 1;
  reserved_ -= 1;
}

void JobDispatcherActor::decline_slot(const std::string& service) {
  const auto found = lanes_.find(service);
  if (found == lanes_.end()) return;
  free_reserved(found->second);
  found->second.wanted.clear();
  dispatch(now());
}

// --- Granting ------------------------------------------------------------------------------------

caf::result<GrantAnswered> JobDispatcherActor::grant(const GrantLeases& message) {
  const auto found = lanes_.find(message.service);
  if (found == lanes_.end()) return GrantAnswered{};
  PullLane& lane = found->second;
  const Now at = now();
  free_reserved(lane);
  std::vector<Lease> leases;
  std::size_t bytes = 0;
  while (leases.size() < message.count && bytes < message.bytes_max && may_start() &&
         has_free_slot()) {
    const JobPtr job = take_for(lane, message, at);
    if (!job) break;
    bytes += approximate_bytes(*job);
    leases.push_back(context_->leases.next());
    LiveLease entry;
    entry.deadline = SteadyTime::max();  // Until the lease is on disk.
    lease_out(job, leases.back(), std::move(entry), message.worker, at);
    lane.served = ++served_;
  }
  if (leases.empty()) {
    const auto state = lane_state(lane, message);
    dispatch(at);
    arm(at);
    return GrantAnswered{{}, state, 0};
  }
  auto promise = make_response_promise<GrantAnswered>();
  const auto owed = granting_.add(promise);
  request(store(), caf::infinite, FlushStore{durability()})
      .then([this, leases, message, owed](const StoreFlushed&) { granted(leases, message, owed); },
            [this, owed](caf::error& error) { granting_.deliver(owed, std::move(error)); });
  dispatch(at);
  arm(at);
  return promise;
}

/// The next job that may start, taken from the lane; null if there is none.
JobPtr JobDispatcherActor::take_for(PullLane& lane, const GrantLeases& message, const Now& at) {
  for (;;) {
    JobPtr job = message.customer ? lane.queue.take_of(*message.customer) : lane.queue.take();
    if (!job || can_start(job, lane.queue, at)) return job;
  }
}

/// How many jobs of the lane could be leased now.
std::size_t JobDispatcherActor::available(const PullLane& lane) const {
  const std::size_t taken = leases_.size() + reserved_;
  return std::min(lane.queue.size(), running_max_ - std::min<std::size_t>(running_max_, taken));
}

/// What the desk is to know about the lane after it asked for leases.
LaneState JobDispatcherActor::lane_state(PullLane& lane, const GrantLeases& message) {
  if (!may_start() || lane.queue.empty()) {
    lane.reported = false;
    return LaneState::empty;
  }
  lane.reported = true;
  const bool has_job = !message.customer || lane.queue.has(*message.customer);
  if (has_job && has_free_slot()) return LaneState::more;
  lane.wanted.insert(message.customer.value_or(anybody));
  return LaneState::busy;
}

/// The leases are on disk. One whose job was cancelled meanwhile is over.
void JobDispatcherActor::granted(const std::vector<Lease>& leases, const GrantLeases& message,
                                 std::uint64_t owed) {
  const Now at = now();
  GrantAnswered answer;
  for (const Lease& lease : leases) {
    const LiveLease* live = leases_.find(lease);
    if (!live) continue;
    leases_.start(lease, at.steady + live->job->spec->timeout);
    answer.leases.push_back(out(*live, at));
  }
  const auto found = lanes_.find(message.service);
  if (found != lanes_.end()) {
    answer.lane = lane_state(found->second, message);
    answer.available = available(found->second);
  }
  granting_.deliver(owed, std::move(answer));
  dispatch(at);
  arm(at);
}

/// A lease of an earlier epoch, or of a dispatcher that died.
void JobDispatcherActor::keep_lease(const JobPtr& job, const Now& at) {
  LiveLease entry;
  entry.job = job;
  entry.handed_out_at = at.steady;
  entry.deadline = at.steady + job->spec->timeout;
  entry.started = true;
  entry.outside = true;
  leases_.add(job->lease, std::move(entry));
  if (job->cancel_requested) leases_.ask_back(job->lease);
  send(context_->desk, LeaseKept{out(*leases_.find(job->lease), at), key_, cell_});
}

LeaseOut JobDispatcherActor::out(const LiveLease& live, const Now& at) const {
  SteadyTime deadline = live.deadline;
  if (const auto expiry = live.job->expires_at) {
    deadline = std::min<SteadyTime>(deadline, at.steady + (*expiry - at.wall));
  }
  return {live.job, deadline};
}

// --- While a lease is out ------------------------------------------------------------------------

LeaseHeld JobDispatcherActor::hold(const HoldLease& message) {
  LiveLease* live = leases_.find(message.lease);
  if (!live || !live->outside) {
    context_->options.probe->stale_report(key_, message.lease);
    return {};
  }
  const Now at = now();
  if (live->abort == AbortCause::none) {
    leases_.start(message.lease, at.steady + live->job->spec->timeout);
  }
  if (message.progress || !message.message.empty()) {
    live->job = std::make_shared<const Job>(
        note_progress(*live->job, message.progress, message.message, at.wall));
    keep_progress(message.lease);
  }
  arm(at);
  return {out(*live, at), live->abort != AbortCause::none};
}

/// Stores what the worker has told. While that is under way, what it tells next waits, so that a
/// worker that tells much costs one write a commit.
void JobDispatcherActor::keep_progress(Lease lease) {
  const auto [storing, begins] = storing_progress_.try_emplace(lease, false);
  if (!begins) {
    storing->second = true;
    return;
  }
  const JobPtr job = leases_.find(lease)->job;
  request(store(), caf::infinite, RecordJob{lease, job})
      .then(
          [this, lease, job](const JobRecorded& result) {
            if (!result.applied) {
              quit(caf::make_error(caf::sec::runtime_error, "a record was refused as stale"));
              return;
            }
            const bool again = storing_progress_.extract(lease).mapped();
            if (!leases_.find(lease)) return;
            tell(*context_, job);
            if (again) keep_progress(lease);
          },
          [this, lease](const caf::error&) { storing_progress_.erase(lease); });
}

/// The same report again, while the first is being stored, gets the same answer.
caf::result<LeaseEnded> JobDispatcherActor::end_lease(EndLease& message) {
  const bool succeeded = message.outcome.kind == CallOutcome::Kind::succeeded;
  const StepReport report{message.lease, succeeded};
  const LiveLease* live = leases_.find(message.lease);
  if (!live || !live->outside) {
    const auto first = message.job ? ending_.find(message.job->id) : ending_.end();
    if (first != ending_.end() && first->second.report == report) {
      return first->second.answers.add(make_response_promise<LeaseEnded>());
    }
    context_->options.probe->stale_report(key_, message.lease);
    return LeaseEnded{false};
  }
  Ending& ending = ending_[live->job->id];
  ending.report = report;
  auto promise = ending.answers.add(make_response_promise<LeaseEnded>());
  for (auto& each : message.outcome.messages) {
    each.time = context_->options.wall_clock();
    each.service = live->job->spec->services[live->job->step];
  }
  completed(message.lease, message.outcome, report);
  return promise;
}

/// The desk could not give these leases to anybody.
void JobDispatcherActor::return_leases(const std::vector<Lease>& returned) {
  for (const Lease& lease : returned) {
    LiveLease* live = leases_.find(lease);
    if (!live || !live->outside) continue;
    live->started = false;  // Nobody has begun anything that would have to settle.
    end_outside(lease, AbortCause::hand_back);
  }
}

/// Ends the lease without a report. A worker that has it is asked to give it up first if the job
/// is to be cancelled.
void JobDispatcherActor::abort_outside(Lease lease, AbortCause cause) {
  const LiveLease& live = *leases_.find(lease);
  if (cause == AbortCause::cancel && live.started) {
    leases_.ask_back(lease);
  } else {
    end_outside(lease, live.abort == AbortCause::none ? cause : live.abort);
  }
}

void JobDispatcherActor::end_outside(Lease lease, AbortCause cause) {
  leases_.abort(lease, cause);
  CallOutcome outcome;
  outcome.kind = CallOutcome::Kind::aborted;
  completed(lease, outcome);
}

/// The service time of an attempt counts in each lane of the cell.
void JobDispatcherActor::charge(const LiveLease& live, const Now& at) {
  const auto& customer = live.job->spec->customer;
  const auto& own = live.job->lane;
  const microseconds ran = at.steady - live.handed_out_at;
  own.empty() ? queue_.ended(customer, ran) : queue_.owe(customer, ran);
  for (auto& [name, lane] : lanes_) {
    name == own ? lane.queue.ended(customer, ran) : lane.queue.owe(customer, ran);
  }
  if (shares_.size() > 0) shares_.end(customer, ran);
  if (live.outside) send(context_->desk, LeaseOver{live.job->lease, ran});
}

}  // namespace cells
