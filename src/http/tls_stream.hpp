// The server's end of one TLS connection, over a non-blocking socket.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "src/http/tls.hpp"
#include "src/http/transfer.hpp"

struct bio_st;
struct ssl_st;

namespace celld::http {

/// The first read or write begins the handshake. May be used by one thread only. After a write
/// returns `would_block`, the next one must begin with the same bytes, though not at the same
/// address.
class TlsStream {
 public:
  /// Does not take ownership of the socket. Null when OpenSSL is out of memory.
  static std::unique_ptr<TlsStream> accept(const TlsContext& context, int fd);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  /// Fewer bytes than `size` mean that nothing more can be read now, unless `has_more`.
  Transfer read(char* to, std::size_t size);
  Transfer write(std::string_view from);
  /// Sends the alert that ends the stream; false when it must be retried.
  bool send_close_notify();

  bool established() const;
  /// The last read left something behind: the end of input after its bytes, or input beyond the
  /// share of one read.
  bool has_more() const { return held_ != Transfer::Outcome::done || share_used_up_; }
  /// A read continues once the socket is writable, or a write once it is readable.
  bool read_awaits_output() const { return read_awaits_output_; }
  bool write_awaits_input() const { return write_awaits_input_; }

  // Called by OpenSSL.
  Transfer receive(char* to, std::size_t size);
  Transfer transmit(std::string_view from) const { return send_plain(fd_, from); }
  bool input_ended() const { return input_ended_; }

 private:
  explicit TlsStream(int fd) : fd_(fd) {}

  Transfer::Outcome outcome_of(int result, bool reading);

  const int fd_;
  ssl_st* ssl_ = nullptr;
  std::size_t share_ = 0;  // Bytes that the current read may still receive.
  bool share_used_up_ = false;
  bool input_ended_ = false;
  bool begun_ = false;  // The first byte has arrived, and it is a handshake's.
  bool failed_ = false;
  bool read_awaits_output_ = false;
  bool write_awaits_input_ = false;
  Transfer::Outcome held_ = Transfer::Outcome::done;
};

}  // namespace celld::http
