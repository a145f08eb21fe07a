#include "cells/actors/lease_desk.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cells/actors/owed_answers.hpp"
#include "cells/model/lease_matching.hpp"
#include "cells/model/rate_meter.hpp"
#include "cells/model/service_guard.hpp"

namespace cells {
namespace {

/// Owns the requests of workers outside, and knows which leases are out; each service's matching
/// decides which cell is asked.
class LeaseDeskActor : public LeaseDesk::base {
 public:
  LeaseDeskActor(caf::actor_config& config, const DeskSizes& sizes)
      : LeaseDesk::base(config), sizes_(sizes) {}

  behavior_type make_behavior() override {
    return {
        // CAF tries the handlers in this order, so those that each job needs come first.
        [this](const RequestLeases& message) { return add(message); },
        [this](EndLease& message) -> caf::result<LeaseEnded> {
          const auto found = out_.find(message.lease);
          if (found == out_.end()) return LeaseEnded{};
          return delegate(found->second.cell, std::move(message));
        },
        [this](const LeaseOver& message) { over(message); },
        [this](const WithdrawRequests& message) {
          for (const auto request : message.requests) stop_waiting(request);
        },
        [this](const ReturnLeases& message) { give_back(message.leases); },
        [this](const ExtendLease& message) { return extend(message); },
        [this](const FindLease& message) {
          const auto found = out_.find(message.lease);
          return LeaseFound{found == out_.end() ? std::nullopt
                                                : std::optional{found->second.lease}};
        },
        [this](const ListLeases& message) { return list(message); },
        [this](const DescribeLeases& message) { return describe(message.only); },
        [this](const LaneFilled& message) {
          cells_[message.key] = message.cell;
          matchings_[message.service].filled(message.key, message.available);
          match(message.service);
        },
        [this](const LaneEmptied& message) {
          matchings_[message.service].emptied(message.key);
          forget(message.service);
          forget_cell(message.key);
        },
        [this](const SlotOffered& message) { offered(message); },
        [this](const LeaseKept& message) { keep(message); },
        [this](const ChangeLimits& message) { change_limits(message); },
        [this](const Tick& message) { tick(message.at); },
    };
  }

  void on_exit() override {
    for (auto& [number, request] : requests_) {
      request.promise.deliver(caf::make_error(caf::sec::request_receiver_down));
    }
    requests_.clear();
    extending_.fail();
    describing_.fail();
    out_.clear();
    cells_.clear();
  }

 private:
  struct Request {
    RequestLeases asked;
    caf::typed_response_promise<LeasesGranted> promise;
    LeasesGranted got;
    std::size_t bytes = 0;  ///< Of the jobs in `got`.
  };
  struct Traffic {
    std::uint64_t out = 0;
    std::uint64_t granted = 0;
    RateMeter ended;
  };
  /// A service with limits.
  struct Limited {
    ServiceGuard guard;
    std::optional<SteadyTime> armed{};
    /// Cells that have been asked, whose dispatchers died before they answered.
    std::multiset<CellKey> unanswered{};
  };
  struct Out {
    LeaseOut lease;
    CellKey key;
    LaneHolder cell;
    bool bound = false;  ///< Its request was bound to the job's customer.
  };

  static const std::string& service_of(const Job& job) { return job.spec->services[job.step]; }
  static const std::string& worker_of(const Job& job) { return job.steps[job.step].worker; }

  // --- Requests --------------------------------------------------------------------------------

  caf::result<LeasesGranted> add(const RequestLeases& message) {
    auto promise = make_response_promise<LeasesGranted>();
    requests_.emplace(message.request, Request{message, promise, {}});
    matchings_[message.service].add({message.request, message.customer, message.max, message.wait});
    match(message.service);
    return promise;
  }

  void stop_waiting(std::uint64_t number) {
    const auto found = requests_.find(number);
    if (found == requests_.end()) return;
    const auto service = found->second.asked.service;
    matchings_[service].stop_waiting(number);
    match(service);
  }

  // --- Matching --------------------------------------------------------------------------------

  void match(const std::string& service) {
    auto& matching = matchings_[service];
    while (const auto ask = matching.next_ask(permits(service))) send_ask(service, *ask);
    finish(matching);
    arm(service);
    forget(service);
  }

