// The contract of cells/ports/job_store.hpp as tests. Every store has to pass the same ones.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cells/ports/job_store.hpp"
#include "tests/unit/catch.hpp"

namespace celld::store::test {

/// A store of one kind for a test, empty at first.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  virtual cells::JobStore store() const = 0;
  virtual cells::JobReader reader() const = 0;
  /// Kills the store, as a crash after the last commit would, and opens it again.
  virtual void reopen() = 0;
  virtual caf::actor_system& system() = 0;
};

/// Makes an empty store.
using MakeStore = std::function<std::unique_ptr<StoreUnderTest>()>;
/// The kinds of store, each with its name.
const std::vector<std::pair<std::string, MakeStore>>& store_kinds();

/// Sends requests to a store and waits up to 60 s for each answer.
class Client {
 public:
  explicit Client(StoreUnderTest& under_test) : under_test_(under_test) {}

  cells::EpochStarted ask(const cells::StartEpoch& r) { return to_store<cells::EpochStarted>(r); }
  cells::CellsLoaded ask(const cells::LoadCells& r) { return to_store<cells::CellsLoaded>(r); }
  cells::BacklogsListed ask(const cells::ListBacklogs& r) {
    return to_store<cells::BacklogsListed>(r);
  }
  cells::JobsMoved ask(const cells::MoveJobs& r) { return to_store<cells::JobsMoved>(r); }
  cells::NeedsCounted ask(const cells::CountNeeds& r) { return to_store<cells::NeedsCounted>(r); }
  cells::CellLoaded ask(const cells::LoadCell& r) { return to_store<cells::CellLoaded>(r); }
  cells::JobInserted ask(const cells::InsertJob& r) { return to_store<cells::JobInserted>(r); }
  cells::JobRecorded ask(const cells::RecordJob& r) { return to_store<cells::JobRecorded>(r); }
  cells::KeyHolder ask(const cells::FindKeyHolder& r) { return to_store<cells::KeyHolder>(r); }
  cells::WaitingCancelled ask(const cells::CancelWaiting& r) {
    return to_store<cells::WaitingCancelled>(r);
  }
  cells::EndedReopened ask(const cells::ReopenEnded& r) {
    return to_store<cells::EndedReopened>(r);
  }
  cells::RunnableFetched ask(const cells::FetchRunnable& r) {
    return to_store<cells::RunnableFetched>(r);
  }
  cells::DueAdvanced ask(const cells::AdvanceDue& r) { return to_store<cells::DueAdvanced>(r); }
  cells::EndedPruned ask(const cells::PruneEnded& r) { return to_store<cells::EndedPruned>(r); }
  cells::CellOverrideSet ask(const cells::SetCellOverride& r) {
    return to_store<cells::CellOverrideSet>(r);
  }
  cells::StoreFlushed ask(const cells::FlushStore& r) { return to_store<cells::StoreFlushed>(r); }
  cells::JobFound ask(const cells::FindJob& r) { return to_reader<cells::JobFound>(r); }
  cells::JobsListed ask(const cells::ListJobs& r) { return to_reader<cells::JobsListed>(r); }
  cells::OldestQueued ask(const cells::FindOldestQueued& r) {
    return to_reader<cells::OldestQueued>(r);
  }

  void tell(const cells::ClaimJob& r) { caf::anon_send(under_test_.store(), r); }
  void tell(const cells::HoldJob& r) { caf::anon_send(under_test_.store(), r); }
  void tell(const cells::ReleaseHolds& r) { caf::anon_send(under_test_.store(), r); }

 private:
  template <class Answer, class Request>
  Answer to_store(const Request& request) {
    return ask_actor<Answer>(under_test_.store(), request);
  }
  template <class Answer, class Request>
  Answer to_reader(const Request& request) {
    return ask_actor<Answer>(under_test_.reader(), request);
  }
  template <class Answer, class Handle, class Request>
  Answer ask_actor(const Handle& to, const Request& request) {
    Answer answer;
    caf::scoped_actor self{under_test_.system()};
    self->request(to, std::chrono::seconds{60}, request)
        .receive([&](Answer& value) { answer = std::move(value); },
                 [&](const caf::error& error) { FAIL(under_test_.system().render(error)); });
    return answer;
  }

  StoreUnderTest& under_test_;
};

/// Runs `body` on an empty store of each kind.
template <class Body>
void with_each_store(Body body) {
  for (const auto& [name, make] : store_kinds()) {
    INFO("store: " << name);
    const auto under_test = make();
    Client client{*under_test};
    body(client, *under_test);
  }
}

// --- Jobs to test with -------------------------------------------------------------------------

inline cells::WallTime at_ms(std::int64_t ms) {
  return cells::WallTime{cells::milliseconds{ms}};
}

/// The parts of a job that tests vary. `id` is also the job's place, unless the job is scheduled.
struct JobSketch {
  cells::JobId id = 0;
  std::string entity = "e";
  std::string customer = "acme";
  std::string product = "dns";
  int priority = 5;
  cells::CellKey cell{"acme", "*"};
  std::optional<cells::WallTime> run_at{};  ///< If set, the job is scheduled.
  std::optional<cells::WallTime> expires_at{};
  std::map<std::string, std::string> labels{};
  std::vector<std::string> services{"dns"};
  std::string entity_type = "zone";
  std::string parameters = "{}";
};
cells::JobPtr sketch_job(const JobSketch& sketch);

/// The job with `change` applied.
template <class Change>
cells::JobPtr changed(const cells::JobPtr& job, Change change) {
  auto next = std::make_shared<cells::Job>(*job);
  change(*next);
  return next;
}

/// The job, running under the lease.
cells::JobPtr running(const cells::JobPtr& job, cells::Lease lease);
/// The job, ended: it has given up its place.
cells::JobPtr ended(const cells::JobPtr& job, cells::JobState state = cells::JobState::succeeded);
/// The job, failed while its last attempt may still be acting: it keeps its place until `until`.
cells::JobPtr settling(const cells::JobPtr& job, cells::WallTime until);
cells::JobPtr retrying(const cells::JobPtr& job, cells::WallTime next_attempt_at);

using Ids = std::vector<cells::JobId>;
Ids ids(const std::vector<cells::JobPtr>& jobs);

inline const cells::CellKey acme_cell{"acme", "*"};

/// The ids of the runnable jobs of a customer in a cell, best first.
Ids runnable_ids(Client& client, const cells::CellKey& cell = acme_cell,
                 const std::string& customer = "acme");

}  // namespace celld::store::test
