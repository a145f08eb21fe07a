// One libcurl call: its options, its limits on the answer, and how it ended.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/model/ids.hpp"
#include "src/providers/http/exchange.hpp"
#include "src/providers/http/url_parts.hpp"

namespace celld::providers {

/// Owns an easy handle, which must be removed from its multi handle before destruction.
class HttpCall {
 public:
  using Ended = std::function<void(HttpResult)>;

  HttpCall(const cells::Lease& lease, HttpRequest request, const HttpLimits& limits, Ended ended);
  ~HttpCall();
  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;

  /// Sets up the easy handle, with `remaining` for the whole call, `to_connect` for its connection,
  /// and the `addresses` of its host() if it has one. False when libcurl refuses the request.
  bool prepare(milliseconds remaining, milliseconds to_connect,
               const std::vector<std::string>& addresses);

  const cells::Lease& lease() const { return lease_; }
  CURL* easy() const { return easy_; }
  const std::optional<NamedHost>& host() const { return host_; }
  std::size_t answer_bytes() const { return result_.body.size(); }
  /// The call that an easy handle belongs to.
  static HttpCall* of(CURL* easy);

  /// Reports the end to the starter. Call once; after that, only destroy the object.
  void end(CURLcode code);
  void end_aborted();
  /// celld lacked what it needs for a connection: `error` is of errno.
  void end_unable(int error);

 private:
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static int on_before_send(void* self, char*, char*, int, int);
  static curl_socket_t on_open(void* self, curlsocktype, curl_sockaddr* address);
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

  bool set_request();
  bool set_content();
  bool set_addresses(const std::vector<std::string>& addresses);
  bool set_bounds(milliseconds remaining, milliseconds to_connect);
  bool set_policy();
  bool set_callbacks();
  bool read_header(std::string_view line);
  void keep(std::string_view value);
  HttpResult::End classify(CURLcode code) const;

  cells::Lease lease_;
  HttpRequest request_;
  std::optional<NamedHost> host_;
  HttpLimits limits_;
  Ended ended_;
  CURL* easy_;
  curl_slist* headers_ = nullptr;
  curl_slist* addresses_ = nullptr;
  HttpResult result_;
  std::size_t head_bytes_ = 0;
  std::string length_;  ///< Content-Length of the current head.
  bool status_line_next_ = true;
  bool interim_ = false;  ///< The head is that of a status 1xx: another head follows.
  bool head_complete_ = false;
  bool sent_ = false;
  int shortage_ = 0;  ///< Why a socket could not be opened, of errno.
  bool has_opened_ = false;
  bool too_large_ = false;
  bool garbled_ = false;
};

}  // namespace celld::providers
