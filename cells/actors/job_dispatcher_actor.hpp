// The state and the methods of a job dispatcher, for its source files: job_dispatcher.cpp has
// workers, leases and dispatching, job_dispatcher_requests.cpp the requests of clients,
// job_dispatcher_time.cpp deadlines and due times, job_dispatcher_moves.cpp moves between cells,
// job_dispatcher_lanes.cpp lanes and permits, job_dispatcher_leases.cpp the leases of workers
// outside.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "cells/actors/engine_context.hpp"
#include "cells/actors/job_dispatcher.hpp"
#include "cells/actors/owed_answers.hpp"
#include "cells/actors/worker_roster.hpp"
#include "cells/model/admission.hpp"
#include "cells/model/busy_clock.hpp"
#include "cells/model/dispatch_queue.hpp"
#include "cells/model/job_machine.hpp"
#include "cells/model/lease_table.hpp"
#include "cells/model/rate_meter.hpp"
#include "cells/model/running_quota.hpp"
#include "cells/model/slot_account.hpp"
#include "cells/model/slot_shares.hpp"
#include "cells/model/submission_rates.hpp"

namespace cells {

/// A generator of only eight bytes, because each cell has one: Knuth's for MMIX (The Art of
/// Computer Programming, volume 2, section 3.3.4).
using SmallRandom =
    std::linear_congruential_engine<std::uint64_t, 6364136223846793005, 1442695040888963407, 0>;

/// Owns the leases of its cell and a window of its queue. Knows which workers are ready, which are
/// running, and how many jobs may run, but not how many workers there should be.
class JobDispatcherActor : public JobDispatcher::base {
 public:
  JobDispatcherActor(caf::actor_config& config, ContextPtr context, CellKey key,
                     DispatcherSetup setup);
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  /// A move of jobs in progress.
  template <class Answer>
  struct Move {
    OwedAnswers<Answer> answers;
    bool again = false;  ///< Requested again since it began, so there may be more jobs.
  };

  void load_cell();
  void cell_loaded(CellLoaded& loaded);

  // Requests.
  caf::result<JobSubmitted> submit(JobRequest& request_in);
  bool others_await_places(WallTime by) const;
  void not_inserted(const Job& job);
  IdleAnswered answer_idle();
  std::optional<Refusal> refuse(const JobRequest& request_in, const Now& at);
  std::optional<Refusal> refuse_more(const JobSpec& spec, const Now& at);
  std::optional<Refusal> refuse_rate(const JobRequest& request_in, const Now& at);
  JobSubmitted refused(JobRequest& request_in, Refusal refusal);
  CustomerRoom room() const;
  /// What remains of a request while its job is being stored.
  struct Submitted {
    SteadyTime at;
    bool has_key = false;
    std::shared_ptr<BatchGate> gate;
  };
  void inserted(const JobPtr& job, const JobInserted& stored, const Submitted& request_in);
  Refusal refuse_full(const JobSpec& spec, const JobInserted& stored);
  Refusal refuse_customer(const JobSpec& spec, const CustomerFull& full);
  void added(const JobPtr& job, bool runnable);
  caf::result<CancelAnswered> cancel(JobId id);
  void begin_cancel(JobId id);
  void begin_cancel_running(Lease lease);
  void begin_cancel_waiting(JobId id);
  void waiting_cancelled(JobId id, const WaitingCancelled& result);
  void answer_cancel(JobId id, const CancelAnswered& answer);
  void fail_cancel(JobId id);
  caf::result<ReopenAnswered> reopen_job(const JobPtr& job);
  void reopened(JobId place, const JobSpec& spec, const EndedReopened& result);

  // Workers.
  void worker_ready(const JobWorker& worker);
  void withdraw(const JobWorker& worker);
  void worker_down(caf::actor_id id);
  void work_started(const JobWorkStarted& begun);
  void end_orphan(Lease lease);
  void orphan_ended(Lease lease);

  // Dispatching.
  void dispatch(const Now& at);
  bool starts_jobs() const;
  bool may_start() const { return starts_jobs() && state_ != CellState::paused; }
  bool has_free_slot() const { return leases_.size() + reserved_ < slots_.limit(); }
  void start_inside(const Now& at);
  bool can_start(const JobPtr& job, DispatchQueue& queue, const Now& at);
  bool lacks_service(const Job& job) const;
  static bool must_know_of_call(const Job& job, const Service& service);
  Lease hand_out(const JobPtr& job, Permit permit, const Now& at);
  JobPtr lease_out(const JobPtr& job, Lease lease, LiveLease entry, const std::string& worker,
                   const Now& at);
  void completed(Lease lease, CallOutcome& outcome, std::optional<StepReport> report = {});
  void charge(const LiveLease& live, ProviderSign sign, const Now& at);
  RetryInputs retry_inputs(const LiveLease& live);
  void record(const JobPtr& before, const JobPtr& after);
  void store_failed();
  void recorded(const JobPtr& after, const JobRecorded& result);
  void offer(const JobPtr& job);
  void recording_done(JobId id);
  bool in_hand(JobId id) const { return leases_.has_job(id) || recording_.contains(id); }
  void fetch();
  void fetch_for(const std::string& lane, DispatchQueue& queue);
  void fetched(const std::string& lane, RunnableFetched& answer);

