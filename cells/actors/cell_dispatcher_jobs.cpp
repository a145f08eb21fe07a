// Requests for one job: the choice of its cell, and the answer when there is no cell for it.
#include <utility>

#include "cells/actors/cell_dispatcher_actor.hpp"
#include "cells/model/admission.hpp"

namespace cells {
namespace {

Refusal refusal(Refusal::Kind kind, CellKey cell, std::uint64_t limit) {
  return {kind, std::move(cell), limit, limit, std::chrono::seconds{1}};
}

}  // namespace

/// With an idempotency key, a refusal is final only if the key is new.
caf::result<JobSubmitted> CellDispatcherActor::submit(SubmitJob& message) {
  const JobSpec& spec = message.request.spec;
  if (message.only_replay) {
    auto promise = make_response_promise<JobSubmitted>();
    refuse_unless_held({spec.customer, *message.request.idempotency}, {}, nullptr,
                       owed_.add(promise));
    return promise;
  }
  if (is_undecided(spec)) return ask_when_decided<JobSubmitted>(std::move(message));
  const auto gate = message.request.gate;
  if (gate && gate->is_closed()) return JobSubmitted{};
  auto target = enter_cell(spec.customer, spec.product);
  if (target.refusal) {
    close_gate(gate, message.request.idempotency.has_value(), *target.refusal);
  }
  if (!target.refusal && !takes_services_of(spec)) {
    target.refusal = refusal(Refusal::Kind::service_removed, {spec.customer, spec.product}, 0);
  }
  if (!message.request.idempotency) {
    if (target.refusal) {
      options_.probe->refused(*target.refusal, spec.customer);
      return JobSubmitted{nullptr, std::move(target.refusal), false};
    }
    return pass_on<JobSubmitted>(*target.entry, std::move(message));
  }
  auto promise = make_response_promise<JobSubmitted>();
  const auto owed = owed_.add(promise);
  const FindKeyHolder question{spec.customer, *message.request.idempotency};
  if (target.refusal) {
    refuse_unless_held(question, {nullptr, std::move(target.refusal)}, gate, owed);
    return promise;
  }
  put(*target.entry, std::move(message), owed, [this, question, gate, owed](JobSubmitted& answer) {
    if (answer.refusal) {
      refuse_unless_held(question, std::move(answer), gate, owed);
    } else {
      owed_.deliver(owed, std::move(answer));
    }
  });
  return promise;
}

/// Answers with the holder of the key if it came from the same request; otherwise with `refused`,
/// which has no refusal if the sender asked only for a replay. The refusal has closed the batch's
/// gate, if there is one, perhaps only until the store answers `question`.
void CellDispatcherActor::refuse_unless_held(const FindKeyHolder& question, JobSubmitted refused,
                                             const std::shared_ptr<BatchGate>& gate,
                                             std::uint64_t owed) {
  const bool is_gate_closed = gate && refused.refusal && is_temporary(refused.refusal->kind);
  request(options_.store, caf::infinite, question)
      .then(
          [this, owed, gate, is_gate_closed, customer = question.customer,
           refused = std::move(refused)](KeyHolder& holder) mutable {
            auto& refusal = refused.refusal;
            if (is_gate_closed) holder.job ? gate->open_again() : gate->close();
            if (holder.job && holder.same_request) {
              owed_.deliver(owed, JobSubmitted{std::move(holder.job), std::nullopt, true});
            } else {
              if (holder.job) {
                refusal = refuse_reused_key(refusal ? refusal->cell : holder.job->cell);
                refused.returned = nullptr;
              }
              if (refusal && !refused.returned) options_.probe->refused(*refusal, customer);
              owed_.deliver(owed, std::move(refused));
            }
          },
          [this, owed](caf::error& error) { owed_.deliver(owed, std::move(error)); });
}

caf::result<CancelAnswered> CellDispatcherActor::cancel(CancelJob& message) {
  const auto found = cells_.find(message.job->cell);
  if (found != cells_.end()) return pass_on<CancelAnswered>(found->second, std::move(message));
  return cancel_between_cells(message.job);
}

caf::result<ReopenAnswered> CellDispatcherActor::reopen_job(ReopenJob& message) {
  if (!can_reopen(*message.job)) return ReopenAnswered{message.job, false, std::nullopt};
  const JobSpec& spec = *message.job->spec;
  if (is_undecided(spec)) return ask_when_decided<ReopenAnswered>(std::move(message));
  auto target = enter_cell(spec.customer, spec.product);
  if (!target.refusal && is_losing_services_of(spec)) {
    target.refusal = refusal(Refusal::Kind::service_removed, {spec.customer, spec.product}, 0);
  }
  if (!target.refusal && target.entry->settings.durability != message.job->durability) {
    target.refusal = refusal(Refusal::Kind::durability_differs, {spec.customer, spec.product}, 0);
  }
  if (target.refusal) {
    options_.probe->refused(*target.refusal, spec.customer);
    return ReopenAnswered{nullptr, false, std::move(target.refusal)};
  }
  return pass_on<ReopenAnswered>(*target.entry, std::move(message));
}

/// Cancels a job that has no running cell, for example on its way between two cells.
caf::result<CancelAnswered> CellDispatcherActor::cancel_between_cells(const JobPtr& job) {
  auto promise = make_response_promise<CancelAnswered>();
  const auto owed = owed_.add(promise);
  request(options_.store, caf::infinite, CancelWaiting{job->id, job->cell, options_.wall_clock()})
      .then(
          [this, owed](WaitingCancelled& result) {
            if (result.after) tell(*context_, result.after);
            if (const JobPtr& next = result.promoted) {
              take_over(next->spec->customer, next->spec->product, [] {});
            }
            const bool accepted = result.after != nullptr;
            owed_.deliver(owed, CancelAnswered{accepted ? result.after : result.before, accepted});
          },
          [this, owed](caf::error& error) { owed_.deliver(owed, std::move(error)); });
  return promise;
}

/// The cell that the routing names for a job that is not accepted yet, started if necessary.
CellDispatcherActor::Target CellDispatcherActor::enter_cell(const std::string& customer,
                                                            const std::string& product) {
  if (shutting_down_) return {nullptr, refusal(Refusal::Kind::shutting_down, {}, 0)};
  const auto route = routing().find(customer, product);
  if (!route) return {nullptr, refusal(Refusal::Kind::no_cell, {customer, product}, 0)};
  const std::uint32_t instances_max = options_.instances_max;
  if (!cells_.contains(route->cell) && instances_[template_key(*route->rule)] >= instances_max) {
    return {nullptr, refusal(Refusal::Kind::too_many_cells, route->cell, instances_max)};
  }
  return {&running_cell(route->cell), std::nullopt};
}

}  // namespace cells
