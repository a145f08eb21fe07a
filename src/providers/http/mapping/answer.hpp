// Reads the answer to a request of a mapping.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cells/ports/provider.hpp"
#include "src/providers/http/exchange.hpp"
#include "src/providers/http/mapping/mapping.hpp"

namespace celld::providers::mappings {

/// The request is done, whether now or before.
struct Done {
  cells::Properties properties;
  std::vector<cells::Message> messages;
  bool already = false;  ///< It was done before.
};

/// What the end of a request to `service` means: as interpret() says, unless `rules` say otherwise.
/// If they name any status as `done`, a status 2xx that they do not name is no success. The body of
/// a success is read only for what the rules take from it. The answer must have each property that
/// the rules name if the action is done; if it was done already, it need not.
std::variant<Done, cells::CallOutcome> read_answer(const AnswerRules& rules,
                                                   const std::string& service,
                                                   const HttpResult& result, cells::WallTime now,
                                                   const std::vector<std::string>& secrets);

/// The operation goes on.
struct Pending {
  std::optional<cells::milliseconds> retry_after;  ///< As requested by the provider.
  std::string state{};  ///< For people: "`/status` was "busy"". Empty: the status alone says so.
};

struct PollFailed {
  cells::CallOutcome outcome;
  /// The mapping says that the operation has failed. False: the operation may still go on, even if
  /// the poll was rejected.
  bool has_ended = false;
};

/// What the end of a poll means: as read_answer(), if its rules and `until` say that the operation
/// is done.
std::variant<Done, Pending, PollFailed> read_poll(const Poll& poll, const std::string& service,
                                                  const HttpResult& result, cells::WallTime now,
                                                  const std::vector<std::string>& secrets);

}  // namespace celld::providers::mappings
