// What the fuzzers share. A broken promise aborts the program, so that libFuzzer keeps the input
// and prints the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace celld::fuzz {

inline void must(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  // The address of an empty input may be null.
  return size == 0 ? std::string_view()
                   : std::string_view(reinterpret_cast<const char*>(data), size);
}

/// Choices that depend on the input alone. No bytes are set aside for them: seeds stay plain texts.
class Dice {
 public:
  explicit Dice(std::string_view input) {
    // FNV-1a; then xorshift64*.
    for (const char c : input) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    if (state_ == 0) state_ = 1;
  }

  /// 0 to `sides` - 1.
  std::size_t roll(std::size_t sides) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::size_t>((state_ * 0x2545f4914f6cdd1d) >> 33) % sides;
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325;
};

/// Valid UTF-8 without a NUL. Decodes code points, whereas celld's own checks compare byte ranges.
inline bool is_clean_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at++]);
    if (lead == 0) return false;
    if (lead < 0x80) continue;
    const int more = lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : lead >> 3 == 30 ? 3 : 0;
    if (more == 0) return false;
    std::uint32_t point = lead & (0x3fU >> more);
    for (int i = 0; i < more; ++i, ++at) {
      if (at == text.size() || (text[at] & 0xc0) != 0x80) return false;
      point = point << 6 | (static_cast<unsigned char>(text[at]) & 0x3f);
    }
    const std::uint32_t least = more == 1 ? 0x80 : more == 2 ? 0x800 : 0x10000;
    if (point < least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return false;
  }
  return true;
}

}  // namespace celld::fuzz
