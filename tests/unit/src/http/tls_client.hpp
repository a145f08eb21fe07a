// A TLS client that gives tests access to the encrypted bytes.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/src/http/certificates.hpp"
#include "tests/unit/src/http/client.hpp"

namespace celld::http::test {

struct TlsClientOptions {
  const Identity* authority = nullptr;  ///< Must have signed the server's certificate.
  const Identity* identity = nullptr;   ///< Shown when the server requests a certificate.
  int version_max = TLS1_3_VERSION;
  std::string_view protocols = {};  ///< For ALPN, each after its length.
  bool drips = false;               ///< Sends each byte by itself.
  const char* ciphers = nullptr;    ///< Of TLS 1.2; null: OpenSSL's.
};

class TlsClient : public Client {
 public:
  TlsClient(std::uint16_t port, const TlsClientOptions& options);
  ~TlsClient() override;
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  /// False when either side refuses. The server may still refuse a client certificate afterwards.
  bool shake_hands();
  bool send(std::string_view bytes) override;
  /// Sends a close_notify, and nothing after it.
  void close_notify();
  /// Whether the server has sent a close_notify.
  bool was_notified() const;
  std::string peer_name() const;
  /// The common names of the CAs in the server's request for a certificate.
  std::vector<std::string> requested_authorities() const;
  std::string version() const { return SSL_get_version(ssl_.get()); }
  std::string protocol() const;
  /// The bytes that begin a handshake.
  std::string hello();
  bool asks_to_renegotiate();
  /// Sends a key update, a message without data (TLS 1.3).
  bool updates_key();
  /// The last alert or protocol error, in OpenSSL's words.
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
  BIO* incoming_ = nullptr;  // Owned by `ssl_`, like `outgoing_`.
  BIO* outgoing_ = nullptr;
  const bool drips_;
  std::string fault_;
};

}  // namespace celld::http::test
