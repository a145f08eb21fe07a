// Counts and bounds the unsent bytes of all answers.
#pragma once

#include <cstddef>
#include <list>

namespace celld::http {

class Connection;

/// Bounds the unsent bytes of all connections together. Beyond the bound, the connection that has
/// made no progress for the longest is closed first. The one that made progress last is never
/// closed, so that an answer of any length can be sent. Used only on the poller's thread.
class UnsentAnswers {
 public:
  /// The part of one connection; zero bytes while everything has been sent.
  struct Share {
    std::size_t bytes = 0;
    std::list<Connection*>::iterator place{};
  };

  explicit UnsentAnswers(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Called after an attempt to send, which left this many bytes and may have made progress.
  void note(Connection& connection, Share& share, std::size_t bytes, bool progress) {
    if (bytes == 0) return forget(share);
    if (share.bytes == 0) {
      share.place = stalled_.insert(stalled_.end(), &connection);
    } else if (progress) {
      stalled_.splice(stalled_.end(), stalled_, share.place);
    }
    bytes_ += bytes - share.bytes;
    share.bytes = bytes;
  }

  void forget(Share& share) {
    if (share.bytes == 0) return;
    stalled_.erase(share.place);
    bytes_ -= share.bytes;
    share.bytes = 0;
  }

  /// The connection to close next; null when the bound is kept.
  Connection* excess() const {
    return bytes_ > bytes_max_ && stalled_.size() > 1 ? stalled_.front() : nullptr;
  }

 private:
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::list<Connection*> stalled_;  ///< In the order of their last progress.
};

}  // namespace celld::http
