#include "src/http/api/lease_gateway.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "src/http/api/lease_json.hpp"
#include "src/http/api/problem.hpp"
#include "src/json/json.hpp"

namespace celld::api {
namespace {

using cells::JobPtr;
using http::Responder;
using http::Response;

/// How soon a disconnected worker is forgotten.
constexpr std::chrono::seconds check_interval{1};
constexpr std::chrono::milliseconds held_max{1000};

Response json_response(std::string body) {
  Response response;
  response.body = std::move(body);
  return response;
}

Problem lease_lost() {
  return {.kind = ProblemKind::lease_lost,
          .detail =
              "The lease is not live: it has expired, has ended, or never existed. The request "
              "changed nothing."};
}

Problem no_such_lease() {
  return not_found("There is no such lease.");
}

/// The result of a report with faults. For a report without any, the caller replaces the status.
json::Value faulty_report(const Report& report) {
  json::Value result{{"lease", report.lease}, {"status", 422}};
  for (const auto& fault : report.faults)
    result["errors"].push_back({{"pointer", fault.pointer}, {"detail", fault.detail}});
  return result;
}

/// The status of each kind of answer to a report.
enum class Verdict : std::uint8_t { accepted, lost, hidden, failed };

int status_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::accepted:
      return 200;
    case Verdict::lost:
      return 409;
    case Verdict::hidden:
      return 404;
    case Verdict::failed:
      break;
  }
  return 503;
}

/// Whether the job is running under this lease and a worker outside holds the lease.
bool holds(const cells::Job& job, const cells::Lease& lease) {
  return job.state == cells::JobState::running && job.lease == lease &&
         !job.steps[job.step].worker.empty();
}

/// The service whose step ended by this report; null if none did.
const std::string* ended_by(const cells::Job& job, const cells::StepReport& report) {
  for (std::size_t step = 0; step < job.steps.size(); ++step) {
    if (job.steps[step].report == report) return &job.spec->services[step];
  }
  return nullptr;
}

class LeaseGatewayActor : public LeaseGateway::base {
 public:
  LeaseGatewayActor(caf::actor_config& config, LeaseGatewaySetup setup)
      : LeaseGateway::base(config), setup_(std::move(setup)) {}

  behavior_type make_behavior() override {
    return {
        [this](const PostLeases& order) { post_leases(order); },
        [this](const PostHeartbeat& order) { post_heartbeat(order); },
        [this](const PostEnd& order) { post_end(order); },
        [this](const PostReports& order) { post_reports(order); },
        [this](const GetLeases& order) { get_leases(order); },
        [this](const EndWaits&) { end_waits(); },
        [this](const StopLeasing&) {
          stopping_ = true;
          end_waits();
        },
        [this](const CheckRequests& check) {
          if (armed_ == check.at) check_requests();
        },
    };
  }

  void on_exit() override {
    waiting_.clear();
    deadlines_.clear();
    setup_.dispatcher = nullptr;
    setup_.reader = nullptr;
  }

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Waiting {
    Responder responder;
    Time deadline;
  };

  cells::Now now() {
    const auto steady = clock().now().time_since_epoch();
    return {cells::SteadyTime{std::chrono::duration_cast<cells::microseconds>(steady)},
            setup_.wall_clock()};
  }

  // --- Asking for leases -------------------------------------------------------------------------

  void post_leases(const PostLeases& order) {
    const auto number = ++last_request_;
    const bool waits = !stopping_ && order.order.wait.count() > 0;
    // One that does not wait may be held while cells answer others.
    const auto deadline = clock().now() + (waits ? order.order.wait : held_max);
    waiting_.emplace(number, Waiting{order.responder, deadline});
    deadlines_.emplace(deadline, number);
    arm();
    request(setup_.dispatcher, caf::infinite,
            cells::RequestLeases{number, order.service, order.order.worker, order.only_customer,
                                 order.order.max, waits})
        .then(
            [this, number, responder = order.responder](const cells::LeasesGranted& reply) {
              forget(number);
              answer_granted(reply.leases, responder);
            },
            [this, number, responder = order.responder](const caf::error&) {
              forget(number);
              responder.answer(to_response(store_unavailable()));
            });
  }

  /// If the worker has disconnected, returns its leases to the engine.
  void answer_granted(const std::vector<cells::LeaseOut>& leases, const Responder& responder) {
    if (!leases.empty() && !responder.open_both_ways()) {
      cells::ReturnLeases back;
      for (const auto& lease : leases) back.leases.push_back(lease.job->lease);
      send(setup_.dispatcher, std::move(back));
      return answer_granted({}, responder);
    }
    responder.answer(json_response(granted_json(leases, setup_.names, now())));
  }

  void forget(std::uint64_t number) {
    const auto found = waiting_.find(number);
    if (found == waiting_.end()) return;
    deadlines_.erase({found->second.deadline, number});
    waiting_.erase(found);
  }