  void send_ask(const std::string& service, const LeaseMatching::Ask& ask) {
    const Request& waiting = requests_.at(ask.request);
    const RequestLeases& asked = waiting.asked;
    const LaneHolder cell = cells_.at(ask.cell);
    asked_[service] += ask.count;
    request(cell, caf::infinite,
            GrantLeases{service, asked.worker, asked.customer, ask.count,
                        sizes_.leased_bytes_max - waiting.bytes})
        .then([this, service, ask,
               cell](const GrantAnswered& answer) { answered(service, ask, cell, answer); },
              [this, service, ask, cell](const caf::error&) { lost(service, ask, cell); });
  }

  /// The dispatcher died, perhaps after it had granted leases. At a service with limits, their
  /// permits and the request wait until the successor has reported the leases that it found and has
  /// answered, or until the cell is gone.
  void lost(const std::string& service, const LeaseMatching::Ask& ask, const LaneHolder& cell) {
    matchings_[service].lost(ask);
    const auto over = [this, service, ask] {
      take_permits(service, ask.count, {});
      note_unanswered(service, ask.cell, false);
      matchings_[service].go_on(ask.request);
      match(service);
      forget_cell(ask.cell);
    };
    if (!limited_.contains(service)) return over();
    note_unanswered(service, ask.cell, true);
    request(cell, caf::infinite, DescribeLane{service})
        .then([over](const LaneDescribed&) { over(); }, [over](const caf::error&) { over(); });
  }

  void answered(const std::string& service, const LeaseMatching::Ask& ask, const LaneHolder& cell,
                const GrantAnswered& answer) {
    auto& [asked, promise, got, bytes] = requests_.at(ask.request);
    traffic_[service].granted += answer.leases.size();
    take_permits(service, ask.count, answer.leases);
    for (const auto& lease : answer.leases) {
      note_out({lease, ask.cell, cell, asked.customer.has_value()});
      got.leases.push_back(lease);
      bytes += approximate_bytes(*lease.job);
    }
    if (bytes >= sizes_.leased_bytes_max) matchings_[service].fill(ask.request);
    matchings_[service].answered(ask, answer.leases.size(), answer.lane, answer.available);
    match(service);
    forget_cell(ask.cell);
  }

  void offered(const SlotOffered& message) {
    cells_[message.key] = message.cell;
    auto& matching = matchings_[message.service];
    if (const auto ask =
            matching.offered(message.key, message.customer, permits(message.service))) {
      send_ask(message.service, *ask);
    } else {
      send(message.cell, DeclineSlot{message.service});
    }
    match(message.service);
  }

  void finish(LeaseMatching& matching) {
    for (const auto number : matching.take_finished()) {
      auto request = std::move(requests_.extract(number).mapped());
      request.promise.deliver(std::move(request.got));
    }
  }

  /// Forgets what is known of a service that has no requests, no work and no leases.
  void forget(const std::string& service) {
    const auto found = matchings_.find(service);
    if (found == matchings_.end() || found->second.waiting() + found->second.cells() > 0) return;
    matchings_.erase(found);
  }

  void forget_cell(const CellKey& key) {
    const bool needed = std::any_of(matchings_.begin(), matchings_.end(),
                                    [&](const auto& each) { return each.second.remembers(key); });
    if (!needed) cells_.erase(key);
  }

  // --- Limits ----------------------------------------------------------------------------------

  void change_limits(const ChangeLimits& message) {
    std::erase_if(limited_,
                  [&](const auto& each) { return !message.services.contains(each.first); });
    for (const auto& [service, limits] : message.services) {
      const auto [found, added] = limited_.try_emplace(
          service, Limited{ServiceGuard{{limits, std::nullopt}, sizes_.permits_max}});
      if (added) {
        count_out(service, found->second.guard);
      } else {
        found->second.guard.change({limits, std::nullopt});
      }
    }
    std::vector<std::string> services;
    services.reserve(matchings_.size());
    for (const auto& [service, matching] : matchings_) services.push_back(service);
    for (const auto& service : services) match(service);
  }

  void count_out(const std::string& service, ServiceGuard& guard) const {
    for (const auto& [lease, out] : out_) {
      if (service_of(*out.lease.job) == service) guard.count(lease);
    }
  }

