// A provider that records when each call arrives, and answers at once or on request.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/bench/http_wire.hpp"
#include "tests/bench/load.hpp"

namespace celld::bench {

class ProviderServer {
 public:
  enum class Mode {
    answer,  ///< Answers each call at once.
    hold,    ///< Holds each call until answer().
  };

  explicit ProviderServer(Mode mode);
  ~ProviderServer();
  ProviderServer(const ProviderServer&) = delete;
  ProviderServer& operator=(const ProviderServer&) = delete;

  /// The configuration of a service that calls this provider.
  nlohmann::json service() const;

  /// The number of calls so far.
  std::size_t calls() const;
  /// Waits for the n-th call (from 1). Returns when it arrived; throws after half a minute.
  Clock::time_point await_call(std::size_t nth);
  /// Answers held calls, the oldest first. Returns when it sent the last answer.
  Clock::time_point answer(std::size_t count);
  /// The most calls held at once since the last call of peak().
  std::size_t peak();

 private:
  void serve();
  void accept_all();
  void read_from(int fd);
  void note_call(int fd);

  const Mode mode_;
  const Descriptor listener_;
  const Descriptor poll_;
  const Descriptor wake_up_;
  struct Connection {
    Descriptor socket;
    MessageReader reader;
  };
  std::map<int, Connection> connections_;  ///< Used by the serving thread only.

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Clock::time_point> calls_;
  std::deque<int> held_;
  std::size_t peak_ = 0;
  std::thread thread_;
};

}  // namespace celld::bench
