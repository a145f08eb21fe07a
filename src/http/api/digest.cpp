#include "src/http/api/digest.hpp"

#include <memory>
#include <stdexcept>

#include <openssl/evp.h>

namespace celld::api {
namespace {

/// Fetched once: OpenSSL 3 would otherwise look the algorithm up on every call.
const EVP_MD* algorithm() {
  static const std::unique_ptr<EVP_MD, void (*)(EVP_MD*)> found{
      EVP_MD_fetch(nullptr, "SHA256", nullptr), EVP_MD_free};
  return found.get();
}

}  // namespace

Digest sha256(std::string_view text) {
  Digest digest{};
  unsigned size = 0;
  const bool made = algorithm() != nullptr && EVP_Digest(text.data(), text.size(), digest.data(),
                                                         &size, algorithm(), nullptr) == 1;
  if (!made || size != digest.size()) throw std::runtime_error("OpenSSL has no SHA-256");
  return digest;
}

std::string sha256_hex(std::string_view text) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const std::uint8_t byte : sha256(text)) {
    hex += digits[byte >> 4];
    hex += digits[byte & 15];
  }
  return hex;
}

}  // namespace celld::api
