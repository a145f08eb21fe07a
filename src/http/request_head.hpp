// Finds and parses the head of a request. Strict, so that no proxy in front can disagree with celld
// about where a request begins or ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "src/http/server.hpp"

namespace celld::http {

/// Why a request is refused before a handler sees it; false when it is not.
struct Refusal {
  int status = 0;
  std::string detail;

  explicit operator bool() const { return status != 0; }
};

/// What determines the end of a body.
struct BodyFraming {
  bool chunked = false;
  std::uint64_t length = 0;  ///< Unless chunked.

  bool empty() const { return !chunked && length == 0; }
};

struct RequestHead {
  Request request;         ///< Without captures, body and peer.
  std::string match_path;  ///< See Target.
  BodyFraming body;
  bool http_1_0 = false;
  bool keep_alive = true;
  bool expects_continue = false;
};

/// Finds the end of a head as its bytes arrive. Refuses a wrong line end or an excessive length at
/// the earliest byte.
class HeadScanner {
 public:
  explicit HeadScanner(const Limits& limits) : limits_(&limits) {}

  struct Result {
    std::size_t length = 0;  ///< Of the head with its empty line; 0 when more is needed.
    Refusal refusal;
  };

  /// `bytes` is everything received since the start of the request. No byte is scanned twice.
  Result scan(std::string_view bytes);
  void restart() { *this = HeadScanner(*limits_); }

 private:
  Refusal refusal_of_length(std::size_t length) const;

  const Limits* limits_;
  std::size_t line_start_ = 0;
  std::size_t scanned_ = 0;
  bool request_line_seen_ = false;
};

/// Parses a complete head, as delimited by HeadScanner.
std::variant<RequestHead, Refusal> parse_head(std::string_view head, const Limits& limits);

}  // namespace celld::http
