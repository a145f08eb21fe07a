// Room for request bodies: a memory budget. A body holds its share until its handler has finished.
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

/// Bounds the memory of all larger bodies together. A body that outgrows small_bytes_max takes room
/// for its whole length, or is queued and not read meanwhile. A waiting body holds no room, so
/// waiting bodies cannot block each other. Small bodies need no room and never wait for larger
/// ones.
class BodyRoom {
 public:
  static constexpr std::size_t small_bytes_max = 16 << 10;
  /// An incomplete body that has held room for longer than this is refused if the first in the
  /// queue needs that room.
  static constexpr std::chrono::milliseconds patience{1000};

  /// There is room for at least two bodies of the largest size.
  BodyRoom(std::size_t largest_body, Mailbox& mailbox)
      : bytes_max_(std::max<std::size_t>(4 << 20, 2 * largest_body)), mailbox_(mailbox) {}

  /// Returns its room when it is destroyed, on any thread.
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

  /// Null when there is no room; the connection is then queued.
  std::unique_ptr<Share> take(Connection& connection, std::size_t bytes) {
    if (waiting_.empty() && fits(bytes)) return share(bytes);
    waiting_.emplace_back(&connection, bytes);
    waited_for_ = true;
    return nullptr;
  }

  /// The first connection in the queue, and its room; null when the queue is empty or there is not
  /// yet enough room.
  std::pair<Connection*, std::unique_ptr<Share>> next() {
    if (waiting_.empty() || !fits(waiting_.front().second)) return {nullptr, nullptr};
    const auto [connection, bytes] = waiting_.front();
    waiting_.pop_front();
    waited_for_ = !waiting_.empty();
    return {connection, share(bytes)};
  }

  bool waited_for() const { return !waiting_.empty(); }

  /// Removes the connection from the queue.
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
