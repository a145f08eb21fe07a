// SHA-256 (FIPS 180-4), by OpenSSL.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace celld::api {

using Digest = std::array<std::uint8_t, 32>;

/// Throws std::runtime_error when OpenSSL fails, which happens only in a broken installation.
Digest sha256(std::string_view text);

/// The digest as 64 hexadecimal digits.
std::string sha256_hex(std::string_view text);

}  // namespace celld::api
