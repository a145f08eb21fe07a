// A provider that notes when each call reaches it, and answers at once or when it is told to.
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
  enum class Mode { answer, hold };

  explicit ProviderServer(Mode mode);
  ~ProviderServer();
  ProviderServer(const ProviderServer&) = delete;
  ProviderServer& operator=(const ProviderServer&) = delete;

  /// A service of a configuration that calls this provider.
  nlohmann::json service() const;

  /// How many calls have come so far.
  std::size_t calls() const;
  /// When the n-th call (from 1) came. Throws when it does not within half a minute.
  Clock::time_point await_call(std::size_t nth);
  /// Answers held calls, the oldest first; when it gave the last of these answers.
  Clock::time_point answer(std::size_t count);
  /// The most calls that were held at once since the last time this was asked.
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
  std::map<int, Connection> connections_;  ///< Of the serving thread.

  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::vector<Clock::time_point> calls_;
  std::deque<int> held_;
  std::size_t peak_ = 0;
  std::thread thread_;
};

}  // namespace celld::bench
