// What a mapped call keeps in its step while an operation of the provider goes on.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cells/model/job.hpp"
#include "cells/model/time.hpp"

namespace celld::providers {

struct Operation {
  std::size_t request = 0;       ///< Where to go on: a request of the action, from 0.
  bool has_begun = false;        ///< That request has begun an operation, to be polled.
  cells::milliseconds left{};    ///< What is left of the step's timeout, when the poll is due.
  cells::Properties properties;  ///< Of the answers so far.
  /// When the next poll is due, by the steady clock of the machine; none: at once.
  std::optional<cells::milliseconds> due{};
  std::string url{};  ///< Of the poll, if an answer named it.

  bool operator==(const Operation&) const = default;
};

/// JSON, for Step::operation.
std::string to_text(const Operation& operation);

/// Nothing if `text` is not that of an operation, for example because another kind of provider has
/// written it.
std::optional<Operation> parse_operation(std::string_view text);

}  // namespace celld::providers
