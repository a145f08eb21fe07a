// Answers that an actor owes.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cells/ports/actor_types.hpp"

namespace cells {

/// Promises of one answer, delivered together. CAF does not report a dropped promise, so an actor
/// that holds promises must call fail() in its on_exit; otherwise its clients wait indefinitely.
template <class Answer>
class OwedAnswers {
 public:
  using Promise = caf::typed_response_promise<Answer>;

  Promise add(Promise promise) {
    promises_.push_back(promise);
    return promise;
  }

  void deliver(const Answer& answer) {
    for (auto& promise : std::exchange(promises_, {})) promise.deliver(answer);
  }

  void fail() {
    for (auto& promise : std::exchange(promises_, {})) {
      promise.deliver(caf::make_error(caf::sec::request_receiver_down));
    }
  }

  bool empty() const { return promises_.empty(); }

 private:
  std::vector<Promise> promises_;
};

/// Promises of any type, delivered one by one and identified by numbers. The same rule applies.
class OpenPromises {
 public:
  template <class Answer>
  std::uint64_t add(caf::typed_response_promise<Answer>& promise) {
    promises_.emplace(++last_, static_cast<caf::response_promise&>(promise));
    return last_;
  }

  template <class Answer>
  void deliver(std::uint64_t number, Answer answer) {
    if (auto promise = promises_.extract(number)) promise.mapped().deliver(std::move(answer));
  }

  void fail() {
    for (auto& [number, promise] : std::exchange(promises_, {})) {
      promise.deliver(caf::make_error(caf::sec::request_receiver_down));
    }
  }

  bool empty() const { return promises_.empty(); }

 private:
  std::map<std::uint64_t, caf::response_promise> promises_;
  std::uint64_t last_ = 0;
};

}  // namespace cells
