// Base64url without padding (RFC 4648, section 5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace celld::api {

std::string base64url(const std::uint8_t* bytes, std::size_t size);

/// Nothing unless `text` is what base64url makes of some bytes.
std::optional<std::vector<std::uint8_t>> parse_base64url(std::string_view text);

}  // namespace celld::api
