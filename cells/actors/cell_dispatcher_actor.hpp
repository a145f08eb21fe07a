// The cell dispatcher's state and its parts, for its own source files: cell_dispatcher.cpp has the
// start, the cells and the stop, cell_dispatcher_jobs.cpp what concerns one job,
// cell_dispatcher_cells.cpp what is asked and changed about cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cells/actors/cell.hpp"
#include "cells/actors/cell_dispatcher.hpp"
#include "cells/actors/owed_answers.hpp"

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
    bool closing = false;  ///< Asked whether it is idle; requests wait in `held`.
    std::vector<std::function<void()>> held;
  };

  /// A cell to go to, or why there is none.
  struct Target {
    Entry* entry = nullptr;
    std::optional<Refusal> refusal;
  };

  // Starting.
  template <class Reply, class Ask, class Then>
  void ask_first(Ask ask, Then then);
  void begin();
  void check_routes(const ListRoutes& ask);
  void move_next();
  void load_cells();
  void start_instance(const CellKey& key);
  Entry& start_cell(const CellKey& key, const CellRule& rule);
  static CellKey template_key(const CellRule& rule) { return {rule.customer, rule.product}; }
  CellQuota quota_of(const CellRule& rule) const;
  CellOverride override_of(const CellKey& key) const;

  // Instances that have nothing to do.
  void close_if_idle(const CellKey& key);
  void close_answered(const CellKey& key, bool idle);

  // Stopping.
  caf::result<Drained> drain(milliseconds grace);
  void cell_stopped();
  void hand_back();
  void cell_handed_back(std::size_t count);

  // Jobs.
  caf::result<JobSubmitted> submit(SubmitJob& message);
  void refuse_unless_held(const FindKeyHolder& question, Refusal refusal,
                          caf::typed_response_promise<JobSubmitted> promise);
  caf::result<CancelAnswered> cancel(CancelJob& message);
  caf::result<CancelAnswered> cancel_homeless(const JobPtr& job);
  void cancel_abandoned(const JobPtr& job, WallTime now,
                        caf::typed_response_promise<CancelAnswered> promise);
  caf::result<RetryAnswered> retry(RetryJob& message);
  Target enter_cell(const std::string& customer, const std::string& product);

  // Requests to cells.
  template <class Answer, class Message>
  caf::result<Answer> pass_on(Entry& entry, Message message);
  template <class Answer, class Message, class Then>
  void put(Entry& entry, Message message, caf::typed_response_promise<Answer> promise, Then then);

  // Cells.
  struct Gathering;
  std::optional<CellStatus> describe_template(const CellKey& key) const;
  caf::result<CellDescribed> describe(const CellKey& key);
  caf::result<CellsListed> list(const ListCells& message);
  void gather(const CellKey& key, const std::shared_ptr<Gathering>& gathering);
  static void gathered(Gathering& gathering);
  caf::result<CellDescribed> resize(const ResizePool& message);
  caf::result<CellDescribed> resize_template(const CellKey& key, const CellOverride& change);
  caf::result<CellDescribed> change_state(const ChangeCellState& message);
  void remember_override(const CellKey& key, const CellOverride& change);

  const Routing& routing() const { return *options_.routing; }

  EngineOptions options_;
  ContextPtr context_;
  std::vector<MoveJobs> moves_;
  std::map<CellKey, Entry> cells_;
  std::map<CellKey, CellOverride> overrides_;
  std::map<CellKey, std::uint32_t> instances_;  ///< Of each template.
  bool draining_ = false;
  std::size_t stopping_cells_ = 0;
  bool handing_back_ = false;
  std::size_t handing_back_cells_ = 0;
  std::size_t handed_back_ = 0;
  OwedAnswers<Drained> drained_;
};

/// Lets the cell answer; if it may be about to close, when that is decided.
template <class Answer, class Message>
caf::result<Answer> CellDispatcherActor::pass_on(Entry& entry, Message message) {
  if (!entry.closing) return delegate(entry.cell, std::move(message));
  auto promise = make_response_promise<Answer>();
  put<Answer>(entry, std::move(message), promise,
              [promise](Answer& answer) mutable { promise.deliver(std::move(answer)); });
  return promise;
}

/// Asks the cell, or, if it may be about to close, ourselves again when that is decided.
template <class Answer, class Message, class Then>
void CellDispatcherActor::put(Entry& entry, Message message,
                              caf::typed_response_promise<Answer> promise, Then then) {
  const auto fail = [promise](caf::error& error) mutable { promise.deliver(std::move(error)); };
  if (!entry.closing) {
    request(entry.cell, caf::infinite, std::move(message)).then(std::move(then), fail);
    return;
  }
  entry.held.emplace_back([this, message = std::move(message), then = std::move(then), fail] {
    request(caf::actor_cast<CellDispatcher>(this), caf::infinite, message).then(then, fail);
  });
}

}  // namespace cells
