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

/// For whom alone a submission may be; nothing: for anybody.
using OnlyCustomer = std::optional<std::string>;

/// What counts beside the body.
struct SubmissionTerms {
  std::vector<json::Fault> faults{};  ///< What is wrong with the rest of the request.
  OnlyCustomer only_customer{};
  std::optional<std::string> idempotency_key{};  ///< The header of that name.
};

/// A job that is asked for.
struct Submission {
  cells::JobRequest request;
  /// Why the configuration has no place for it. Only with an idempotency key: a job that was
  /// accepted under it, when the configuration was another, comes first.
  std::optional<Problem> refusal_if_new{};
};

/// The job that `body` asks for, or everything that is wrong with it. With an idempotency key, the
/// request's digest is that of the body's meaning: white space, the order of members, and where the
/// key stood do not count.
std::variant<Submission, Problem> parse_submission(std::string_view body,
                                                   const SubmissionRules& rules,
                                                   SubmissionTerms terms = {});

/// A W3C traceparent that may be sent on; a malformed one is to be ignored.
bool is_traceparent(std::string_view text);

}  // namespace celld::api
