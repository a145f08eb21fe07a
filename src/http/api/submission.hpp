// Parses the body of POST /v1/jobs.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cells/model/routing.hpp"
#include "cells/model/submission.hpp"
#include "src/config/job_document.hpp"
#include "src/http/api/bound_customer.hpp"
#include "src/http/api/problem.hpp"
#include "src/json/json.hpp"

namespace celld::api {

/// The configured names that a job may refer to. Immutable; shared by all handler threads.
struct SubmissionRules {
  std::set<std::string, std::less<>> services;  ///< The names of the configured services.
  std::shared_ptr<const cells::Routing> routing;
  /// Whether this service can undo what it has done for this action. Null: none can.
  config::CanUndo can_undo{};
};

/// The rest of the request.
struct SubmissionContext {
  std::vector<json::Fault> faults{};  ///< Faults found outside the body.
  BoundCustomer only_customer{};
  std::optional<std::string> idempotency_key{};  ///< The header of that name.
};

/// A well-formed submission.
struct Submission {
  cells::JobRequest request;
  /// Why the current configuration refuses the job. Set only with an idempotency key: a job that
  /// was accepted under the key by an earlier configuration takes precedence.
  std::optional<Problem> refusal_if_new{};
  /// Whether the job is accepted without waiting for the disk.
  bool spares_disk = false;
};

/// The submission in `body`, or a problem with all its faults. With an idempotency key, the
/// request's digest depends on the meaning of the body only, not on white space, the order of
/// members, or where the key was given. Whether a cell takes the job is left to the engine, unless
/// there are faults.
std::variant<Submission, Problem> parse_submission(std::string_view body,
                                                   const SubmissionRules& rules,
                                                   SubmissionContext context = {});

/// Whether `text` is a well-formed W3C traceparent. A malformed one is ignored.
bool is_traceparent(std::string_view text);

}  // namespace celld::api
