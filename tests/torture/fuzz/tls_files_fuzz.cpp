// The PEM files of a server: its certificate, its key and the CAs of its clients. An input is the
// three files, with a % between them; without the second %, clients need no certificate.
#include <sys/mman.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "src/http/tls.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;
using http::TlsContext;
using http::TlsSettings;

namespace {

constexpr std::size_t input_bytes_max = 64 << 10;
constexpr int security_bits_min = 112;

/// A file in memory, and its name.
class File {
 public:
  explicit File(std::string_view content) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    must(descriptor_ >= 0 && ::write(descriptor_, content.data(), content.size()) ==
                                 static_cast<ssize_t>(content.size()),
         "there is room for a file");
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

struct Input {
  std::string certificate;
  std::string key;
  std::optional<std::string> client_ca;
};

Input input_of(std::string_view text) {
  Input input;
  const std::size_t key = std::min(text.find('%'), text.size());
  input.certificate = text.substr(0, key);
  text.remove_prefix(std::min(key + 1, text.size()));
  const std::size_t ca = std::min(text.find('%'), text.size());
  input.key = text.substr(0, ca);
  if (ca < text.size()) input.client_ca = text.substr(ca + 1);
  return input;
}

using Loaded = std::variant<std::shared_ptr<TlsContext>, std::string>;

/// The faults name the files "certificate", "key" and "CA".
std::string renamed(std::string fault, const std::string& path, const char* name) {
  for (auto at = fault.find(path); at != std::string::npos; at = fault.find(path))
    fault.replace(at, path.size(), name);
  return fault;
}

Loaded load(const Input& input) {
  const File certificate(input.certificate);
  const File key(input.key);
  const File client_ca(input.client_ca.value_or(""));
  const TlsSettings settings{certificate.path(), key.path(),
                             input.client_ca ? client_ca.path() : ""};
  Loaded loaded = TlsContext::load(settings);
  must(ERR_peek_error() == 0, "no error is left for the next call of OpenSSL");
  if (auto* fault = std::get_if<std::string>(&loaded)) {
    *fault = renamed(std::move(*fault), settings.certificate_path, "certificate");
    *fault = renamed(std::move(*fault), settings.key_path, "key");
    *fault = renamed(std::move(*fault), client_ca.path(), "CA");
  }
  return loaded;
}

void check_fault(const std::string& fault) {
  static constexpr std::array faults = {
      "certificate: contains no certificate in PEM format",
      "certificate: its certificate cannot be used (",
      "certificate: its certificate is too weak (",
      "key: contains no private key in PEM format",
      "key: its private key cannot be used (",
      "key: its private key is too weak (",
      "key: is encrypted with a passphrase; use a key without one",
      "key: the key does not match the certificate in certificate",
      "CA: contains no certificate in PEM format",
      "CA: its certificate cannot be used (",
      "CA: its certificate is too weak (",
  };
  must(std::any_of(faults.begin(), faults.end(),
                   [&](std::string_view begin) { return fault.starts_with(begin); }),
       "a fault names a file and what is wrong with it");
  must(fuzz::is_clean_text(fault) && fault.size() < 200 && fault.find('\n') == std::string::npos,
       "a fault is one line");
}

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeCertificate {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using Certificate = std::unique_ptr<X509, FreeCertificate>;

/// The first certificate of a file. OpenSSL reads it from memory here.
Certificate first_certificate(const std::string& pem) {
  const std::unique_ptr<BIO, FreeBio> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Certificate certificate(PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return certificate;
}

void check_context(SSL_CTX* context, const Input& input) {
  const Certificate first = first_certificate(input.certificate);
  const X509* certificate = SSL_CTX_get0_certificate(context);
  must(certificate != nullptr && first && X509_cmp(certificate, first.get()) == 0,
       "a server has the first certificate of its file");
  must(SSL_CTX_check_private_key(context) == 1, "a key matches its certificate");
  must(EVP_PKEY_get_security_bits(SSL_CTX_get0_privatekey(context)) >= security_bits_min,
       "a key is as long as a safe one");
  must(SSL_CTX_get_min_proto_version(context) == TLS1_2_VERSION, "TLS 1.2 is the minimum");
  const int asks = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  must(SSL_CTX_get_verify_mode(context) == (input.client_ca ? asks : SSL_VERIFY_NONE),
       "clients need a certificate if the server has their CA");
  if (!input.client_ca) return;
  must(sk_X509_NAME_num(SSL_CTX_get_client_CA_list(context)) > 0, "clients learn of the CAs");
  must(sk_X509_OBJECT_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(context))) > 0,
       "a server knows the CAs");
}

bool same(const Loaded& a, const Loaded& b) {
  const auto* fault = std::get_if<std::string>(&a);
  return a.index() == b.index() && (fault == nullptr || *fault == std::get<std::string>(b));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Input input = input_of(fuzz::text_of(data, std::min(size, input_bytes_max)));
  const Loaded loaded = load(input);
  if (const auto* fault = std::get_if<std::string>(&loaded)) {
    check_fault(*fault);
  } else {
    check_context(std::get<std::shared_ptr<TlsContext>>(loaded)->get(), input);
  }
  Input commented = input;
  for (std::string* file : {&commented.certificate, &commented.key}) *file = "a comment\n" + *file;
  must(same(load(commented), loaded), "a text before a block means nothing");
  return 0;
}
