#include "tests/unit/src/http/certificates.hpp"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace celld::http::test {
namespace {

constexpr long validity_s = 24L * 3600;

void require(bool done) {
  if (!done) throw std::runtime_error("OpenSSL failed");
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

File create(const std::string& path) {
  File file(std::fopen(path.c_str(), "we"));
  require(file != nullptr);
  return file;
}

void add_extension(X509* certificate, int kind, const char* value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
  require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

/// A certificate without issuer and signature.
Identity make_unsigned(const std::string& name, EVP_PKEY* key) {
  static long serial = 0;
  Identity made{Key(key), Certificate(X509_new())};
  auto* certificate = made.certificate.get();
  require(made.key && certificate != nullptr && X509_set_version(certificate, 2) == 1);
  require(ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial) == 1);
  require(X509_gmtime_adj(X509_getm_notBefore(certificate), -validity_s) != nullptr);
  require(X509_gmtime_adj(X509_getm_notAfter(certificate), validity_s) != nullptr);
  require(X509_set_pubkey(certificate, made.key.get()) == 1);
  require(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                     reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                     0) == 1);
  return made;
}

EVP_PKEY* make_key() {
  return EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
}

void sign(Identity& identity, const Identity& authority) {
  auto* certificate = identity.certificate.get();
  const auto* issuer = X509_get_subject_name(authority.certificate.get());
  require(X509_set_issuer_name(certificate, issuer) == 1);
  require(X509_sign(certificate, authority.key.get(), EVP_sha256()) > 0);
}

Identity make_unsigned_authority(const std::string& name) {
  auto made = make_unsigned(name, make_key());
  add_extension(made.certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  add_extension(made.certificate.get(), NID_key_usage, "critical,keyCertSign");
  return made;
}

Identity make_server(const std::string& name, EVP_PKEY* key, const Identity& authority) {
  auto made = make_unsigned(name, key);
  add_extension(made.certificate.get(), NID_subject_alt_name, "IP:127.0.0.1");
  sign(made, authority);
  return made;
}

}  // namespace

Identity make_authority(const std::string& name) {
  auto made = make_unsigned_authority(name);
  sign(made, made);
  return made;
}

Identity make_intermediate(const std::string& name, const Identity& authority) {
  auto made = make_unsigned_authority(name);
  sign(made, authority);
  return made;
}

Identity make_identity(const std::string& name, const Identity& authority) {
  return make_server(name, make_key(), authority);
}

Identity make_weak_identity(const std::string& name, const Identity& authority) {
  const std::size_t bits = 1024;
  return make_server(name, EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", bits), authority);
}

PemFiles::PemFiles() {
  std::string name = (std::filesystem::temp_directory_path() / "celld-tls-XXXXXX").string();
  require(::mkdtemp(name.data()) != nullptr);
  directory_ = name;
}

PemFiles::~PemFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::string PemFiles::write(const std::string& name, std::string_view text) const {
  std::ofstream(path(name)) << text;
  return path(name);
}

std::string PemFiles::write_certificate(const std::string& name, const Identity& identity) const {
  require(PEM_write_X509(create(path(name)).get(), identity.certificate.get()) == 1);
  return path(name);
}

std::string PemFiles::write_chain(const std::string& name, const Identity& identity,
                                  const Identity& authority) const {
  const auto file = create(path(name));
  for (const auto* each : {&identity, &authority})
    require(PEM_write_X509(file.get(), each->certificate.get()) == 1);
  return path(name);
}

std::string PemFiles::write_key(const std::string& name, const Identity& identity,
                                const char* passphrase) const {
  const auto* cipher = passphrase == nullptr ? nullptr : EVP_aes_128_cbc();
  // OpenSSL only reads it, although the parameter is not const.
  void* const secret = const_cast<char*>(passphrase);
  require(PEM_write_PrivateKey(create(path(name)).get(), identity.key.get(), cipher, nullptr, 0,
                               nullptr, secret) == 1);
  return path(name);
}

TlsSettings PemFiles::settings_of(const std::string& name, const Identity& identity) const {
  return {write_certificate(name + ".crt", identity), write_key(name + ".key", identity), {}};
}

}  // namespace celld::http::test
