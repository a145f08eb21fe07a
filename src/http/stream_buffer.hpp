// An AnswerStream between those who write to it, on any thread, and the poller, who sends it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/http/exchange.hpp"
#include "src/http/server.hpp"

namespace celld::http {

/// What was written and not yet sent. At most one notice to the poller is under way for it, however
/// often it is written to, so that this buffer is all that a stream takes.
class StreamBuffer : public std::enable_shared_from_this<StreamBuffer> {
 public:
  StreamBuffer(std::shared_ptr<AnswerSlot> slot, std::uint64_t turn, StreamTerms terms,
               bool chunked);

  // From any thread.

  /// False: the client has gone, or the stream has ended.
  bool write(std::string data);
  void end();
  /// Ends the stream with its connection.
  void give_up() noexcept;
  bool connected() const;

  // From the poller.

  struct Taken {
    std::string bytes;   ///< Framed, ready to send.
    bool ended = false;  ///< And they are the last.
  };
  /// The first piece, framed; to be called before any other.
  std::string take_first(std::string data);
  /// All that was written since the last time. It counts as kept until `note_unsent` says less.
  Taken take();
  void note_unsent(std::size_t bytes);
  /// Everything has been sent: asks for more, once, if nothing has been written meanwhile.
  void note_taken();
  /// Refuses further writes; what was written before can still be taken.
  void finish();
  /// Nobody will take anything any more.
  void close();
  const StreamTerms& terms() const { return terms_; }
  /// `data` as a piece of this answer.
  std::string framed(std::string data) const;

 private:
  void announce();

  const std::shared_ptr<AnswerSlot> slot_;
  const std::uint64_t turn_;
  const StreamTerms terms_;
  const bool chunked_;

  mutable std::mutex mutex_;
  std::string written_;
  std::size_t unsent_bytes_ = 0;  // Of what was taken.
  std::uint64_t total_bytes_ = 0;
  std::optional<std::uint64_t> told_bytes_;  // What on_taken was called with last.
  bool announced_ = false;                   // The poller has been told, and has not taken it yet.
  bool ended_ = false;
  bool overrun_ = false;  // It breaks off here, and never ends properly.
};

/// What the copies of an AnswerStream share; the stream ends with it.
class AnswerStream::Channel {
 public:
  explicit Channel(std::shared_ptr<StreamBuffer> buffer) : buffer_(std::move(buffer)) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  StreamBuffer& buffer() const { return *buffer_; }

 private:
  const std::shared_ptr<StreamBuffer> buffer_;
};

}  // namespace celld::http
