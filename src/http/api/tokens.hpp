// The bearer tokens of the API: what one looks like, and how its digest is compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/http/api/digest.hpp"

namespace celld::api {

/// True when both are the same; takes as long wherever they differ.
bool same_digest(const Digest& left, const Digest& right);

/// What the grammar of RFC 6750 allows: letters, digits, `-._~+/`, and `=` at the end.
bool is_token(std::string_view text);

/// "celld_" and 256 random bits in letters, digits, `-` and `_`. Nothing: OpenSSL has none.
std::optional<std::string> make_token();

}  // namespace celld::api
