// What a server needs to speak TLS: its certificate, its key, and whose clients it takes.
#pragma once

#include <memory>
#include <string>
#include <variant>

struct ssl_ctx_st;

namespace celld::http {

struct TlsSettings {
  std::string certificate_path;  ///< PEM: the server's certificate, then those in between.
  std::string key_path;          ///< PEM, without a passphrase.
  std::string client_ca_path;    ///< PEM: a client must show a certificate signed by one of these.
                                 ///< Empty: none is asked for.
};

/// The settings as OpenSSL has them, for any number of connections. TLS 1.2 at least.
class TlsContext {
 public:
  /// Reads the files now. The text names the file that is at fault and says what is wrong with it.
  static std::variant<std::shared_ptr<TlsContext>, std::string> load(const TlsSettings& settings);

  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  ssl_ctx_st* get() const { return context_; }

 private:
  ssl_ctx_st* const context_;
};

}  // namespace celld::http