  std::size_t permits(const std::string& service) {
    const auto found = limited_.find(service);
    if (found == limited_.end()) return LeaseMatching::unlimited;
    const std::size_t available = found->second.guard.available(now());
    const auto asked = asked_.find(service);
    return available - std::min(available, asked == asked_.end() ? 0 : asked->second);
  }

  /// A cell has answered: of the leases that it was asked for, it granted these.
  void take_permits(const std::string& service, std::size_t asked,
                    const std::vector<LeaseOut>& granted) {
    const auto found_asked = asked_.find(service);
    if ((found_asked->second -= asked) == 0) asked_.erase(found_asked);
    const auto found = limited_.find(service);
    if (found == limited_.end()) return;
    for (const auto& lease : granted) found->second.guard.take(lease.job->lease, false, now());
  }

  void note_unanswered(const std::string& service, const CellKey& cell, bool is_unanswered) {
    const auto found = limited_.find(service);
    if (found == limited_.end()) return;
    auto& cells = found->second.unanswered;
    if (is_unanswered) {
      cells.insert(cell);
    } else if (const auto one = cells.find(cell); one != cells.end()) {
      cells.erase(one);
    }
  }

  /// A dispatcher has found the lease when it started. If the predecessor died before it could
  /// report the lease, the lease counts against the rate, too.
  void count_kept(Limited& limited, const LeaseKept& message, bool is_new) {
    const Lease lease = message.lease.job->lease;
    if (is_new && limited.unanswered.contains(message.key)) {
      limited.guard.take(lease, false, now());
    } else {
      limited.guard.count(lease);
    }
  }

  /// One timer per service, for the next moment at which its rate limit allows another lease.
  void arm(const std::string& service) {
    const auto found = limited_.find(service);
    if (found == limited_.end() || matchings_[service].waiting() == 0) return;
    const auto at = found->second.guard.next_change(now());
    auto& armed = found->second.armed;
    if (!at || (armed && *armed <= *at)) return;
    armed = at;
    delayed_send(this, *at - now(), Tick{*at});
  }

  void tick(SteadyTime at) {
    std::vector<std::string> due;
    for (auto& [service, limited] : limited_) {
      if (limited.armed != at) continue;
      limited.armed.reset();
      due.push_back(service);
    }
    for (const auto& service : due) match(service);
  }

  // --- Leases that are out -----------------------------------------------------------------------

  void note_out(Out out) {
    const Lease lease = out.lease.job->lease;
    if (!out_.contains(lease)) traffic_[service_of(*out.lease.job)].out += 1;
    by_worker_.emplace(worker_of(*out.lease.job), lease);
    out_[lease] = std::move(out);
  }

  void keep(const LeaseKept& message) {
    const auto known = out_.find(message.lease.job->lease);
    const bool is_new = known == out_.end();
    const bool bound = !is_new && known->second.bound;
    const auto& service = service_of(*message.lease.job);
    if (is_new) matchings_[service].note_lease(message.key);
    if (const auto found = limited_.find(service); found != limited_.end()) {
      count_kept(found->second, message, is_new);
    }
    note_out({message.lease, message.key, message.cell, bound});
  }

  void over(const LeaseOver& message) {
    const auto found = out_.find(message.lease);
    if (found == out_.end()) return;
    const JobPtr job = found->second.lease.job;
    const auto key = found->second.key;
    const bool bound = found->second.bound;
    by_worker_.erase({worker_of(*job), message.lease});
    out_.erase(found);
    auto& traffic = traffic_[service_of(*job)];
    traffic.out -= 1;
    if (const auto limited = limited_.find(service_of(*job)); limited != limited_.end()) {
      limited->second.guard.release(message.lease);
    }
    traffic.ended.count(now());
    matchings_[service_of(*job)].ended(key, message.ran);
    matchings_[service_of(*job)].served(job->spec->customer, message.ran, bound);
    match(service_of(*job));
    forget_cell(key);
  }

  SteadyTime now() {
    const auto steady = clock().now().time_since_epoch();
    return SteadyTime{std::chrono::duration_cast<microseconds>(steady)};
  }

