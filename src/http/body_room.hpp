// Room for the bodies that are in memory before their handlers have read them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "src/http/mailbox.hpp"

namespace celld::http {

class Connection;

/// Bounds what all larger bodies take together. A request whose body outgrows what is small takes
/// room for all of it, or waits for its turn without being read on: so nobody waits for another who
/// waits. Smaller bodies need none, and are never kept waiting by larger ones.
class BodyRoom {
 public:
  static constexpr std::size_t small_bytes_max = 16 << 10;
  /// A body that is read for longer than this, while others wait, is given up.
  static constexpr std::chrono::milliseconds patience{1000};

  /// There is always room for a few bodies of the largest size.
  BodyRoom(std::size_t largest_body, Mailbox& mailbox)
      : bytes_max_(std::max<std::size_t>(4 << 20, 2 * largest_body)), mailbox_(mailbox) {}

  /// Gives its room back when it goes, on any thread.
  class Share {
   public:
    Share(BodyRoom& room, std::size_t bytes) : room_(room), bytes_(bytes) {}
    ~Share() { room_.give_back(bytes_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    BodyRoom& room_;
    const std::size_t bytes_;
  };

  // From the poller.

  /// Null: there is no room now, and the connection stands in line for it.
  std::unique_ptr<Share> take(Connection& connection, std::size_t bytes) {
    if (waiting_.empty() && fits(bytes)) return share(bytes);
    waiting_.emplace_back(&connection, bytes);
    waited_for_ = true;
    return nullptr;
  }

  /// The first in line whose turn has come, and its room; null: nobody's has.
  std::pair<Connection*, std::unique_ptr<Share>> next() {
    if (waiting_.empty() || !fits(waiting_.front().second)) return {nullptr, nullptr};
    const auto [connection, bytes] = waiting_.front();
    waiting_.pop_front();
    waited_for_ = !waiting_.empty();
    return {connection, share(bytes)};
  }

  bool waited_for() const { return !waiting_.empty(); }

  /// The connection waits no more.
  void forget(const Connection& connection) {
    std::erase_if(waiting_, [&](const auto& entry) { return entry.first == &connection; });
    waited_for_ = !waiting_.empty();
  }

 private:
  bool fits(std::size_t bytes) const { return used_.load() + bytes <= bytes_max_; }

  std::unique_ptr<Share> share(std::size_t bytes) {
    used_ += bytes;
    return std::make_unique<Share>(*this, bytes);
  }

  void give_back(std::size_t bytes) {
    used_ -= bytes;
    if (waited_for_) mailbox_.wake();
  }

  const std::size_t bytes_max_;
  Mailbox& mailbox_;
  std::atomic<std::size_t> used_{0};
  std::atomic<bool> waited_for_{false};
  std::deque<std::pair<Connection*, std::size_t>> waiting_;
};

}  // namespace celld::http
