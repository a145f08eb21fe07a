// The answers of one commit: collected while its operations are applied, sent once the commit is on
// disk.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "cells/ports/job_store.hpp"

namespace celld::store {

/// Keeps answers in the order of their requests. Reads of a JobStore wait here too, so that no
/// actor sees an older state after a newer one. When the store ends, every pending request receives
/// an error; without it the sender would wait forever.
class Answers {
 public:
  Answers() = default;
  ~Answers() { fail_all(caf::make_error(caf::sec::request_receiver_down)); }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  template <class Answer>
  void add(caf::typed_response_promise<Answer> promise, Answer answer) {
    waiting_.push_back({static_cast<caf::response_promise&>(promise), std::move(answer)});
  }

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }

  void deliver_all() {
    for (auto& [promise, answer] : std::exchange(waiting_, {})) {
      std::visit([&to = promise](auto& value) { to.deliver(std::move(value)); }, answer);
    }
  }

  void fail_all(const caf::error& error) {
    for (auto& [promise, answer] : std::exchange(waiting_, {})) promise.deliver(error);
  }

 private:
  using Answer =
      std::variant<cells::EpochStarted, cells::CellsLoaded, cells::BacklogsListed, cells::JobsMoved,
                   cells::NeedsCounted, cells::HoldsReleased, cells::CellLoaded, cells::JobInserted,
                   cells::JobRecorded, cells::RunnableFetched, cells::DueAdvanced,
                   cells::EndedPruned, cells::KeyHolder, cells::WaitingCancelled,
                   cells::EndedReopened, cells::BatchOpened, cells::BatchClosed,
                   cells::CancelledMarked, cells::InMemoryNoted, cells::SchedulesLoaded,
                   cells::ScheduleSaved, cells::ScheduleRemoved, cells::ScheduleAdvanced,
                   cells::CellOverrideSet, cells::StoreFlushed>;
  struct Waiting {
    caf::response_promise promise;
    Answer answer;
  };
  std::vector<Waiting> waiting_;
};

}  // namespace celld::store
