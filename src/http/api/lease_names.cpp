#include "src/http/api/lease_names.hpp"

#include <algorithm>
#include <stdexcept>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "src/http/api/base64url.hpp"

namespace celld::api {
namespace {

constexpr std::size_t payload_bytes = 24;
constexpr std::size_t code_bytes = 16;
using Payload = std::array<std::uint8_t, payload_bytes>;
using Code = std::array<std::uint8_t, code_bytes>;
using Bytes = std::array<std::uint8_t, payload_bytes + code_bytes>;

/// Big-endian, so that names of one job begin alike.
template <class Out>
Out put(std::uint64_t number, Out out) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    *out++ = static_cast<std::uint8_t>(number >> shift);
  }
  return out;
}

std::uint64_t take(const std::uint8_t* bytes) {
  std::uint64_t number = 0;
  for (int n = 0; n < 8; ++n) number = number << 8 | bytes[n];
  return number;
}

using Mac = std::unique_ptr<EVP_MAC, void (*)(EVP_MAC*)>;
using MacState = std::unique_ptr<EVP_MAC_CTX, void (*)(EVP_MAC_CTX*)>;

void require(bool done) {
  if (!done) throw std::runtime_error("OpenSSL has no HMAC with SHA-256");
}

MacState keyed_mac(const std::array<std::uint8_t, 16>& key) {
  const Mac hmac{EVP_MAC_fetch(nullptr, "HMAC", nullptr), EVP_MAC_free};
  require(hmac != nullptr);
  MacState state{EVP_MAC_CTX_new(hmac.get()), EVP_MAC_CTX_free};
  std::string digest = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  require(state && EVP_MAC_init(state.get(), key.data(), key.size(), parameters) == 1);
  return state;
}

Code code_of(const EVP_MAC_CTX& keyed, const std::uint8_t* payload) {
  const MacState state{EVP_MAC_CTX_dup(&keyed), EVP_MAC_CTX_free};
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> whole{};
  std::size_t size = 0;
  require(state && EVP_MAC_update(state.get(), payload, payload_bytes) == 1 &&
          EVP_MAC_final(state.get(), whole.data(), &size, whole.size()) == 1);
  Code code{};
  std::copy_n(whole.begin(), code.size(), code.begin());
  return code;
}

}  // namespace

LeaseNames::LeaseNames(const std::array<std::uint64_t, 2>& secret) {
  std::array<std::uint8_t, 16> key{};
  put(secret[1], put(secret[0], key.begin()));
  keyed_ = keyed_mac(key);
}

std::string LeaseNames::name(const NamedLease& lease) const {
  Bytes bytes{};
  const auto code_at =
      put(lease.lease.counter, put(lease.lease.epoch, put(lease.job, bytes.begin())));
  const auto code = code_of(*keyed_, bytes.data());
  std::copy(code.begin(), code.end(), code_at);
  return base64url(bytes.data(), bytes.size());
}

std::optional<NamedLease> LeaseNames::parse(std::string_view name) const {
  const auto bytes = parse_base64url(name);
  if (!bytes || bytes->size() != Bytes{}.size()) return std::nullopt;
  const auto code = code_of(*keyed_, bytes->data());
  if (CRYPTO_memcmp(code.data(), bytes->data() + payload_bytes, code.size()) != 0) {
    return std::nullopt;
  }
  const std::uint8_t* at = bytes->data();
  return NamedLease{take(at), {take(at + 8), take(at + 16)}};
}

}  // namespace celld::api
