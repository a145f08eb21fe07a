#include "src/http/tls_stream.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace celld::http {
namespace {

constexpr char handshake_record = 0x16;
// What one read may receive beyond the requested size: records without application data.
constexpr std::size_t extra_share_bytes = 64 << 10;

// A BIO of our own, because OpenSSL's socket BIO would raise SIGPIPE.

TlsStream& stream_of(BIO* bio) {
  return *static_cast<TlsStream*>(BIO_get_data(bio));
}

/// What a BIO returns for a transfer. Sets the flags `retry` when it would block.
int bio_result(BIO* bio, Transfer transfer, int retry) {
  BIO_clear_retry_flags(bio);
  if (transfer.bytes > 0) return static_cast<int>(transfer.bytes);
  if (transfer.outcome == Transfer::Outcome::would_block) BIO_set_flags(bio, retry);
  return transfer.outcome == Transfer::Outcome::end ? 0 : -1;
}

int read_bio(BIO* bio, char* to, int size) {
  const auto transfer = stream_of(bio).receive(to, static_cast<std::size_t>(size));
  return bio_result(bio, transfer, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
}

int write_bio(BIO* bio, const char* from, int size) {
  const std::string_view bytes(from, static_cast<std::size_t>(size));
  return bio_result(bio, stream_of(bio).transmit(bytes), BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
}

long control_bio(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_FLUSH) return 1;
  return command == BIO_CTRL_EOF && stream_of(bio).input_ended() ? 1 : 0;
}

/// Never freed, because BIOs refer to it.
const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const made = [] {
    auto* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "celld socket");
    if (method == nullptr) return method;
    BIO_meth_set_read(method, read_bio);
    BIO_meth_set_write(method, write_bio);
    BIO_meth_set_ctrl(method, control_bio);
    return method;
  }();
  return made;
}

}  // namespace

std::unique_ptr<TlsStream> TlsStream::accept(const TlsContext& context, int fd) {
  ERR_clear_error();
  std::unique_ptr<TlsStream> stream(new TlsStream(fd));
  const auto* method = socket_method();
  auto* bio = method == nullptr ? nullptr : BIO_new(method);
  stream->ssl_ = bio == nullptr ? nullptr : SSL_new(context.get());
  if (stream->ssl_ == nullptr) {
    BIO_free(bio);
    return nullptr;
  }
  BIO_set_data(bio, stream.get());
  BIO_set_init(bio, 1);
  SSL_set_bio(stream->ssl_, bio, bio);
  SSL_set_accept_state(stream->ssl_);
  return stream;
}

TlsStream::~TlsStream() {
  SSL_free(ssl_);
}

bool TlsStream::established() const {
  return SSL_is_init_finished(ssl_) == 1;
}

Transfer TlsStream::read(char* to, std::size_t size) {
  using enum Transfer::Outcome;
  if (held_ != done) return {std::exchange(held_, done), 0};
  if (!begun_) {
    char first = 0;
    const auto seen = ::recv(fd_, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (seen == 1 && first != handshake_record) return {not_encrypted, 0};
    begun_ = seen == 1;
  }
  share_ = size + extra_share_bytes;
  share_used_up_ = false;
  std::size_t bytes = 0;
  auto outcome = done;
  while (outcome == done && bytes < size) {
    std::size_t part = 0;
    ERR_clear_error();
    outcome = outcome_of(SSL_read_ex(ssl_, to + bytes, size - bytes, &part), true);
    bytes += part;
  }
  if (bytes == 0) return {outcome, 0};
  if (outcome == end || outcome == failed) held_ = outcome;
  return {done, bytes};
}

/// Receives no more than the share of one read: OpenSSL would otherwise keep receiving for as long
/// as records without data arrive.
Transfer TlsStream::receive(char* to, std::size_t size) {
  if (share_ == 0) {
    share_used_up_ = true;
    return {Transfer::Outcome::would_block, 0};
  }
  const auto transfer = receive_plain(fd_, to, std::min(size, share_));
  share_ -= transfer.bytes;
  input_ended_ = transfer.outcome == Transfer::Outcome::end;
  return transfer;
}

Transfer TlsStream::write(std::string_view from) {
  using enum Transfer::Outcome;
  share_ = std::numeric_limits<std::size_t>::max();  // A write may have to finish a handshake.
  std::size_t bytes = 0;
  while (bytes < from.size()) {
    std::size_t part = 0;
    ERR_clear_error();
    const auto result = SSL_write_ex(ssl_, from.data() + bytes, from.size() - bytes, &part);
    const auto outcome = outcome_of(result, false);
    bytes += part;
    if (outcome != done) return {outcome == end ? failed : outcome, bytes};
  }
  return {done, bytes};
}

bool TlsStream::send_close_notify() {
  if (failed_ || !established()) return true;
  ERR_clear_error();
  const int result = SSL_shutdown(ssl_);
  return result >= 0 || outcome_of(result, false) != Transfer::Outcome::would_block;
}

Transfer::Outcome TlsStream::outcome_of(int result, bool reading) {
  using enum Transfer::Outcome;
  (reading ? read_awaits_output_ : write_awaits_input_) = false;
  if (result > 0) return done;
  const int error = SSL_get_error(ssl_, result);
  ERR_clear_error();
  if (error == SSL_ERROR_WANT_READ) {
    write_awaits_input_ = !reading;
    return would_block;
  }
  if (error == SSL_ERROR_WANT_WRITE) {
    read_awaits_output_ = reading;
    return would_block;
  }
  if (error == SSL_ERROR_ZERO_RETURN) return end;
  failed_ = true;
  return failed;
}

}  // namespace celld::http
