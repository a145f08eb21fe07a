// A client that speaks TLS, and lets a test see and hold back the bytes under it.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tests/unit/src/http/certificates.hpp"
#include "tests/unit/src/http/client.hpp"

namespace celld::http::test {

struct ClientTerms {
  const Identity* authority = nullptr;  ///< Who must have signed the server's certificate.
  const Identity* identity = nullptr;   ///< What it shows when it is asked.
  int version_max = TLS1_3_VERSION;
  std::string_view protocols = {};  ///< For ALPN, each with its length before it.
  bool drips = false;               ///< Every byte is sent by itself.
};

class TlsClient : public Client {
 public:
  TlsClient(std::uint16_t port, const ClientTerms& terms);
  ~TlsClient() override;
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  /// False when the server, or this client, does not agree to it. A client certificate may still
  /// be refused afterwards.
  bool shake_hands();
  bool send(std::string_view bytes) override;
  /// Sends the alert that nothing more comes, and nothing after it.
  void close_notify();
  /// Whether the server has said in order that nothing more comes.
  bool was_notified() const;
  std::string peer_name() const;
  std::string version() const { return SSL_get_version(ssl_.get()); }
  std::string protocol() const;
  /// The bytes that begin a handshake.
  std::string hello();
  bool asks_to_renegotiate();
  /// Sends a message that changes its key and has no data (TLS 1.3).
  bool updates_key();
  /// The last alert, or fault of the protocol, in OpenSSL's words.
  const std::string& fault() const { return fault_; }

 protected:
  bool fill() override;

 private:
  struct FreeContext {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  std::string take_outgoing();
  bool send_outgoing();
  bool take_incoming();
  void note_fault();

  std::unique_ptr<SSL_CTX, FreeContext> context_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  BIO* incoming_ = nullptr;  // The connection's.
  BIO* outgoing_ = nullptr;
  const bool drips_;
  std::string fault_;
};

}  // namespace celld::http::test
