#include "tests/unit/src/http/api/fake_engine.hpp"

#include <map>
#include <utility>

namespace celld::api::testing {
namespace {

template <class Reply, class Function, class Message>
caf::result<Reply> play(const Function& function, const Message& message) {
  const std::lock_guard lock{script_mutex};
  if (!function) return caf::make_error(caf::sec::runtime_error, "the store failed");
  return function(message);
}

cells::CellDispatcher::behavior_type dispatcher(cells::CellDispatcher::pointer self,
                                                const std::shared_ptr<Script>& script) {
  using Promise = caf::typed_response_promise<cells::LeasesGranted>;
  const auto waiting = std::make_shared<std::map<std::uint64_t, Promise>>();
  return {
      [=](const cells::SubmitJob& message) -> caf::result<cells::JobSubmitted> {
        const std::lock_guard lock{script_mutex};
        if (!script->submit) return caf::make_error(caf::sec::runtime_error, "the store failed");
        auto promise = self->make_response_promise<cells::JobSubmitted>();
        cells::JobSubmitted reply = script->submit(message);
        promise.deliver(reply);
        if (script->after_submit && reply.job)
          for (const cells::JobPtr& job : script->after_submit(reply.job))
            self->send(script->observer, cells::JobChanged{job});
        return promise;
      },
      [=](const cells::CancelJob& message) {
        return play<cells::CancelAnswered>(script->cancel, message);
      },
      [=](const cells::ReopenJob& message) {
        return play<cells::ReopenAnswered>(script->retry, message);
      },
      [=](const cells::DescribeCell& message) {
        return play<cells::CellDescribed>(script->describe, message);
      },
      [=](const cells::ListCells& message) {
        return play<cells::CellsListed>(script->list, message);
      },
      [=](const cells::ResizePool& message) {
        return play<cells::CellDescribed>(script->resize, message);
      },
      [=](const cells::ChangeCellState& message) {
        return play<cells::CellDescribed>(script->change_state, message);
      },
      [=](const cells::ChangeQuota& message) {
        return play<cells::CellDescribed>(script->change_quota, message);
      },
      [=](const cells::ListServices& message) {
        return play<cells::ServicesListed>(script->list_services, message);
      },
      [=](const cells::ResetService& message) {
        return play<cells::ServicesListed>(script->reset_service, message);
      },
      [=](const cells::RequestLeases& message) -> caf::result<cells::LeasesGranted> {
        const std::lock_guard lock{script_mutex};
        if (message.wait || script->holds_leases) {
          return waiting
              ->emplace(message.request, self->make_response_promise<cells::LeasesGranted>())
              .first->second;
        }
        if (!script->request_leases) {
          return caf::make_error(caf::sec::runtime_error, "the store failed");
        }
        return script->request_leases(message);
      },
      [=](const cells::WithdrawRequests& message) {
        const std::lock_guard lock{script_mutex};
        for (const auto request : message.requests) {
          script->withdrawn.push_back(request);
          auto asked = waiting->extract(request);
          if (asked.empty()) continue;
          asked.mapped().deliver(script->request_leases ? script->request_leases({})
                                                        : cells::LeasesGranted{});
        }
      },
      [=](const cells::ReturnLeases& message) {
        const std::lock_guard lock{script_mutex};
        script->returned.insert(script->returned.end(), message.leases.begin(),
                                message.leases.end());
      },
      [=](const cells::ExtendLease& message) {
        return play<cells::LeaseExtended>(script->extend_lease, message);
      },
      [=](const cells::EndLease& message) {
        return play<cells::LeaseEnded>(script->end_lease, message);
      },
      [=](const cells::FindLease& message) {
        return play<cells::LeaseFound>(script->find_lease, message);
      },
      [=](const cells::ListLeases& message) {
        return play<cells::LeasesListed>(script->list_leases, message);
      },
      [](const cells::Reconfigure&) { return cells::Reconfigured{}; },
      [](const cells::JobsLeft&) {},
      [](const cells::CellRestarted&) {},
      [](const cells::ShutDown&) { return cells::ShutdownCompleted{}; },
      [](const cells::CellIdle&) {},
      [](const cells::Tick&) {},
  };
}

cells::JobReader::behavior_type reader(const std::shared_ptr<Script>& script) {
  return {
      [=](const cells::FindJob& message) { return play<cells::JobFound>(script->find, message); },
      [=](const cells::ListJobs& message) {
        return play<cells::JobsListed>(script->list_jobs, message);
      },
      [=](const cells::FindOldestQueued& message) {
        return play<cells::OldestQueued>(script->oldest, message);
      },
      [=](const cells::FindBatch& message) {
        return play<cells::BatchFound>(script->find_batch, message);
      },
      [=](const cells::ListBatches& message) {
        return play<cells::BatchesListed>(script->list_batches, message);
      },
  };
}

BatchStore::behavior_type batch_store(const std::shared_ptr<Script>& script) {
  return {
      [=](const cells::OpenBatch& message) {
        return play<cells::BatchOpened>(script->open_batch, message);
      },
      [=](const cells::CloseBatch& message) {
        return play<cells::BatchClosed>(script->close_batch, message);
      },
      [=](const cells::MarkCancelled& message) {
        return play<cells::CancelledMarked>(script->mark_cancelled, message);
      },
  };
}

}  // namespace

cells::CellDispatcher spawn_dispatcher(caf::actor_system& system, std::shared_ptr<Script> script) {
  return system.spawn(dispatcher, std::move(script));
}

cells::JobReader spawn_reader(caf::actor_system& system, std::shared_ptr<Script> script) {
  return system.spawn(reader, std::move(script));
}

BatchStore spawn_batch_store(caf::actor_system& system, std::shared_ptr<Script> script) {
  return system.spawn(batch_store, std::move(script));
}

}  // namespace celld::api::testing
