// The buffer of an AnswerStream, between its writers on any thread and the poller.
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

/// Data that was written and not yet sent. However often a stream is written to, at most one notice
/// to the poller is pending, so that this buffer is all the memory that a stream takes.
class StreamBuffer : public std::enable_shared_from_this<StreamBuffer> {
 public:
  StreamBuffer(std::shared_ptr<AnswerSlot> slot, std::uint64_t exchange_number,
               StreamOptions options, bool chunked);

  // From any thread.

  /// False: the client has gone, the stream has ended, or the buffer is full.
  bool write(std::string data);
  void end();
  /// Closes the connection of the stream.
  void give_up() noexcept;
  bool connected() const;

  // From the poller.

  struct Taken {
    std::string bytes;   ///< Framed, ready to send.
    bool ended = false;  ///< These bytes are the last.
  };
  /// Returns the first piece, framed. Call this before any other method.
  std::string take_first(std::string data);
  /// Everything written since the last call. It still counts as unsent until `note_unsent` reports
  /// that less is left.
  Taken take();
  void note_unsent(std::size_t bytes);
  /// Everything has been sent: calls `on_taken`, once, if nothing has been written meanwhile.
  void note_taken();
  /// Refuses further writes; what was written before can still be taken.
  void finish();
  /// The connection has closed: drops what was written, and calls `on_taken` for the last time.
  void close();
  const StreamOptions& options() const { return options_; }
  /// `data` in the framing of this answer.
  std::string framed(std::string data) const;

 private:
  void announce();

  const std::shared_ptr<AnswerSlot> slot_;
  const std::uint64_t exchange_number_;
  const StreamOptions options_;
  const bool chunked_;

  mutable std::mutex mutex_;
  std::string written_;
  std::size_t unsent_bytes_ = 0;  // Of what was taken.
  std::uint64_t total_bytes_ = 0;
  std::optional<std::uint64_t> reported_bytes_;  // What on_taken was called with last.
  bool announced_ = false;                       // A notice to the poller is pending.
  bool ended_ = false;
  bool overrun_ = false;  // The buffer was full: the stream never ends properly.
};

/// Shared by the copies of an AnswerStream; the stream ends with it.
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