  caf::result<LeasesDescribed> describe(const std::optional<std::string>& only) {
    struct Described {
      LeasesDescribed answer;
      std::size_t missing = 1;
    };
    auto promise = make_response_promise<LeasesDescribed>();
    auto described = std::make_shared<Described>();
    described->answer = describe_traffic();
    const auto owed = describing_.add(promise);
    const auto counted = [this, described, owed] {
      if (--described->missing == 0) describing_.deliver(owed, std::move(described->answer));
    };
    for (const auto& [service, matching] : matchings_) {
      if (only && *only != service) continue;
      for (const auto& key : matching.with_work()) {
        described->missing += 1;
        request(cells_.at(key), caf::infinite, DescribeLane{service})
            .then(
                [described, counted, service = service](const LaneDescribed& lane) {
                  described->answer.services[service].waiting += lane.waiting;
                  counted();
                },
                [counted](const caf::error&) { counted(); });
      }
    }
    counted();
    return promise;
  }

  /// Everything but the number of waiting jobs.
  LeasesDescribed describe_traffic() {
    LeasesDescribed described;
    for (auto& [service, traffic] : traffic_) {
      auto& status = described.services[service];
      status.in_flight = traffic.out;
      status.ended_per_s = traffic.ended.per_second(now());
      status.leases = LeaseTraffic{0, traffic.granted};
    }
    for (const auto& [service, matching] : matchings_) {
      auto& leases = described.services[service].leases;
      if (!leases) leases.emplace();
      leases->requests_waiting = matching.waiting();
    }
    return described;
  }

  void give_back(const std::vector<Lease>& leases) {
    for (const Lease& lease : leases) {
      const auto found = out_.find(lease);
      if (found != out_.end()) send(found->second.cell, ReturnLeases{{lease}});
    }
  }

  caf::result<LeaseExtended> extend(const ExtendLease& message) {
    const auto found = out_.find(message.lease);
    if (found == out_.end()) return LeaseExtended{};
    auto promise = make_response_promise<LeaseExtended>();
    const auto number = extending_.add(promise);
    request(found->second.cell, caf::infinite, message)
        .then(
            [this, number, lease = message.lease](const LeaseExtended& held) {
              const auto out = out_.find(lease);
              if (held.lease && out != out_.end()) out->second.lease = *held.lease;
              extending_.deliver(number, held);
            },
            [this, number](caf::error& error) { extending_.deliver(number, std::move(error)); });
    return promise;
  }

  LeasesListed list(const ListLeases& message) const {
    LeasesListed listed;
    std::size_t bytes = 0;
    const auto consider = [&](const Lease& lease) {
      const LeaseOut& out = out_.at(lease).lease;
      const auto& service = service_of(*out.job);
      if (message.service && *message.service != service) return true;
      if (message.services && !message.services->contains(service)) return true;
      if (message.customer && *message.customer != out.job->spec->customer) return true;
      if (listed.leases.size() == message.limit || bytes >= sizes_.listed_bytes_max) {
        listed.more = true;
        return false;
      }
      listed.leases.push_back(out);
      bytes += approximate_bytes(*out.job);
      return true;
    };
    if (message.worker) {
      auto it = by_worker_.upper_bound({*message.worker, message.after});
      while (it != by_worker_.end() && it->first == *message.worker && consider(it->second)) ++it;
    } else {
      auto it = out_.upper_bound(message.after);
      while (it != out_.end() && consider(it->first)) ++it;
    }
    return listed;
  }

  const DeskSizes sizes_;
  std::map<std::string, LeaseMatching> matchings_;  ///< By service.
  std::map<std::uint64_t, Request> requests_;
  std::map<CellKey, LaneHolder> cells_;     ///< Those that a matching remembers.
  std::map<std::string, Traffic> traffic_;  ///< By service, of all that have leased a job.
  std::map<std::string, Limited> limited_;
  /// By service: leases asked for and not answered, which no guard knows.
  std::map<std::string, std::size_t> asked_;
  std::map<Lease, Out> out_;
  OpenPromises extending_;
  OpenPromises describing_;
  std::set<std::pair<std::string, Lease>> by_worker_;
};

}  // namespace

LeaseDesk spawn_lease_desk(caf::actor_system& system, const DeskSizes& sizes) {
  return system.spawn<LeaseDeskActor>(sizes);
}

}  // namespace cells
