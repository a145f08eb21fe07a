// Answers that an actor owes.
#pragma once

#include <utility>
#include <vector>

#include "cells/ports/actor_types.hpp"

namespace cells {

/// Promises to be kept together. CAF tells nobody when a promise is dropped, so whoever holds some
/// answers them with an error in its on_exit: the askers would wait for ever.
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

}  // namespace cells