  // Quotas.
  void adopt_settings();
  DispatchTerms terms() const;
  template <class Change>
  void each_queue(const Change& change);
  void begin_running(const std::string& customer);
  void end_running(const std::string& customer);

  // Lanes.
  enum class LaneKind : std::uint8_t {
    none,     ///< The service has no lane of its own.
    leases,   ///< Workers outside lease its jobs.
    permits,  ///< Its jobs need a permit.
  };
  struct Lane {
    Lane(const EngineContext& context, LaneKind of)
        : queue(context.options.window, {}, context.window_budget), kind(of) {}

    DispatchQueue queue;
    LaneKind kind;
    bool reported = false;  ///< The desk believes that the lane has work.
    /// Customers whose jobs the desk still wants although it got none, for lack of a slot or a job;
    /// "": any customer.
    std::set<std::string> wanted;
    std::uint32_t reserved = 0;  ///< Slots that were offered to the desk.
    std::uint64_t served = 0;    ///< Orders the lanes by when a slot went to them last.
    /// Since the circuit opened: others go first, because the provider may fail for these alone.
    std::set<JobId> failed_probes;
  };
  using Lanes = std::map<std::string, Lane>;
  LaneKind kind_of(const std::string& service) const;
  std::string lane_of(const Job& job) const;
  DispatchQueue& queue_of(const std::string& lane);
  Lane& lane(const std::string& name);
  void seek_wanted();
  void remove_from_queue(const Job& job);
  void change_lane(const JobPtr& job);
  void refresh_lanes();
  template <class Message>
  void tell_desk(LaneKind kind, Message message);
  void leave_desk(const std::string& name, Lane& lane);
  void change_desks();
  void empty_foreign_lanes();
  static JobPtr take_for_permit(Lane& lane, bool is_probe);
  void report_lanes();
  std::int64_t start_us(const std::string& customer, std::size_t ahead) const;
  static std::size_t slots_ahead(const Lane& lane);
  static bool has_wanted_job(const Lane& lane);
  std::optional<std::string> candidate(Lane& lane) const;
  Lanes::value_type* first_wanting_lane();
  bool goes_before_inside(Lanes::value_type& lane);
  void offer_slot(Lanes::value_type& lane);
  void free_reserved(Lane& lane);
  void decline_slot(const std::string& service);
  void linger(const Now& at);
  void end_lingering(const Now& at);
  LaneState lane_state(Lane& lane, const std::optional<std::string>& customer);
  bool can_take(const Lane& lane) const;
  std::size_t available(const Lane& lane) const;
  PermitsTaken take_permits(const GrantPermits& message);
  ServiceClient permits_of(const LiveLease& live) const;
  LaneDescribed describe_lane(const std::string& service) const;

  // Slots.
  void join_capacity();
  void adjust_slots();
  std::size_t could_start() const;

  // Workers outside.
  caf::result<GrantAnswered> grant(const GrantLeases& message);
  void grant_now(const GrantLeases& message, std::uint64_t owed);
  bool is_fetching_for(const GrantLeases& message, Lane& lane);
  bool may_bring_job_for(const GrantLeases& message, Lane& lane);
  void grant_sought(const std::string& lane);
  JobPtr take_for(Lane& lane, const GrantLeases& message, const Now& at);
  void granted(const std::vector<Lease>& leases, const GrantLeases& message, std::uint64_t owed);
  void return_leases(const std::vector<Lease>& returned);
  LeaseExtended extend(const ExtendLease& message);
  void keep_progress(Lease lease);
  caf::result<LeaseEnded> end_lease(EndLease& message);
  void abort_outside(Lease lease, AbortCause cause);
  void end_outside(Lease lease, AbortCause cause);
  void keep_lease(const JobPtr& job, const Now& at);
  LeaseOut out(const LiveLease& live, const Now& at) const;

