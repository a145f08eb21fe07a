// The contract of cells/ports/job_store.hpp as tests: every store is held to the same ones.
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

/// One kind of store, empty at first, of which a test can take hold.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  virtual cells::JobStore store() const = 0;
  virtual cells::JobReader reader() const = 0;
  /// Stops the store as it is, as a crash would after the last commit, and opens it again.
  virtual void reopen() = 0;
  virtual caf::actor_system& system() = 0;
};

/// Makes an empty store of each kind, by the kind's name.
using MakeStore = std::function<std::unique_ptr<StoreUnderTest>()>;
const std::vector<std::pair<std::string, MakeStore>>& store_kinds();

/// Asks a store and waits for its answers, a bounded time.
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

/// Describes a job in few words; `id` also is its place unless it is scheduled.
struct JobSketch {
  cells::JobId id = 0;
  std::string entity = "e";
  std::string customer = "acme";
  std::string product = "dns";
  int priority = 5;
  cells::CellKey cell{"acme", "*"};
  std::optional<cells::WallTime> run_at{};  ///< Given: scheduled.
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

/// The job running under the lease.
cells::JobPtr running(const cells::JobPtr& job, cells::Lease lease);
/// The job at its end: its place given up.
cells::JobPtr ended(const cells::JobPtr& job, cells::JobState state = cells::JobState::succeeded);
/// The job at an end whose last attempt may still be acting: its place kept until then.
cells::JobPtr settling(const cells::JobPtr& job, cells::WallTime until);
cells::JobPtr retrying(const cells::JobPtr& job, cells::WallTime next_attempt_at);

/// The ids of jobs, in their order.
using Ids = std::vector<cells::JobId>;
Ids ids(const std::vector<cells::JobPtr>& jobs);

inline const cells::CellKey acme_cell{"acme", "*"};

/// The ids of the runnable jobs of a customer in a cell, best first.
Ids runnable_ids(Client& client, const cells::CellKey& cell = acme_cell,
                 const std::string& customer = "acme");

}  // namespace celld::store::test
