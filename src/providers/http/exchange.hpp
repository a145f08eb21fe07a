// One HTTP call as plain values: request, result and limits.
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
  milliseconds connect_timeout{10'000};   ///< Name, connection and TLS; at most the call's timeout.
  std::size_t idle_connections_max = 64;  ///< Kept for reuse, per 256 calls in flight.
};

struct HttpRequest {
  std::string url;                   ///< http or https.
  std::vector<std::string> headers;  ///< Made by header_line().
  std::string body;
  milliseconds timeout{};  ///< For the whole call, from the moment it is queued.
  /// GET, POST, PUT, PATCH or DELETE. A GET has no body; an empty body of a DELETE is none.
  std::string method = "POST";
  std::string kept_header{};  ///< The name of a header of the answer to keep; empty: none.
};

struct HttpResult {
  enum class End : std::uint8_t {
    answered,     ///< `status`, `body` and `retry_after` are the answer.
    not_sent,     ///< No connection: not a byte of the request was sent.
    unable,       ///< The same, because celld lacked what it needs for a connection.
    not_reached,  ///< The same, because the time for the whole call ran out.
    timed_out,    ///< No complete answer in time.
    broken,       ///< The connection ended before the answer did.
    garbled,      ///< The answer is not HTTP.
    too_large,    ///< The answer exceeded a limit.
    aborted,      ///< Aborted by celld.
  };
  End end = End::aborted;
  int status = 0;
  std::string body;
  std::optional<std::string> retry_after;  ///< The value of the header, if sent.
  std::string
      reason;  ///< For not_sent, unable, broken and garbled: a generic phrase without secrets.
  /// The value of the header to keep, if sent; with commas between them if there are several.
  std::optional<std::string> kept_header{};
};

}  // namespace celld::providers
