// SHA-256 in the form of the header field Repr-Digest (RFC 9530).
#pragma once

#include <openssl/evp.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace celld {

/// Throws std::runtime_error when OpenSSL fails, which happens only in a broken installation.
class ReprDigest {
 public:
  ReprDigest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    check(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void add(std::string_view data) {
    check(EVP_DigestUpdate(context_.get(), data.data(), data.size()) == 1);
  }

  /// The digest of everything added, as "sha-256=:…:". Call once.
  std::string text() {
    std::array<unsigned char, 32> digest{};
    check(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
    std::array<unsigned char, 45> base64{};
    const int length = EVP_EncodeBlock(base64.data(), digest.data(), digest.size());
    std::string text = "sha-256=:";
    text.append(base64.begin(), base64.begin() + length);
    return text += ':';
  }

 private:
  static void check(bool good) {
    if (!good) throw std::runtime_error("OpenSSL has no SHA-256");
  }

  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace celld