  // Time.
  void arm(const Now& at);
  std::optional<SteadyTime> next_wake(const Now& at) const;
  void tick(SteadyTime at_armed);
  void abort(Lease lease, AbortCause cause);
  void go_ahead(const Now& at);
  void report_idle(const Now& at);
  void note_due(const Job& job);
  void note_ended(const Job& job, const Now& at);
  void advance(const Now& at);
  void advanced(const DueAdvanced& answer);
  void expire(const JobPtr& job, const Now& at);
  bool falls_with_predecessor(const Job& job) const;
  void cancel_follower(const JobPtr& job, const Now& at);
  void end_waiting(const JobPtr& job, Job ended);

  // Moves between cells.
  void change_terms(ConfigureCell& message);
  void release_holds();
  void release_holds_after(JobId id);
  bool is_ours(const JobSpec& spec) const;
  bool is_leaving(const JobSpec& spec) const;
  bool may_have_left_some(const JobsMoved& result) const;
  caf::result<JobsReleased> release(const ReleaseJobs& message);
  void release_some(const StoredBacklog& backlog);
  void released_some(const StoredBacklog& backlog, const JobsMoved& result);
  void hand_over(const Job& job);
  void report_left(const Job& job);
  caf::result<TakenOver> take_over(const StoredBacklog& from);
  void take_over_some(const StoredBacklog& from);
  void took_over_some(const StoredBacklog& from, const JobsMoved& result);

  // Stopping and reporting.
  caf::result<HandedBack> hand_back();
  void answer_handed_back();
  bool is_idle() const;
  QueueDescribed describe();

  Now now() { return read_clocks(*this, *context_); }
  const JobStore& store() const { return context_->options.store; }
  Durability durability() const { return config_.settings.durability; }
  const Service* find_service(const Job& job) const;
  void count(const Job* before, const Job* after);

  ContextPtr context_;
  CellKey key_;
  CellConfig config_;
  SlotAccount slots_;
  std::uint32_t borrowed_ = 0;   ///< As last reported to the cell.
  std::uint32_t lingering_ = 0;  ///< Idle slots that were borrowed for workers outside.
  std::optional<SteadyTime> lingers_until_;
  CellState state_;
  Cell cell_;

  DispatchQueue queue_;         ///< The lane of jobs that need neither lease nor permit.
  Lanes lanes_;                 ///< The others that have work.
  SlotShares shares_;           ///< Kept while there are such lanes.
  std::uint32_t reserved_ = 0;  ///< In all lanes.
  std::uint64_t served_ = 0;    ///< Slots given away while there were such lanes.
  std::uint64_t inside_served_ = 0;
  LeaseTable leases_;
  /// Leases outside whose progress is being stored; true: it has changed since.
  std::map<Lease, bool> storing_progress_;
  struct Ending {
    StepReport report;
    OwedAnswers<LeaseEnded> answers;
  };
  /// Owed to the desk: answers about leases that are being stored, and those of `sought_`.
  OpenPromises granting_;
  /// Grants for customers whose jobs are being fetched, with the numbers of their promises.
  std::vector<std::pair<GrantLeases, std::uint64_t>> sought_;
  std::map<JobId, Ending> ending_;  ///< Jobs whose workers outside have reported; being stored.
  std::set<JobId> recording_;       ///< Jobs without a lease whose latest change is not yet stored.
  std::set<Lease> orphans_;  ///< Leases without a worker whose abort failed and is to be retried.
  WorkerRoster workers_;

  JobCounts counts_;  ///< Includes changes not yet stored; `running` is the number of leases.
  std::map<JobId, caf::typed_response_promise<JobSubmitted>> submitting_;
  std::map<JobId, OwedAnswers<CancelAnswered>> cancelling_;
  std::map<JobId, caf::typed_response_promise<ReopenAnswered>> reopening_;  ///< By the new place.
  std::map<StoredBacklog, Move<JobsReleased>> releasing_;
  std::map<StoredBacklog, Move<TakenOver>> taking_over_;
  RateMeter submitted_rate_;
  RateMeter finished_rate_;
  BusyClock busy_clock_;  ///< For `end_rate_` and `customer_end_rates_`.
  EndRateMeter end_rate_;
  TurnedAway turned_away_;
  CustomerEndRates customer_end_rates_;  ///< Used only with a quota of customers.
  SubmissionRates rates_;
  RunningQuota running_;

  std::optional<SteadyTime> armed_;
  std::optional<WallTime> next_due_;  ///< The earliest due time in the store.
  bool advancing_ = false;
  std::optional<SteadyTime> idle_since_;  ///< As noticed by a tick.
  bool idle_reported_ = false;
  bool may_hold_ = false;  ///< Some job may be held that no release has reached.
  bool stopping_ = false;
  OwedAnswers<HandedBack> handed_back_;
  std::size_t handed_back_count_ = 0;
  SmallRandom random_;
};

}  // namespace cells
