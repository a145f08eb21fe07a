// One libcurl multi handle: some of the calls, and the connections that they use.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cells/model/time.hpp"
#include "src/providers/http/call.hpp"

namespace celld::providers {

/// Watches its sockets through an epoll set shared with other shards; `index` marks its events.
/// `ended_fd` is a socket whose peer has closed; the caller keeps it.
///
/// libcurl walks all connections of a multi handle for each call that starts or ends (measured:
/// 0.5 ms with 9,000), so the calls are spread over enough shards to keep that walk short.
class HttpShard {
 public:
  HttpShard(std::uint32_t index, int epoll_fd, int ended_fd, std::size_t idle_connections_max);
  ~HttpShard();
  HttpShard(const HttpShard&) = delete;
  HttpShard& operator=(const HttpShard&) = delete;

  /// Decodes the data of an epoll event.
  static std::uint32_t shard_of(std::uint64_t data) {
    return static_cast<std::uint32_t>(data >> 32);
  }
  static int socket_of(std::uint64_t data) { return static_cast<int>(data & 0x7fff'ffff); }
  /// No call uses the socket. Handle such events first: handling others may make libcurl close it.
  static bool is_idle(std::uint64_t data) { return (data & idle_bit) != 0; }

  std::size_t calls() const { return calls_; }
  bool add(HttpCall& call);
  /// Closes the socket of a call that has not finished.
  void remove(HttpCall& call);

  void on_ready(int socket, std::uint32_t epoll_events);
  /// Data has arrived on a kept connection, or the peer has closed it: no call will reuse it.
  void on_idle_ready(int socket);
  /// When on_time() is due, if at all.
  std::optional<cells::SteadyTime> next_time() const { return timer_; }
  void on_time(cells::SteadyTime now);

  struct Finished {
    HttpCall* call;
    CURLcode code;
  };
  /// A finished call that has not been removed yet.
  std::optional<Finished> next_finished();

 private:
  static constexpr std::uint64_t idle_bit = 0x8000'0000;

  bool watch(int socket, std::uint32_t events, std::uint64_t bits);
  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void* watched);
  static int on_close(void* self, curl_socket_t socket);
  static int on_timer(CURLM* multi, long timeout_ms, void* self);
  void fit_cache();

  std::uint32_t index_;
  int epoll_fd_;
  int ended_fd_;
  std::size_t idle_connections_max_;
  CURLM* multi_;
  std::optional<cells::SteadyTime> timer_;
  std::size_t calls_ = 0;
};

}  // namespace celld::providers
