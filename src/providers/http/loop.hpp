// The event loop of the HTTP transport: the calls, spread over shards that share one epoll set.
#pragma once

#include <curl/curl.h>
#include <sys/epoll.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "cells/model/ids.hpp"
#include "cells/model/time.hpp"
#include "src/help_actors.hpp"
#include "src/providers/http/call.hpp"
#include "src/providers/http/call_queue.hpp"
#include "src/providers/http/exchange.hpp"
#include "src/providers/http/host_names.hpp"
#include "src/providers/http/name_look_ups.hpp"
#include "src/providers/http/shard.hpp"

namespace celld::providers {

/// Used by one thread, except for the constructor. An idle call costs nothing: libcurl names the
/// sockets and the time for which it waits.
class HttpLoop {
 public:
  /// `help_actors`: see HttpTransport.
  HttpLoop(HttpLimits limits, std::shared_ptr<HttpCallQueue> operations, HelpActors help_actors);
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  /// Carries out operations until a stop is requested, then aborts all calls and closes the queue.
  void run();

 private:
  struct Entry {
    std::unique_ptr<HttpCall> call;
    cells::SteadyTime deadline;
    cells::SteadyTime connected_by;
    cells::SteadyTime waits_until{};  ///< For the end of a look-up.
    HttpShard* shard = nullptr;       ///< Null while it waits.
  };
  using Calls = std::map<cells::Lease, Entry>;

  template <class Kind>
  void carry_out_all(std::vector<HttpCallQueue::Operation>& operations);
  void carry_out(HttpCallQueue::Start& start);
  void carry_out(HttpCallQueue::Abort& abort);
  void carry_out(HttpCallQueue::HostFound& found);
  /// Starts a call at the best address known; ends it if there is none.
  void begin(Calls::iterator position, CURLcode without_address);
  HttpShard& shard_with_room();
  std::span<epoll_event> wait(int timeout_ms);
  void wait_and_dispatch(int timeout_ms);
  int wait_ms() const;
  void fire_timers();
  void end_waits();
  void end_finished();
  void drop_empty_shards();
  std::unique_ptr<HttpCall> take_out(Calls::iterator position);
  void end_all();

  HttpLimits limits_;
  std::shared_ptr<HttpCallQueue> operations_;
  HelpActors help_actors_;
  int epoll_fd_;
  int ended_fd_;  ///< A socket whose peer has closed, made while descriptors are available.
  std::vector<epoll_event> events_;
  std::vector<std::unique_ptr<HttpShard>> shards_;  ///< Null where dropped; never the first.
  Calls calls_;
  NameLookUps look_ups_;
  HostNames names_;
  /// The calls that wait for a look-up, and until when.
  std::set<std::pair<cells::SteadyTime, cells::Lease>> waiting_;
};

}  // namespace celld::providers
