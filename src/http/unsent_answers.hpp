// What clients have been answered and have not taken yet.
#pragma once

#include <cstddef>
#include <list>

namespace celld::http {

class Connection;

/// Bounds what all clients together may leave untaken: whoever has taken nothing for the longest
/// has to go first. The one who took something last stays, so that an answer of any length can be
/// had. On the poller's thread alone.
class UnsentAnswers {
 public:
  /// What a connection has to do with it; nothing while its client has taken everything.
  struct Share {
    std::size_t bytes = 0;
    std::list<Connection*>::iterator place{};
  };

  explicit UnsentAnswers(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// After an attempt to send: so much is left, and whether the client took some of it.
  void note(Connection& connection, Share& share, std::size_t bytes, bool took_some) {
    if (bytes == 0) return forget(share);
    if (share.bytes == 0) {
      share.place = stalled_.insert(stalled_.end(), &connection);
    } else if (took_some) {
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

  /// Who has to go; null: nobody.
  Connection* excess() const {
    return bytes_ > bytes_max_ && stalled_.size() > 1 ? stalled_.front() : nullptr;
  }

 private:
  const std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::list<Connection*> stalled_;  ///< In the order in which they took something last.
};

}  // namespace celld::http
