// Makes the request of a mapping for one job.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/providers/http/mapping/mapping.hpp"
#include "src/providers/http/mapping/value.hpp"

namespace celld::providers::mappings {

/// A request as the mapping says; celld's own headers are added later.
struct Rendered {
  std::string method;
  std::string target;  ///< Path and query, to be appended to the service's URL.
  std::vector<std::pair<std::string, std::string>> headers;  ///< With Content-Type, if it has one.
  std::optional<std::string> body;
};

/// The request, or why there is none for this job.
std::variant<Rendered, Refusal> render(const Request& request, const Scope& scope);

/// The first request that cannot be made for a job, found before any request is made. Values that
/// only an answer can provide are assumed to be available.
struct RequestRefused {
  std::size_t index;
  bool is_poll;  ///< It is the poll of the request.
  Refusal refusal;
};
std::optional<RequestRefused> check_all(const std::vector<Request>& requests, Scope scope);

/// Lets `scope` show a text for each property that an answer to the request of this index (from 0)
/// or to its poll will set.
void expect_properties(const AnswerRules& answer, std::size_t index, Scope& scope);

}  // namespace celld::providers::mappings