  void check_requests() {
    armed_ = std::nullopt;
    const auto at = clock().now();
    while (!deadlines_.empty() && deadlines_.begin()->first <= at) {
      note_over(deadlines_.begin()->second);
    }
    if (look_at_ <= at) {
      look_at_ = at + check_interval;
      std::vector<std::uint64_t> gone;
      for (const auto& [number, request] : waiting_) {
        if (!request.responder.open_both_ways()) gone.push_back(number);
      }
      for (const auto number : gone) note_over(number);
    }
    withdraw();
    arm();
  }

  void end_waits() {
    while (!waiting_.empty()) note_over(waiting_.begin()->first);
    withdraw();
  }

  void note_over(std::uint64_t number) {
    forget(number);
    over_.requests.push_back(number);
  }

  /// The engine then answers these requests with the leases that they have.
  void withdraw() {
    if (over_.requests.empty()) return;
    send(setup_.dispatcher, std::exchange(over_, {}));
  }

  /// One timer for all requests: at the next deadline, or earlier to find disconnected workers.
  void arm() {
    if (deadlines_.empty()) return;
    const auto at_once = clock().now();
    if (look_at_ < at_once) look_at_ = at_once + check_interval;
    const auto at = std::min(look_at_, deadlines_.begin()->first);
    if (armed_ && *armed_ <= at) return;
    armed_ = at;
    delayed_send(this, std::max(at - at_once, Time::duration::zero()), CheckRequests{at});
  }

  // --- While a lease is out ---------------------------------------------------------------------

  /// Calls `then` with the lease that the request names and that its token may see, or `otherwise`
  /// with why there is none. Just after a start, only the store and the lease's cell may know it.
  template <class Then, class Otherwise>
  void find_lease(const std::string& name, const WorkAccess& access, const Then& then,
                  const Otherwise& otherwise) {
    const auto named = setup_.names.parse(name);
    if (!named) return otherwise(Verdict::lost);
    if (!access.is_bound()) return then(*named);
    const auto decide = [named = *named, access, then, otherwise](const cells::Job* held) {
      const bool hidden = held != nullptr && !access.may_hold(*held);
      hidden ? otherwise(Verdict::hidden) : then(named);
    };
    const auto failed = [otherwise] { otherwise(Verdict::failed); };
    request(setup_.dispatcher, caf::infinite, cells::FindLease{named->lease})
        .then(
            [this, named = *named, decide, failed](const cells::LeaseFound& found) {
              if (found.lease) return decide(found.lease->job.get());
              const auto decide_by_store = [named, decide](const JobPtr& job) {
                const bool is_held = job && holds(*job, named.lease);
                decide(is_held ? job.get() : nullptr);
              };
              find_job(named.job, decide_by_store, failed);
            },
            [failed](const caf::error&) { failed(); });
  }

  static void answer_problem(Verdict verdict, const Responder& responder) {
    if (verdict == Verdict::hidden) return responder.answer(to_response(no_such_lease()));
    if (verdict == Verdict::lost) return responder.answer(to_response(lease_lost()));
    responder.answer(to_response(store_unavailable()));
  }

  void post_heartbeat(const PostHeartbeat& order) {
    find_lease(
        order.lease, order.access,
        [this, order](const NamedLease& named) { hold(order, named, nullptr); },
        [responder = order.responder](Verdict verdict) { answer_problem(verdict, responder); });
  }

  void hold(const PostHeartbeat& order, const NamedLease& named, const JobPtr& job) {
    request(setup_.dispatcher, caf::infinite,
            cells::ExtendLease{named.lease, job, order.heartbeat.progress, order.heartbeat.message})
        .then(
            [this, order, named, asked_cell = job != nullptr](const cells::LeaseExtended& held) {
              if (held.lease) {
                order.responder.answer(json_response(held_json(*held.lease, held.cancel, now())));
              } else if (asked_cell) {
                order.responder.answer(to_response(lease_lost()));
              } else {
                hold_in_cell(order, named);
              }
            },
            [responder = order.responder](const caf::error&) {
              responder.answer(to_response(store_unavailable()));
            });
  }

  /// The engine does not know the lease; its cell may have just started. Names the job, so that the
  /// engine can ask the cell.
  void hold_in_cell(const PostHeartbeat& order, const NamedLease& named) {
    find_job(
        named.job,
        [this, order, named](const JobPtr& job) {
          if (!job || !holds(*job, named.lease)) {
            order.responder.answer(to_response(lease_lost()));
          } else {
            hold(order, named, job);
          }
        },
        [responder = order.responder] { responder.answer(to_response(store_unavailable())); });
  }

  // --- The end of a lease -----------------------------------------------------------------------

  using Answer = std::function<void(Verdict)>;

  void post_end(const PostEnd& order) {
    report(order.lease, order.access, order.outcome,
           [responder = order.responder](Verdict verdict) {
             if (verdict != Verdict::accepted) return answer_problem(verdict, responder);
             responder.answer(json_response("{}"));
           });
  }

