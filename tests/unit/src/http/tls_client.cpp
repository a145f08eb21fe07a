#include "tests/unit/src/http/tls_client.hpp"

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace celld::http::test {
namespace {

std::string common_name(const X509_NAME* subject) {
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(subject, NID_commonName, name.data(), static_cast<int>(name.size()));
  return name.data();
}

}  // namespace

TlsClient::TlsClient(std::uint16_t port, const TlsClientOptions& options)
    : Client(port), context_(SSL_CTX_new(TLS_client_method())), drips_(options.drips) {
  auto* context = context_.get();
  // The server has to refuse old versions, so the client must not.
  SSL_CTX_set_security_level(context, options.version_max < TLS1_2_VERSION ? 0 : 2);
  SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context, options.version_max);
  if (options.ciphers != nullptr) SSL_CTX_set_cipher_list(context, options.ciphers);
  if (options.authority != nullptr) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), options.authority->certificate.get());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  }
  if (options.identity != nullptr) {
    SSL_CTX_use_certificate(context, options.identity->certificate.get());
    SSL_CTX_use_PrivateKey(context, options.identity->key.get());
  }
  SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(options.protocols.data()),
                          static_cast<unsigned int>(options.protocols.size()));
  ssl_.reset(SSL_new(context));
  if (!ssl_) throw std::runtime_error("OpenSSL failed");
  incoming_ = BIO_new(BIO_s_mem());
  outgoing_ = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl_.get(), incoming_, outgoing_);
  SSL_set_connect_state(ssl_.get());
}

TlsClient::~TlsClient() = default;

bool TlsClient::shake_hands() {
  for (;;) {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    const bool sent = send_outgoing();
    if (result == 1) return sent;
    if (SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_READ) {
      note_fault();
      return false;
    }
    if (!sent || !take_incoming()) return false;
  }
}

bool TlsClient::send(std::string_view bytes) {
  ERR_clear_error();
  std::size_t written = 0;
  if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written) == 1) return send_outgoing();
  note_fault();
  return false;
}

void TlsClient::close_notify() {
  SSL_shutdown(ssl_.get());
  send_outgoing();
}

bool TlsClient::was_notified() const {
  return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
}

std::string TlsClient::peer_name() const {
  const Certificate certificate(SSL_get1_peer_certificate(ssl_.get()));
  return certificate ? common_name(X509_get_subject_name(certificate.get())) : "";
}

std::vector<std::string> TlsClient::requested_authorities() const {
  const auto* names = SSL_get0_peer_CA_list(ssl_.get());
  std::vector<std::string> authorities;
  for (int i = 0; i < sk_X509_NAME_num(names); ++i) {
    authorities.push_back(common_name(sk_X509_NAME_value(names, i)));
  }
  return authorities;
}

std::string TlsClient::protocol() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

std::string TlsClient::hello() {
  SSL_do_handshake(ssl_.get());
  return take_outgoing();
}

bool TlsClient::asks_to_renegotiate() {
  ERR_clear_error();
  if (SSL_renegotiate(ssl_.get()) != 1) return false;
  SSL_do_handshake(ssl_.get());
  return send_outgoing();
}

bool TlsClient::updates_key() {
  ERR_clear_error();
  if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return false;
  return SSL_do_handshake(ssl_.get()) == 1 && send_outgoing();
}

bool TlsClient::fill() {
  for (;;) {
    std::array<char, 16384> data{};
    std::size_t size = 0;
    ERR_clear_error();
    if (SSL_read_ex(ssl_.get(), data.data(), data.size(), &size) == 1) {
      received_.append(data.data(), size);
      return true;
    }
    if (SSL_get_error(ssl_.get(), 0) != SSL_ERROR_WANT_READ) {
      note_fault();
      return false;
    }
    if (!send_outgoing() || !take_incoming()) return false;
  }
}

std::string TlsClient::take_outgoing() {
  std::string bytes(BIO_ctrl_pending(outgoing_), '\0');
  if (!bytes.empty()) BIO_read(outgoing_, bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

bool TlsClient::send_outgoing() {
  const auto bytes = take_outgoing();
  if (!drips_) return Client::send(bytes);
  return std::all_of(bytes.begin(), bytes.end(),
                     [&](char byte) { return Client::send(std::string_view(&byte, 1)); });
}

bool TlsClient::take_incoming() {
  std::string bytes;
  if (!receive_from_socket(bytes)) return false;
  return BIO_write(incoming_, bytes.data(), static_cast<int>(bytes.size())) > 0;
}

void TlsClient::note_fault() {
  const auto* reason = ERR_reason_error_string(ERR_peek_last_error());
  if (reason != nullptr) fault_ = reason;
}

}  // namespace celld::http::test
