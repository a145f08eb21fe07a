// Shows the requests that an `http` service makes for a job.
#pragma once

#include <string>
#include <variant>

#include "cells/model/job.hpp"
#include "src/providers/http/settings.hpp"

namespace celld::providers {

struct Explanation {
  /// Each request as it is sent, apart from what the connection adds. Secrets are masked.
  std::string text;
};
/// Why the service rejects the job: a sentence.
struct ExplainedRefusal {
  std::string text;
};

/// For the job's current step. Texts such as `ANSWER-1-id` stand for values that only answers can
/// provide; the explanation says so.
std::variant<Explanation, ExplainedRefusal> explain(const std::string& name,
                                                    const HttpService& service,
                                                    const cells::Job& job);

}  // namespace celld::providers
