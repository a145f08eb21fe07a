#include "src/store/wal_check.hpp"

#include <endian.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "src/store/sqlite.hpp"

namespace celld::store {
namespace {

// SQLite's file format, section 4. All numbers are big-endian.
constexpr std::size_t header_bytes = 32;
constexpr std::size_t frame_header_bytes = 24;
constexpr std::uint32_t magic = 0x377f0682;  // The lowest bit: the checksums read big-endian words.

using Bytes = std::vector<unsigned char>;

std::uint32_t number_at(const Bytes& bytes, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return be32toh(number);
}

struct Checksum {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  bool operator==(const Checksum&) const = default;
};

Checksum checksum_at(const Bytes& bytes, std::size_t at) {
  return {number_at(bytes, at), number_at(bytes, at + 4)};
}

Checksum add(Checksum sum, const Bytes& bytes, std::size_t from, std::size_t to, bool big_endian) {
  for (; from < to; from += 8) {
    const auto words = checksum_at(bytes, from);
    sum.first += (big_endian ? words.first : __builtin_bswap32(words.first)) + sum.second;
    sum.second += (big_endian ? words.second : __builtin_bswap32(words.second)) + sum.first;
  }
  return sum;
}

/// False: the file does not have that many more bytes.
bool fill(std::ifstream& file, Bytes& bytes) {
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file.gcount() == static_cast<std::streamsize>(bytes.size());
}

/// The header is on disk before the first frame is written.
bool scan(std::ifstream& file) {
  Bytes header(header_bytes);
  if (!fill(file, header) || file.peek() == std::ifstream::traits_type::eof()) return false;
  const bool big_endian = (number_at(header, 0) & 1) != 0;
  auto before = checksum_at(header, 24);
  if ((number_at(header, 0) | 1) != (magic | 1)) return true;
  if (before != add({}, header, 0, 24, big_endian)) return true;
  Bytes frame(frame_header_bytes + number_at(header, 8));
  bool interrupted = false;
  for (bool committed = false; fill(file, frame);) {
    auto sum = add(before, frame, 0, 8, big_endian);
    sum = add(sum, frame, frame_header_bytes, frame.size(), big_endian);
    before = checksum_at(frame, 16);
    const bool follows = sum == before && std::memcmp(&frame[8], &header[16], 8) == 0;  // Salts.
    if (follows && interrupted && committed) return true;
    interrupted = interrupted || !follows;
    committed = follows && number_at(frame, 4) != 0;
  }
  return false;
}

}  // namespace

bool lost_commits(const std::string& path) {
  std::error_code unreadable;  // Reported when the file is opened.
  if (!std::filesystem::exists(path, unreadable) && !unreadable) return false;
  std::ifstream file{path, std::ios::binary};
  const bool lost = scan(file);
  if (!file.is_open() || file.bad()) throw SqliteFailure("cannot read " + path);
  return lost;
}

}  // namespace celld::store