  void report(const std::string& name, const WorkAccess& access, const cells::CallOutcome& outcome,
              const Answer& answer) {
    find_lease(
        name, access,
        [this, access, outcome, answer](const NamedLease& named) {
          end(named, access, outcome, nullptr, answer);
        },
        answer);
  }

  void end(const NamedLease& named, const WorkAccess& access, const cells::CallOutcome& outcome,
           const JobPtr& job, const Answer& answer) {
    request(setup_.dispatcher, caf::infinite, cells::EndLease{named.lease, job, outcome})
        .then(
            [this, named, access, outcome, answer,
             asked_cell = job != nullptr](const cells::LeaseEnded& ended) {
              if (ended.accepted) return answer(Verdict::accepted);
              look_up_end(named, access, outcome, asked_cell, answer);
            },
            [answer](const caf::error&) { answer(Verdict::failed); });
  }

  /// Accepts a repeated report again. If the store shows the lease as live, first asks its cell,
  /// unless it was asked already: the cell may have just started, or may be storing the first
  /// report.
  void look_up_end(const NamedLease& named, const WorkAccess& access,
                   const cells::CallOutcome& outcome, bool asked_cell, const Answer& answer) {
    find_job(
        named.job,
        [this, named, access, outcome, asked_cell, answer](const JobPtr& job) {
          if (!job || !may_see(access.only_customer, job->spec->customer)) {
            return answer(Verdict::lost);
          }
          if (!asked_cell && holds(*job, named.lease)) {
            return end(named, access, outcome, job, answer);
          }
          const bool succeeded = outcome.kind == cells::CallOutcome::Kind::succeeded;
          const auto* service = ended_by(*job, {named.lease, succeeded});
          answer(service && access.may_serve(*service) ? Verdict::accepted : Verdict::lost);
        },
        [answer] { answer(Verdict::failed); });
  }

  /// Answers once every report has been dealt with.
  void post_reports(const PostReports& order) {
    if (order.reports.empty()) {
      return order.responder.answer(json_response(json::dump({{"results", json::Value::array()}})));
    }
    struct Gathered {
      json::Value results = json::Value::array();
      std::size_t missing;
      bool failed = false;
    };
    auto gathered = std::make_shared<Gathered>();
    gathered->missing = order.reports.size();
    for (const auto& each : order.reports) gathered->results.push_back(faulty_report(each));
    const auto note = [gathered, responder = order.responder](std::size_t at, int status) {
      gathered->results[at]["status"] = status;
      gathered->failed = gathered->failed || status == 503;
      if (--gathered->missing > 0) return;
      if (gathered->failed) return responder.answer(to_response(store_unavailable()));
      responder.answer(json_response(json::dump({{"results", std::move(gathered->results)}})));
    };
    for (std::size_t at = 0; at < order.reports.size(); ++at) {
      const auto& each = order.reports[at];
      if (!each.outcome) {
        note(at, 422);
        continue;
      }
      report(each.lease, order.access, *each.outcome,
             [note, at](Verdict verdict) { note(at, status_of(verdict)); });
    }
  }

  // --- Reading -----------------------------------------------------------------------------------

  void get_leases(const GetLeases& order) {
    request(setup_.dispatcher, caf::infinite, order.list)
        .then(
            [this, responder = order.responder](const cells::LeasesListed& reply) {
              responder.answer(
                  json_response(lease_list_json(reply.leases, reply.more, setup_.names, now())));
            },
            [responder = order.responder](const caf::error&) {
              responder.answer(to_response(store_unavailable()));
            });
  }

  template <class Then, class Failed>
  void find_job(cells::JobId id, const Then& then, const Failed& failed) {
    request(setup_.reader, caf::infinite, cells::FindJob{id})
        .then([then](const cells::JobFound& found) { then(found.job); },
              [failed](const caf::error&) { failed(); });
  }

  LeaseGatewaySetup setup_;
  std::map<std::uint64_t, Waiting> waiting_;            ///< By the number of the request.
  std::set<std::pair<Time, std::uint64_t>> deadlines_;  ///< Of the same requests.
  cells::WithdrawRequests over_;                        ///< Still to be withdrawn.
  std::uint64_t last_request_ = 0;
  Time look_at_{};             ///< When to look for disconnected workers.
  std::optional<Time> armed_;  ///< When the next CheckRequests is due.
  bool stopping_ = false;
};

}  // namespace

bool WorkAccess::may_serve(const std::string& service) const {
  return !only_services || only_services->contains(service);
}

bool WorkAccess::may_hold(const cells::Job& job) const {
  return may_see(only_customer, job.spec->customer) && may_serve(job.spec->services[job.step]);
}

LeaseGateway spawn_lease_gateway(caf::actor_system& system, LeaseGatewaySetup setup) {
  return system.spawn<LeaseGatewayActor>(std::move(setup));
}

}  // namespace celld::api
