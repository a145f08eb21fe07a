#include "src/http/api/tokens.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "src/http/api/base64url.hpp"

namespace celld::api {
namespace {

constexpr std::size_t random_bytes = 32;
constexpr std::string_view prefix = "celld_";

}  // namespace

bool same_digest(const Digest& left, const Digest& right) {
  return CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

bool is_token(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("-._~+/").find(c) != std::string_view::npos;
  });
}

std::optional<std::string> make_token() {
  std::array<std::uint8_t, random_bytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return std::nullopt;
  return std::string(prefix) + base64url(bytes.data(), bytes.size());
}

}  // namespace celld::api
