// The bytes of an answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

/// The head of an answer that is sent by and by: of that length; or, where nobody knows it yet,
/// chunked, or for HTTP/1.0 until the connection closes. `response.body` is left out.
std::string serialise_stream_head(const Response& response, const AnswerTerms& terms,
                                  std::optional<std::uint64_t> length);

/// Whether an answer of that form has a body at all.
bool has_body(const Response& response, const AnswerTerms& terms);

/// Makes `data`, which must not be empty, one chunk (RFC 9112, section 7.1); in place, as it may be
/// large.
void make_chunk(std::string& data);
constexpr std::string_view last_chunk = "0\r\n\r\n";

}  // namespace celld::http
