#include "src/store/wal_check.hpp"

#include <endian.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "src/store/sqlite.hpp"

namespace celld::store {
namespace {

// SQLite's file format, section 4. All numbers are big-endian.
constexpr std::size_t log_header_bytes = 32;
constexpr std::size_t frame_header_bytes = 24;
constexpr std::size_t database_header_bytes = 100;
constexpr std::size_t reserved_bytes_at = 20;
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

bool fill_from(std::ifstream& file, std::streamoff at, Bytes& bytes) {
  file.clear();
  file.seekg(at);
  return fill(file, bytes);
}

bool is_page_size(std::uint32_t bytes) {
  return bytes >= 512 && bytes <= 65536 && std::has_single_bit(bytes);
}

/// Where in the log the last committed version of each page is.
using Pages = std::map<std::uint32_t, std::streamoff>;

/// Whether the database has the content of these pages, except in the bytes that it reserves at the
/// end of each, whose content the log does not know.
bool has_pages(std::ifstream& database, std::ifstream& log, const Pages& pages,
               std::size_t page_bytes) {
  Bytes header(database_header_bytes);
  if (!fill(database, header)) return false;
  const auto compared = page_bytes - header[reserved_bytes_at];
  Bytes here(compared);
  Bytes there(compared);
  return std::ranges::all_of(pages, [&](const auto& page) {
    const auto [number, at] = page;
    const auto from = static_cast<std::streamoff>(page_bytes) * (std::streamoff{number} - 1);
    return fill_from(log, at, here) && fill_from(database, from, there) && here == there;
  });
}

/// Reads the frames from the first on. Each is verified by the one before it: the first by the
/// header, if the header is valid.
bool scan(std::ifstream& log, std::ifstream& database) {
  Bytes header(log_header_bytes);
  if (!fill(log, header) || log.peek() == std::ifstream::traits_type::eof()) return false;
  const bool big_endian = (number_at(header, 0) & 1) != 0;
  auto before = checksum_at(header, 24);
  const bool has_header =
      (number_at(header, 0) | 1) == (magic | 1) && before == add({}, header, 0, 24, big_endian);
  const auto page_bytes = number_at(header, 8);
  if (!is_page_size(page_bytes)) return true;
  Bytes frame(frame_header_bytes + page_bytes);
  Bytes salts(&header[16], &header[24]);
  Pages pages;
  Pages uncommitted;
  bool is_verified = has_header;
  bool interrupted = false;
  bool committed = false;
  for (std::streamoff at = log_header_bytes; fill(log, frame);
       at += static_cast<std::streamoff>(frame.size())) {
    auto sum = add(before, frame, 0, 8, big_endian);
    sum = add(sum, frame, frame_header_bytes, frame.size(), big_endian);
    before = checksum_at(frame, 16);
    if (!is_verified) salts.assign(&frame[8], &frame[16]);
    const bool follows =
        !is_verified || (sum == before && std::memcmp(&frame[8], salts.data(), salts.size()) == 0);
    is_verified = true;
    if (follows && interrupted && committed) return true;
    interrupted = interrupted || !follows;
    const auto database_pages = number_at(frame, 4);
    committed = follows && database_pages != 0;
    if (has_header || interrupted) continue;
    uncommitted.insert_or_assign(number_at(frame, 0), at + frame_header_bytes);
    if (!committed) continue;
    uncommitted.merge(pages);  // Keeps the newer versions.
    pages = std::exchange(uncommitted, {});
    pages.erase(pages.upper_bound(database_pages), pages.end());
  }
  return !has_header && (pages.empty() || !has_pages(database, log, pages, page_bytes));
}

}  // namespace

bool lost_commits(const std::string& path) {
  const auto log_path = path + "-wal";
  std::error_code unreadable;  // Reported when the file is opened.
  if (!std::filesystem::exists(log_path, unreadable) && !unreadable) return false;
  std::ifstream log{log_path, std::ios::binary};
  std::ifstream database{path, std::ios::binary};
  const bool lost = scan(log, database);
  if (!log.is_open() || log.bad()) throw SqliteFailure("reading " + log_path + " failed");
  return lost;
}

}  // namespace celld::store
