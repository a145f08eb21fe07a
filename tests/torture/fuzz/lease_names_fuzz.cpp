// The names of leases, and base64url. celld accepts only names that it has made with its secret.
// The bytes of the input also make a lease: a change to any character of its name must be noticed.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/http/api/base64url.hpp"
#include "src/http/api/lease_names.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using api::LeaseNames;
using api::NamedLease;
using fuzz::must;

namespace {

constexpr std::string_view letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const LeaseNames& names() {
  static const LeaseNames names({1, 2});
  return names;
}

const LeaseNames& names_of_another_celld() {
  static const LeaseNames names({1, 3});
  return names;
}

void check_text(std::string_view text) {
  const auto lease = names().parse(text);
  if (!lease) return;
  must(names().name(*lease) == text, "a name has one form");
  must(!names_of_another_celld().parse(text), "a name has one secret");
}

void check_base64url(std::string_view text) {
  const auto bytes = api::parse_base64url(text);
  const bool has_other_letters = text.find_first_not_of(letters) != std::string_view::npos;
  must(!bytes || !has_other_letters, "base64url has 64 letters");
  must(!bytes || bytes->size() == text.size() * 6 / 8, "four letters are three bytes");
  if (bytes) must(api::base64url(bytes->data(), bytes->size()) == text, "bytes have one form");

  const auto* data = reinterpret_cast<const std::uint8_t*>(text.data());
  const std::string written = api::base64url(data, text.size());
  must(written.find_first_not_of(letters) == std::string::npos, "base64url has 64 letters");
  const auto again = api::parse_base64url(written);
  must(again && std::equal(again->begin(), again->end(), data, data + text.size()),
       "bytes survive formatting and parsing");
}

/// The first 24 bytes of the input.
NamedLease lease_of(std::string_view bytes) {
  std::array<std::uint64_t, 3> numbers{};
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 24); ++i)
    numbers.at(i / 8) = numbers.at(i / 8) << 8 | static_cast<unsigned char>(bytes[i]);
  return {numbers[0], {numbers[1], numbers[2]}};
}

void check_lease(std::string_view bytes) {
  const NamedLease lease = lease_of(bytes);
  const std::string name = names().name(lease);
  must(names().parse(name) == lease, "a name means the lease that it was made for");
  must(!names_of_another_celld().parse(name), "a name has one secret");
  for (const std::string& longer : {name + "A", name + "=", "A" + name})
    must(!names().parse(longer), "a name has one length");
  fuzz::Dice dice(bytes);
  for (std::size_t i = 0; i < name.size(); ++i) {
    std::string other = name;
    other[i] = letters[(letters.find(name[i]) + 1 + dice.roll(letters.size() - 1)) % 64];
    must(!names().parse(other), "no part of a name can be changed");
  }
  must(!names().parse(name.substr(0, dice.roll(name.size()))), "a name has one length");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  check_text(text);
  check_base64url(text);
  check_lease(text);
  return 0;
}
