// Serialises answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/http/server.hpp"

namespace celld::http {

/// The form that an answer must have, given its request and connection.
struct AnswerForm {
  bool head_only = false;   ///< For HEAD: the length of the body, but not the body.
  bool keep_alive = false;  ///< False announces that the connection closes.
  bool http_1_0 = false;
};

/// One message, ready to send. Drops fields in `response.headers` that concern the framing or whose
/// names are not tokens. Control characters in values become spaces.
std::string serialise(const Response& response, const AnswerForm& form);

/// The head of a streamed answer. Its body has this length, if given; otherwise it is chunked, or
/// for HTTP/1.0 ends with the connection. Leaves out `response.body`.
std::string serialise_stream_head(const Response& response, const AnswerForm& form,
                                  std::optional<std::uint64_t> length);

/// Whether an answer of this form has a body at all.
bool has_body(const Response& response, const AnswerForm& form);

/// Turns `data`, which must not be empty, into one chunk (RFC 9112, section 7.1). Works in place,
/// because `data` may be large.
void make_chunk(std::string& data);
constexpr std::string_view last_chunk = "0\r\n\r\n";

}  // namespace celld::http
