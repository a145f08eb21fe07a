// The server's end of one TLS connection, over a socket that does not block.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "src/http/tls.hpp"
#include "src/http/transfer.hpp"

struct bio_st;
struct ssl_st;

namespace celld::http {

/// Shakes hands by itself when it is first read from or written to. One thread's alone. After
/// `would_block` the same bytes are to be written again first, from wherever they are then.
class TlsStream {
 public:
  /// On a socket that somebody else owns; null when OpenSSL has no memory for it.
  static std::unique_ptr<TlsStream> accept(const TlsContext& context, int fd);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  /// Fewer bytes than `size`: nothing more can be read now, unless `has_more`.
  Transfer read(char* to, std::size_t size);
  Transfer write(std::string_view from);
  /// Sends the alert that nothing more comes; false when it has to be tried again.
  bool send_close_notify();

  bool established() const;
  /// The last read left something behind: the end that followed its bytes, or what would have been
  /// more than one client's share.
  bool has_more() const { return held_ != Transfer::Outcome::done || share_used_up_; }
  /// Reading goes on when the socket can be written to, or the other way round.
  bool read_awaits_output() const { return read_awaits_output_; }
  bool write_awaits_input() const { return write_awaits_input_; }

  // For OpenSSL.
  Transfer receive(char* to, std::size_t size);
  Transfer transmit(std::string_view from) const { return send_plain(fd_, from); }
  bool input_ended() const { return input_ended_; }

 private:
  explicit TlsStream(int fd) : fd_(fd) {}

  Transfer::Outcome outcome_of(int result, bool reading);

  const int fd_;
  ssl_st* ssl_ = nullptr;
  std::size_t share_ = 0;  // What may still be received in this round.
  bool share_used_up_ = false;
  bool input_ended_ = false;
  bool begun_ = false;  // The first byte has come, and it is a handshake's.
  bool failed_ = false;
  bool read_awaits_output_ = false;
  bool write_awaits_input_ = false;
  Transfer::Outcome held_ = Transfer::Outcome::done;
};

}  // namespace celld::http
