#include "src/http/api/lease_names.hpp"

#include <algorithm>
#include <stdexcept>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

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

Code code_of(const std::array<std::uint8_t, 16>& key, const std::uint8_t* payload) {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> whole{};
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), payload, payload_bytes,
           whole.data(), &size) == nullptr ||
      size < code_bytes) {
    throw std::runtime_error("OpenSSL has no HMAC with SHA-256");
  }
  Code code{};
  std::copy_n(whole.begin(), code.size(), code.begin());
  return code;
}

}  // namespace

LeaseNames::LeaseNames(const std::array<std::uint64_t, 2>& secret) : key_{} {
  put(secret[1], put(secret[0], key_.begin()));
}

std::string LeaseNames::name(const NamedLease& lease) const {
  Bytes bytes{};
  const auto code_at =
      put(lease.lease.counter, put(lease.lease.epoch, put(lease.job, bytes.begin())));
  const auto code = code_of(key_, bytes.data());
  std::copy(code.begin(), code.end(), code_at);
  return base64url(bytes.data(), bytes.size());
}

std::optional<NamedLease> LeaseNames::parse(std::string_view name) const {
  const auto bytes = parse_base64url(name);
  if (!bytes || bytes->size() != Bytes{}.size()) return std::nullopt;
  const auto code = code_of(key_, bytes->data());
  if (CRYPTO_memcmp(code.data(), bytes->data() + payload_bytes, code.size()) != 0) {
    return std::nullopt;
  }
  const std::uint8_t* at = bytes->data();
  return NamedLease{take(at), {take(at + 8), take(at + 16)}};
}

}  // namespace celld::api
