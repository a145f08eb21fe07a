// The bearer tokens of the API: their form, and the comparison of their digests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/http/api/digest.hpp"

namespace celld::api {

/// Whether both are equal, in constant time.
bool same_digest(const Digest& left, const Digest& right);

/// Whether `text` is a token by RFC 6750: letters, digits and `-._~+/`, then any number of `=`.
bool is_token(std::string_view text);

/// "celld_" and 256 random bits as letters, digits, `-` and `_`. Nothing if OpenSSL has no
/// randomness.
std::optional<std::string> make_token();

}  // namespace celld::api
