// Reads the body of POST /v1/jobs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cells/model/routing.hpp"
#include "cells/model/submission.hpp"
#include "src/http/api/problem.hpp"
#include "src/json/json.hpp"

namespace celld::api {

/// What a job may refer to. Immutable; shared by all handler threads.
struct SubmissionRules {
  std::set<std::string, std::less<>> services;  ///< Names of those configured.
  std::shared_ptr<const cells::Routing> routing;
};

/// The job that `body` asks for, or everything that is wrong with it. `faults` are those that the
/// rest of the request has already.
std::variant<cells::JobRequest, Problem> parse_submission(std::string_view body,
                                                          const SubmissionRules& rules,
                                                          std::vector<json::Fault> faults = {});

/// A W3C traceparent that may be sent on; a malformed one is to be ignored.
bool is_traceparent(std::string_view text);

}  // namespace celld::api
