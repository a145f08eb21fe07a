// One HTTP call as plain values: what is sent, how it ended, and what it may cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cells/model/time.hpp"

namespace celld::providers {

using cells::milliseconds;

struct HttpLimits {
  std::size_t body_bytes_max = 1 << 20;   ///< Of an answer.
  std::size_t head_bytes_max = 64 << 10;  ///< Of all heads of an answer, interim ones included.
  milliseconds connect_timeout{10'000};   ///< Name, connection and TLS; never beyond the call's.
  std::size_t idle_connections_max = 64;  ///< Kept for further calls, for each 256 in flight.
};

/// A POST.
struct HttpRequest {
  std::string url;                   ///< http or https.
  std::vector<std::string> headers;  ///< Made by header_line().
  std::string body;
  milliseconds timeout{};  ///< For all of it, from the moment it is handed over.
};

struct HttpResult {
  enum class End : std::uint8_t {
    answered,     ///< `status`, `body` and `retry_after` are the answer.
    not_sent,     ///< Nobody was reached: no byte of the request has left.
    not_reached,  ///< The same, and the time for the whole call is over.
    timed_out,    ///< No complete answer in time.
    broken,       ///< The connection ended before the answer did.
    garbled,      ///< What came back is not HTTP.
    too_large,    ///< The answer passed a limit.
    aborted,      ///< Ended by us.
  };
  End end = End::aborted;
  int status = 0;
  std::string body;
  std::optional<std::string> retry_after;  ///< The header as sent, when there is one.
  std::string reason;  ///< For not_sent, broken and garbled: a general phrase, free of secrets.
};

}  // namespace celld::providers
