// Messages to a store and its reader. They have a file of their own, since each of them takes long
// to compile.
#include <chrono>
#include <type_traits>

#include "tests/unit/src/store/contract.hpp"

namespace celld::store::test {
namespace {

template <class Request>
Request adapted(Request request, std::optional<cells::Durability> durability) {
  if (!durability) return request;
  if constexpr (requires { request.durability = *durability; }) request.durability = *durability;
  if constexpr (std::is_same_v<Request, cells::InsertJob>) request.bytes_max = 1 << 30;
  return request;
}

/// Ends a test that would hang. A busy machine takes minutes for some.
constexpr std::chrono::minutes patience{10};

template <class Answer, class Handle, class Request>
Answer ask_actor(StoreUnderTest& under_test, const Handle& to, const Request& unadapted) {
  const auto request = adapted(unadapted, under_test.durability());
  Answer answer;
  caf::scoped_actor self{under_test.system()};
  self->request(to, patience, request)
      .receive([&](Answer& value) { answer = std::move(value); },
               [&](const caf::error& error) { FAIL(under_test.system().render(error)); });
  return answer;
}

}  // namespace

cells::EpochStarted Client::ask(const cells::StartEpoch& request) {
  return ask_actor<cells::EpochStarted>(under_test_, under_test_.store(), request);
}

cells::CellsLoaded Client::ask(const cells::LoadCells& request) {
  return ask_actor<cells::CellsLoaded>(under_test_, under_test_.store(), request);
}

cells::BacklogsListed Client::ask(const cells::ListBacklogs& request) {
  return ask_actor<cells::BacklogsListed>(under_test_, under_test_.store(), request);
}

cells::JobsMoved Client::ask(const cells::MoveJobs& request) {
  return ask_actor<cells::JobsMoved>(under_test_, under_test_.store(), request);
}

cells::NeedsCounted Client::ask(const cells::CountNeeds& request) {
  return ask_actor<cells::NeedsCounted>(under_test_, under_test_.store(), request);
}

cells::CellLoaded Client::ask(const cells::LoadCell& request) {
  return ask_actor<cells::CellLoaded>(under_test_, under_test_.store(), request);
}

cells::HoldsReleased Client::ask(const cells::ReleaseHolds& request) {
  return ask_actor<cells::HoldsReleased>(under_test_, under_test_.store(), request);
}

cells::JobInserted Client::ask(const cells::InsertJob& request) {
  return ask_actor<cells::JobInserted>(under_test_, under_test_.store(), request);
}

cells::JobRecorded Client::ask(const cells::RecordJob& request) {
  return ask_actor<cells::JobRecorded>(under_test_, under_test_.store(), request);
}

cells::KeyHolder Client::ask(const cells::FindKeyHolder& request) {
  return ask_actor<cells::KeyHolder>(under_test_, under_test_.store(), request);
}

cells::WaitingCancelled Client::ask(const cells::CancelWaiting& request) {
  return ask_actor<cells::WaitingCancelled>(under_test_, under_test_.store(), request);
}

cells::EndedReopened Client::ask(const cells::ReopenEnded& request) {
  return ask_actor<cells::EndedReopened>(under_test_, under_test_.store(), request);
}

cells::RunnableFetched Client::ask(const cells::FetchRunnable& request) {
  return ask_actor<cells::RunnableFetched>(under_test_, under_test_.store(), request);
}

cells::DueAdvanced Client::ask(const cells::AdvanceDue& request) {
  return ask_actor<cells::DueAdvanced>(under_test_, under_test_.store(), request);
}

cells::EndedPruned Client::ask(const cells::PruneEnded& request) {
  return ask_actor<cells::EndedPruned>(under_test_, under_test_.store(), request);
}

cells::SchedulesLoaded Client::ask(const cells::LoadSchedules& request) {
  return ask_actor<cells::SchedulesLoaded>(under_test_, under_test_.store(), request);
}

cells::ScheduleSaved Client::ask(const cells::SaveSchedule& request) {
  return ask_actor<cells::ScheduleSaved>(under_test_, under_test_.store(), request);
}

cells::ScheduleRemoved Client::ask(const cells::RemoveSchedule& request) {
  return ask_actor<cells::ScheduleRemoved>(under_test_, under_test_.store(), request);
}

cells::ScheduleAdvanced Client::ask(const cells::AdvanceSchedule& request) {
  return ask_actor<cells::ScheduleAdvanced>(under_test_, under_test_.store(), request);
}

cells::CellOverrideSet Client::ask(const cells::SetCellOverride& request) {
  return ask_actor<cells::CellOverrideSet>(under_test_, under_test_.store(), request);
}

cells::StoreFlushed Client::ask(const cells::FlushStore& request) {
  return ask_actor<cells::StoreFlushed>(under_test_, under_test_.store(), request);
}

cells::JobFound Client::ask(const cells::FindJob& request) {
  return ask_actor<cells::JobFound>(under_test_, under_test_.reader(), request);
}

cells::JobsListed Client::ask(const cells::ListJobs& request) {
  return ask_actor<cells::JobsListed>(under_test_, under_test_.reader(), request);
}

cells::OldestQueued Client::ask(const cells::FindOldestQueued& request) {
  return ask_actor<cells::OldestQueued>(under_test_, under_test_.reader(), request);
}

cells::BatchOpened Client::ask(const cells::OpenBatch& request) {
  return ask_actor<cells::BatchOpened>(under_test_, under_test_.store(), request);
}

cells::BatchClosed Client::ask(const cells::CloseBatch& request) {
  return ask_actor<cells::BatchClosed>(under_test_, under_test_.store(), request);
}

cells::InMemoryNoted Client::ask(const cells::NoteInMemory& request) {
  return ask_actor<cells::InMemoryNoted>(under_test_, under_test_.store(), request);
}

cells::CancelledMarked Client::ask(const cells::MarkCancelled& request) {
  return ask_actor<cells::CancelledMarked>(under_test_, under_test_.store(), request);
}

cells::BatchFound Client::ask(const cells::FindBatch& request) {
  return ask_actor<cells::BatchFound>(under_test_, under_test_.reader(), request);
}

cells::BatchesListed Client::ask(const cells::ListBatches& request) {
  return ask_actor<cells::BatchesListed>(under_test_, under_test_.reader(), request);
}

void Client::tell(const cells::InsertJob& message) {
  caf::anon_send(under_test_.store(), adapted(message, under_test_.durability()));
}

void Client::tell(const cells::ClaimJob& message) {
  caf::anon_send(under_test_.store(), message);
}

void Client::tell(const cells::HoldJob& message) {
  caf::anon_send(under_test_.store(), message);
}

void Client::tell(const cells::ChangeLane& message) {
  caf::anon_send(under_test_.store(), message);
}

}  // namespace celld::store::test
