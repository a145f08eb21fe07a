// The state and the methods of the cell dispatcher, for its source files: cell_dispatcher.cpp has
// the start, the life of cells and the shutdown, cell_dispatcher_jobs.cpp the requests for one job,
// cell_dispatcher_cells.cpp those of administrators, cell_dispatcher_reload.cpp the switch to
// another configuration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cells/actors/cell.hpp"
#include "cells/actors/cell_dispatcher.hpp"
#include "cells/actors/owed_answers.hpp"
#include "cells/model/guarantees.hpp"
#include "cells/model/reload.hpp"

namespace cells {

/// Owns the cells by their keys; knows nothing of the jobs in them.
class CellDispatcherActor : public CellDispatcher::base {
 public:
  CellDispatcherActor(caf::actor_config& config, EngineOptions options);
  behavior_type make_behavior() override;
  void on_exit() override;

 private:
  struct Entry {
    Cell cell;
    CellSettings settings;
    std::optional<CellKey> template_of;          ///< The template that it is an instance of.
    bool closing = false;                        ///< Its AskIdle is unanswered.
    std::vector<std::function<void()>> waiting;  ///< Requests, until it is answered.
  };

  /// The cell for a job, or why there is none.
  struct Target {
    Entry* entry = nullptr;
    std::optional<Refusal> refusal;
  };

  // Starting.
  template <class Reply, class Ask, class Then>
  void ask_first(Ask ask, Then then);
  void begin();
  void limit_leases();
  ListBacklogs all_backlogs() const;
  std::optional<ListBacklogs> backlogs_after(const BacklogsListed& page) const;
  void find_misplaced(const ListBacklogs& ask);
  void count_unmatched(const BacklogsListed& listed);
  void report_unmatched();
  void load_cells();
  void start_instance(const CellKey& key);
  void start_service(const std::string& name, const ServiceEntry& entry, Services& services);
  Entry& start_cell(const CellKey& key);
  /// Starts the cell if necessary.
  Entry& running_cell(const CellKey& key);
  static CellKey template_key(const CellRule& rule) { return {rule.customer, rule.product}; }
  const CellRule* rule_of_cell(const CellKey& key) const;
  CellSettings settings_of(const CellRule& rule) const;
  void note_rule(const CellKey& key, Entry& entry);
  CellConfig config_of(const CellKey& key, const Entry& entry) const;
  CellOverride override_of(const CellKey& key) const;

  // Guarantees.
  Guarantees::Demand demand_of(const CellKey& key, const Entry& entry,
                               const CellOverride& change) const;
  void limit_capacity(std::optional<std::uint64_t> running_max);
  void divide_guarantees();

  // Idle cells.
  bool closes_when_idle(const CellKey& key, const Entry& entry) const;
  void close_if_idle(const CellKey& key);
  void close_answered(const CellKey& key, bool idle);
  void forget_state(const CellKey& key);

  // Stopping.
  caf::result<ShutdownCompleted> shut_down(milliseconds grace);
  void cell_stopped();
  void hand_back();
  void count_unconfirmed(const CellKey& key, const Cell& cell);
  void cell_handed_back(std::size_t count);

  // Jobs.
  caf::result<JobSubmitted> submit(SubmitJob& message);
  void refuse_unless_held(const FindKeyHolder& question, JobSubmitted refused,
                          const std::shared_ptr<BatchGate>& gate, std::uint64_t owed);
  caf::result<CancelAnswered> cancel(CancelJob& message);
  caf::result<CancelAnswered> cancel_between_cells(const JobPtr& job);
  caf::result<ReopenAnswered> reopen_job(ReopenJob& message);
  Target enter_cell(const std::string& customer, const std::string& product);

  template <class Answer, class Message>
  caf::result<Answer> to_holder(Message message);

  // Requests to cells.
  template <class Answer, class Message>
  caf::result<Answer> pass_on(Entry& entry, Message message);
  template <class Message, class Then>
  void put(Entry& entry, Message message, std::uint64_t owed, Then then);

  // Cells.
  struct Gathering;
  std::optional<CellStatus> describe_template(const CellKey& key) const;
  caf::result<CellDescribed> describe(const CellKey& key);
  caf::result<CellsListed> list(const ListCells& message);
  void gather(const CellKey& key, const std::shared_ptr<Gathering>& gathering);
  void gathered(const std::shared_ptr<Gathering>& gathering);
  caf::result<ServicesListed> list_services(const std::optional<std::string>& only,
                                            const DescribeService& describe);
  void note_loans(const std::shared_ptr<Gathering>& gathering);
  void deliver(Gathering& gathering);
  caf::result<CellDescribed> resize(const ResizePool& message);
  std::optional<PoolRefusal> refusal_of(const ResizePool& message, const CellSettings& settings,
                                        const CellOverride& change) const;
  caf::result<CellDescribed> resize_template(const ResizePool& message, const CellOverride& change);
  caf::result<CellDescribed> change_template(const CellKey& key, const CellOverride& change);
  caf::result<CellDescribed> change_state(const ChangeCellState& message);
  caf::result<CellDescribed> change_quota(const ChangeQuota& message);
  void remember_override(const CellKey& key, const CellOverride& change);

