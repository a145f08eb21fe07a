#include "src/http/api/base64url.hpp"

namespace celld::api {
namespace {

constexpr std::string_view letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string base64url(const std::uint8_t* bytes, std::size_t size) {
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (std::size_t n = 0; n < size; ++n) {
    bits = (bits << 8) | bytes[n];
    for (count += 8; count >= 6; count -= 6) text += letters[(bits >> (count - 6)) & 63];
  }
  if (count > 0) text += letters[(bits << (6 - count)) & 63];
  return text;
}

std::optional<std::vector<std::uint8_t>> parse_base64url(std::string_view text) {
  std::vector<std::uint8_t> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto value = letters.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::uint8_t>(bits >> count));
  }
  if (base64url(bytes.data(), bytes.size()) != text) return std::nullopt;
  return bytes;
}

}  // namespace celld::api
