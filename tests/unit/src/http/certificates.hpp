// Certificates and keys for a test, in files that are removed after it.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "src/http/tls.hpp"

namespace celld::http::test {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Certificate = std::unique_ptr<X509, FreeCertificate>;

/// A certificate with its key.
struct Identity {
  Key key;
  Certificate certificate;
};

/// A certificate authority with this name.
Identity make_authority(const std::string& name);
/// The same, signed by `authority`.
Identity make_intermediate(const std::string& name, const Identity& authority);
/// A certificate for `name` at 127.0.0.1, signed by `authority`.
Identity make_identity(const std::string& name, const Identity& authority);
/// That of `make_identity`, with a key that is too short to be safe.
Identity make_weak_identity(const std::string& name, const Identity& authority);

/// A temporary directory, removed when this object is destroyed.
class PemFiles {
 public:
  PemFiles();
  ~PemFiles();
  PemFiles(const PemFiles&) = delete;
  PemFiles& operator=(const PemFiles&) = delete;

  /// Each returns the path of the file it has written.
  std::string write(const std::string& name, std::string_view text) const;
  std::string write_certificate(const std::string& name, const Identity& identity) const;
  /// A server's certificate, and after it that of the authority that has signed it.
  std::string write_chain(const std::string& name, const Identity& identity,
                          const Identity& authority) const;
  std::string write_key(const std::string& name, const Identity& identity,
                        const char* passphrase = nullptr) const;
  /// The files of a server with that identity.
  TlsSettings settings_of(const std::string& name, const Identity& identity) const;
  std::string path(const std::string& name) const { return (directory_ / name).string(); }

 private:
  std::filesystem::path directory_;
};

}  // namespace celld::http::test
