// The thread that owns the listening socket and every connection.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "src/http/connection.hpp"

namespace celld::http {

class Poller {
 public:
  explicit Poller(std::shared_ptr<ServerState> server);
  /// Stops without a grace period, and joins the thread.
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  void listen(FileDescriptor socket);
  void start();
  /// As Server::hand_over, Server::stop and Server::responds.
  void hand_over(std::chrono::milliseconds grace);
  void stop(std::chrono::milliseconds grace);
  bool responds(std::chrono::milliseconds within);
  std::size_t connections() const { return open_.load(std::memory_order_relaxed); }

 private:
  void run();
  void wait_for_events();
  int timeout_ms() const;
  void take_notices();
  std::optional<SteadyTime> next_give_up() const;
  void grant_room();
  void close_stalled();
  void serve_requests();
  SteadyTime end_of_deferred_work() const;
  void continue_reading();
  void expire_deadlines();
  void accept_clients();
  bool accept_client();
  bool shed_client();
  void pause_listening();
  void listen_again();
  void add(Accepted client);
  void free_closed();
  void handle_orders();
  void stop_accepting();
  void finish_hand_over();
  /// True once a stop has closed every connection or used up its grace period.
  bool has_stopped();
  void shut_down();

  const std::shared_ptr<ServerState> server_;
  PollerLoop loop_;
  std::vector<epoll_event> events_;  // Of the current round.
  FileDescriptor epoll_;
  FileDescriptor listening_;
  FileDescriptor spare_;  // Closed to accept one more client when there is no descriptor left.
  std::vector<std::unique_ptr<Connection>> connections_;
  std::size_t over_limit_ = 0;
  std::vector<Notice> notices_;
  std::vector<Connection*> unread_now_;
  std::optional<SteadyTime> listens_again_at_;  // Set while there is no descriptor for a client.
  std::optional<SteadyTime> hand_over_until_;   // Set during a hand-over.
  std::optional<SteadyTime> shutdown_until_;    // Set once a stop has begun.
  std::atomic<std::size_t> open_{0};

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;         // One of the members below has changed.
  std::optional<SteadyTime> hand_over_at_;  // Set while a hand-over is requested.
  std::optional<SteadyTime> stop_at_;       // Set once a stop has been requested.
  std::uint64_t questions_ = 0;             // Calls of `responds`.
  std::uint64_t answers_ = 0;               // Those that the loop has seen.
  bool ended_ = true;                       // No thread runs the loop.
};

}  // namespace celld::http
