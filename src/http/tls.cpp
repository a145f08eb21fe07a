#include "src/http/tls.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "src/http/text.hpp"

namespace celld::http {
namespace {

constexpr std::size_t file_bytes_max = 4 << 20;
constexpr const char* ciphers_of_tls_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr int security_level = 2;  // RSA and DH of 2048 bits at least, no SHA-1.
constexpr std::string_view protocol = "http/1.1";

/// The fault of a file, if it has one.
using Fault = std::optional<std::string>;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

/// Checks that `path` can be read and contains a PEM block of this kind.
Fault fault_of_file(const std::string& path, std::string_view kind) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  std::string text;
  std::array<char, 16 << 10> piece{};
  for (std::size_t size = 1; file && size > 0 && text.size() < file_bytes_max;) {
    size = std::fread(piece.data(), 1, piece.size(), file.get());
    text.append(piece.data(), size);
  }
  if (!file || std::ferror(file.get()) != 0) {
    return path + ": " + std::generic_category().message(errno);
  }
  const auto end_of_marker = std::string(kind) + "-----";
  for (auto at = text.find("-----BEGIN "); at != std::string::npos;
       at = text.find("-----BEGIN ", at + 1)) {
    const auto line = std::string_view(text).substr(at, text.find_first_of("\r\n", at) - at);
    if (trimmed(line).ends_with(end_of_marker)) return std::nullopt;
  }
  return path + ": contains no " + lower_case(kind) + " in PEM format";
}

/// OpenSSL's errors for its last failure, the cause first.
class SslErrors {
 public:
  static SslErrors take() {
    SslErrors taken;
    for (auto code = ERR_get_error(); code != 0; code = ERR_get_error()) {
      taken.codes_.push_back(code);
    }
    return taken;
  }

  bool hold(int library, int reason) const {
    return std::any_of(codes_.begin(), codes_.end(), [&](unsigned long code) {
      return ERR_GET_LIB(code) == library && ERR_GET_REASON(code) == reason;
    });
  }

  std::string cause() const {
    const char* text = codes_.empty() ? nullptr : ERR_reason_error_string(codes_.front());
    return text == nullptr ? "unknown error" : text;
  }

 private:
  std::vector<unsigned long> codes_;
};

/// The fault of a file whose certificate or key OpenSSL has just refused.
std::string fault_of_content(const std::string& path, const std::string& what) {
  const auto errors = SslErrors::take();
  if (errors.hold(ERR_LIB_PEM, PEM_R_BAD_PASSWORD_READ) ||
      errors.hold(ERR_LIB_PEM, PEM_R_PROBLEMS_GETTING_PASSWORD)) {
    return path + ": is encrypted with a passphrase; use a key without one";
  }
  const bool weak = errors.hold(ERR_LIB_SSL, SSL_R_EE_KEY_TOO_SMALL) ||
                    errors.hold(ERR_LIB_SSL, SSL_R_CA_KEY_TOO_SMALL) ||
                    errors.hold(ERR_LIB_SSL, SSL_R_CA_MD_TOO_WEAK);
  const auto* verdict = weak ? " is too weak (" : " cannot be used (";
  return path + ": its " + what + verdict + errors.cause() + ")";
}

Fault load_certificate(SSL_CTX* context, const std::string& path) {
  if (auto fault = fault_of_file(path, "CERTIFICATE")) return fault;
  if (SSL_CTX_use_certificate_chain_file(context, path.c_str()) == 1) return std::nullopt;
  return fault_of_content(path, "certificate");
}

int no_passphrase(char* /*to*/, int /*size*/, int /*writing*/, void* /*user*/) {
  return -1;
}

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

Fault load_key(SSL_CTX* context, const TlsSettings& settings) {
  const auto& path = settings.key_path;
  if (auto fault = fault_of_file(path, "PRIVATE KEY")) return fault;
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  const std::unique_ptr<EVP_PKEY, FreeKey> key(
      file ? PEM_read_PrivateKey(file.get(), nullptr, no_passphrase, nullptr) : nullptr);
  if (!key) return fault_of_content(path, "private key");
  if (X509_check_private_key(SSL_CTX_get0_certificate(context), key.get()) != 1) {
    ERR_clear_error();
    return path + ": the key does not match the certificate in " + settings.certificate_path;
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) return fault_of_content(path, "private key");
  return std::nullopt;
}

/// Requires a certificate of every client, and sends clients the names of the accepted CAs.
Fault require_client_certificates(SSL_CTX* context, const std::string& path) {
  if (auto fault = fault_of_file(path, "CERTIFICATE")) return fault;
  auto* names = SSL_load_client_CA_file(path.c_str());
  if (names == nullptr) return fault_of_content(path, "certificate");
  SSL_CTX_set_client_CA_list(context, names);
  if (SSL_CTX_load_verify_file(context, path.c_str()) != 1) {
    return fault_of_content(path, "certificate");
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return std::nullopt;
}

/// The server speaks HTTP/1.1 only, so a client that lists its protocols must list it (RFC 7301).
int choose_protocol(SSL* /*connection*/, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned int offered_size, void* /*user*/) {
  for (unsigned int at = 0; at < offered_size; at += 1U + offered[at]) {
    const std::string_view name(reinterpret_cast<const char*>(offered + at + 1), offered[at]);
    if (name != protocol) continue;
    *chosen = offered + at + 1;
    *chosen_size = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// False when OpenSSL is out of memory.
bool apply_settings(SSL_CTX* context) {
  static constexpr std::array<unsigned char, 5> session_context{'c', 'e', 'l', 'l', 'd'};
  SSL_CTX_set_security_level(context, security_level);
  // Framing marks the end of a message, so a TCP end without close_notify truncates no request, and
  // the client may still wait for the answer.
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_RENEGOTIATION |
                                   SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // Tickets need no memory here.
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_cipher_list(context, ciphers_of_tls_1_2) == 1 &&
         SSL_CTX_set_session_id_context(context, session_context.data(), session_context.size()) ==
             1;
}

}  // namespace

std::variant<std::shared_ptr<TlsContext>, std::string> TlsContext::load(
    const TlsSettings& settings) {
  ERR_clear_error();
  auto loaded = std::make_shared<TlsContext>(SSL_CTX_new(TLS_server_method()));
  if (loaded->get() == nullptr || !apply_settings(loaded->get())) {
    return "TLS cannot be set up: " + SslErrors::take().cause();
  }
  auto fault = load_certificate(loaded->get(), settings.certificate_path);
  if (!fault) fault = load_key(loaded->get(), settings);
  if (!fault && !settings.client_ca_path.empty()) {
    fault = require_client_certificates(loaded->get(), settings.client_ca_path);
  }
  ERR_clear_error();
  if (fault) return std::move(*fault);
  return loaded;
}

std::optional<std::string> TlsContext::expired_at() const {
  const ASN1_TIME* end = X509_get0_notAfter(SSL_CTX_get0_certificate(context_));
  std::tm time{};
  if (X509_cmp_current_time(end) >= 0 || ASN1_TIME_to_tm(end, &time) != 1) return std::nullopt;
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &time);
  return text.data();
}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

}  // namespace celld::http
