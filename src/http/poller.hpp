// The thread that owns the listening socket and every connection.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
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
  /// Stops without grace, and joins the thread.
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  void listen(FileDescriptor socket);
  void start();
  /// As Server::stop.
  void stop(std::chrono::milliseconds grace);
  std::size_t connections() const { return open_.load(std::memory_order_relaxed); }

 private:
  void run();
  void wait_for_events();
  int timeout_ms() const;
  void take_notices();
  std::optional<SteadyTime> next_give_up() const;
  void grant_room();
  void read_on();
  void expire_deadlines();
  void accept_clients();
  bool accept_client();
  void shed_client();
  void add(Accepted client);
  void free_closed();
  /// True when the poller is to end.
  bool stop_if_asked();
  void drain();

  const std::shared_ptr<ServerState> server_;
  PollerLoop loop_;
  FileDescriptor epoll_;
  FileDescriptor listening_;
  FileDescriptor spare_;  // Given up to accept and close a client when descriptors have run out.
  std::vector<std::unique_ptr<Connection>> connections_;
  std::size_t over_limit_ = 0;
  std::vector<Notice> notices_;
  std::vector<Connection*> reading_on_;
  bool draining_ = false;
  SteadyTime drain_until_{};
  std::atomic<std::size_t> open_{0};

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable ended_changed_;
  std::optional<SteadyTime> stop_at_;  // Set once a stop has been asked for.
  bool ended_ = true;                  // No thread runs the loop.
};

}  // namespace celld::http