  // Another configuration.
  struct Reload;
  caf::result<Reconfigured> reconfigure(Reconfigure& order);
  void do_what_is_due();
  template <class Event, class... Arguments>
  void advance(Event event, Arguments... arguments);
  template <class MessageFor>
  void ask_every_cell(MessageFor message_for);
  void await_insertions();
  void count_needs();
  void find_conflicts();
  void note_conflicts(const BacklogsListed& listed, Durability kept);
  void fail_counting(caf::error& error);
  void refuse_reload();
  void change_services();
  void change_terms();
  void move_jobs();
  void complete_reload();
  void fail_reload();
  void cell_restarted();
  std::vector<MaskedSetting> masked() const;
  std::map<std::string, ActionSet> undos_removed_by(const Reconfigure& order) const;
  bool takes_services_of(const JobSpec& spec) const;
  bool is_losing_services_of(const JobSpec& spec) const;
  bool is_changing_durability_of(const JobSpec& spec) const;
  bool is_undecided(const JobSpec& spec) const;
  template <class Answer, class Message>
  caf::result<Answer> ask_when_decided(Message message);
  void decided();
  void reroute(std::function<void()> then);
  void reroute_page(const ListBacklogs& ask);
  std::optional<CellKey> target_of(const StoredBacklog& backlog) const;
  void move_backlog(const StoredBacklog& backlog);
  void backlog_done();
  void take_over(const std::string& customer, const std::string& product,
                 const std::function<void()>& then);

  const Routing& routing() const { return *options_.routing; }

  EngineOptions options_;
  ContextPtr context_;
  std::map<CellKey, Entry> cells_;
  std::map<CellKey, CellOverride> overrides_;
  Guarantees guarantees_;
  std::map<CellKey, std::uint32_t> instances_;  ///< The number of each template's instances.
  std::shared_ptr<const Services> services_ = std::make_shared<const Services>();
  /// The former clients of services that are now pull services.
  std::vector<ServiceClient> retired_;
  std::shared_ptr<Reload> reload_;  ///< Null unless a reload is in progress.
  /// Requests that wait until the reload in progress is either refused or certain to remove
  /// services.
  std::vector<std::function<void()>> undecided_;
  OpenPromises owed_;
  bool kept_in_memory_ = false;       ///< Some cell has, or had, Durability::memory.
  std::uint64_t unmatched_jobs_ = 0;  ///< In the present pass over the backlogs.
  StoredBacklog unmatched_;           ///< One of theirs.
  bool rerouted_ = false;             ///< Jobs may be outside the cells that the routing names.
  std::size_t rerouting_ = 0;         ///< Backlogs of the current page still to be moved.
  std::optional<ListBacklogs> next_backlogs_;  ///< The next page, if there is one.
  /// To be called after the pass over all backlogs that is in progress.
  std::vector<std::function<void()>> after_rerouting_;
  /// To be called after the pass that follows it.
  std::vector<std::function<void()>> after_next_rerouting_;
  bool shutting_down_ = false;
  std::size_t stopping_cells_ = 0;
  bool handing_back_ = false;
  std::size_t handing_back_cells_ = 0;
  ShutdownCompleted shutdown_so_far_;
  OwedAnswers<ShutdownCompleted> shutdown_answers_;
};

/// Lets the cell answer. If the cell may be about to close, the request waits until that is
/// decided.
template <class Answer, class Message>
caf::result<Answer> CellDispatcherActor::pass_on(Entry& entry, Message message) {
  if (!entry.closing) return delegate(entry.cell, std::move(message));
  auto promise = make_response_promise<Answer>();
  const auto owed = owed_.add(promise);
  put(entry, std::move(message), owed,
      [this, owed](Answer& answer) { owed_.deliver(owed, std::move(answer)); });
  return promise;
}

/// Asks the cell. If the cell may be about to close, the message comes back to this actor once that
/// is decided.
template <class Message, class Then>
void CellDispatcherActor::put(Entry& entry, Message message, std::uint64_t owed, Then then) {
  const auto fail = [this, owed](caf::error& error) { owed_.deliver(owed, std::move(error)); };
  if (!entry.closing) {
    request(entry.cell, caf::infinite, std::move(message)).then(std::move(then), fail);
    return;
  }
  entry.waiting.emplace_back([this, message = std::move(message), then = std::move(then), fail] {
    request(caf::actor_cast<CellDispatcher>(this), caf::infinite, message).then(then, fail);
  });
}

/// Lets the cell of the lease answer.
template <class Answer, class Message>
caf::result<Answer> CellDispatcherActor::to_holder(Message message) {
  if (!message.job) return delegate(context_->desk, std::move(message));
  const auto found = cells_.find(message.job->cell);
  if (found == cells_.end()) return Answer{};
  return pass_on<Answer>(found->second, std::move(message));
}

/// Sends the message to this actor again once it is decided whether the reload removes services.
template <class Answer, class Message>
caf::result<Answer> CellDispatcherActor::ask_when_decided(Message message) {
  auto promise = make_response_promise<Answer>();
  undecided_.emplace_back([this, owed = owed_.add(promise), message = std::move(message)] {
    request(caf::actor_cast<CellDispatcher>(this), caf::infinite, message)
        .then([this, owed](Answer& answer) { owed_.deliver(owed, std::move(answer)); },
              [this, owed](caf::error& error) { owed_.deliver(owed, std::move(error)); });
  });
  return promise;
}

}  // namespace cells
