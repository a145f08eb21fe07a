// The TLS settings of a server: its certificate, its key, and the CAs of its clients.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

struct ssl_ctx_st;

namespace celld::http {

struct TlsSettings {
  std::string certificate_path;  ///< PEM: the server's certificate, then any intermediate ones.
  std::string key_path;          ///< PEM, without a passphrase.
  std::string client_ca_path;    ///< PEM: the CAs that must have signed a client's certificate.
                                 ///< Empty: clients need no certificate.
};

/// The settings loaded into OpenSSL, for any number of connections. TLS 1.2 is the minimum.
class TlsContext {
 public:
  /// Reads the files. On failure, the text names the file and its fault.
  static std::variant<std::shared_ptr<TlsContext>, std::string> load(const TlsSettings& settings);

  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  ssl_ctx_st* get() const { return context_; }
  /// When the certificate expired (RFC 3339); nothing: it has not.
  std::optional<std::string> expired_at() const;

 private:
  ssl_ctx_st* const context_;
};

}  // namespace celld::http
