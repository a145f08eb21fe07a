// The bytes of an answer.
#pragma once

#include <string>

#include "src/http/server.hpp"

namespace celld::http {

/// What the request and its connection demand of the answer's form.
struct AnswerTerms {
  bool head_only = false;   ///< A HEAD request: the length of the body, but not the body.
  bool keep_alive = false;  ///< False announces that the connection closes.
  bool http_1_0 = false;
};

/// One message, ready to send. Framing fields among `response.headers` are dropped, and so are
/// names that are no tokens; control characters in values become spaces.
std::string serialise(const Response& response, const AnswerTerms& terms);

}  // namespace celld::http
