// Notices from other threads to the poller.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/http/socket.hpp"

namespace celld::http {

class AnswerSlot;
class StreamBuffer;

struct Notice {
  enum class Kind {
    answered,        ///< The request is answered; all but `unwritten` has been sent.
    stream_begun,    ///< `stream` answers the request; `unwritten` is its beginning.
    stream_written,  ///< The stream has more data, or has ended.
    stream_overrun,  ///< More was written than may be kept: the connection closes.
    body_wanted,     ///< A streamed body that was held back may continue.
    body_refused,    ///< The rest of a streamed body is not wanted.
  };
  Kind kind = Kind::answered;
  std::shared_ptr<AnswerSlot> slot;
  std::uint64_t exchange_number = 0;
  std::string unwritten;
  bool closes = false;  ///< The answer announced that the connection closes.
  bool failed = false;  ///< Sending it failed.
  std::shared_ptr<StreamBuffer> stream = nullptr;
};

/// Any thread posts; the poller takes. A post costs a system call only while the poller sleeps, and
/// a quiet one hardly ever.
class Mailbox {
 public:
  Mailbox();

  void post(Notice notice);
  /// Posts a notice that need not wake the poller, which takes it when it wakes for something else,
  /// and after quiet_delay at the latest.
  void post_quietly(Notice notice);
  void wake();

  static constexpr std::chrono::milliseconds quiet_delay{100};
  /// This many quiet notices wake the poller.
  static constexpr std::size_t quiet_max = 64;

  /// Readable when the poller has been woken.
  int wake_fd() const { return wake_fd_.get(); }
  /// Readable when quiet notices may have waited for long enough; then call timer_expired.
  int timer_fd() const { return timer_fd_.get(); }
  void timer_expired();
  /// Announces that the poller is about to sleep; false when it must not, because a notice waits or
  /// `wake` was called.
  bool fall_asleep();
  void wake_up();
  /// Replaces `notices` by everything that has been posted, in order.
  void take(std::vector<Notice>& notices);
  /// Drops all notices, posted so far or later.
  void close();

 private:
  void arm_timer() const;
  void signal() const;

  FileDescriptor wake_fd_;
  FileDescriptor timer_fd_;
  std::mutex mutex_;
  std::vector<Notice> notices_;
  bool asleep_ = false;
  bool timer_armed_ = false;
  bool woken_ = false;
  bool closed_ = false;
};

}  // namespace celld::http
