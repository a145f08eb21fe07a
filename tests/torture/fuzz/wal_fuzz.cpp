// The check of a write-ahead log that SQLite is about to open. An input is such a log. It is
// checked as it is, and once more with correct checksums: whole, cut off as by a power cut, and
// with a bit that has changed.
#include <endian.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/store/wal_check.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::Dice;
using fuzz::must;

namespace {

// SQLite's file format, section 4.1.
constexpr std::size_t header_bytes = 32;
constexpr std::size_t frame_header_bytes = 24;
constexpr std::size_t salts_at = 16;
constexpr std::size_t frame_checksum_at = 16;
constexpr std::size_t reserved_bytes_at = 20;
constexpr std::uint32_t magic = 0x377f0682;
constexpr std::uint32_t pages_max = 8;
constexpr std::size_t frames_max = 24;

void write_file(const std::string& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  must(file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
       "there is room for a file");
  ::close(file);
}

bool lost(std::string_view log, std::string_view database) {
  static const std::string path = (std::filesystem::temp_directory_path() /
                                   ("celld-fuzz-wal-" + std::to_string(::getpid()) + ".db"))
                                      .string();
  write_file(path, database);
  write_file(path + "-wal", log);
  const bool found = store::lost_commits(path);
  ::unlink(path.c_str());
  ::unlink((path + "-wal").c_str());
  return found;
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return be32toh(number);
}

void put(std::string& bytes, std::size_t at, std::uint32_t number) {
  const std::uint32_t big = htobe32(number);
  std::memcpy(bytes.data() + at, &big, sizeof big);
}

/// The two sums of the format, over words of the byte order that the log's header names.
struct Sum {
  void add(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      first += word(bytes, at) + second;
      second += word(bytes, at + 4) + first;
    }
  }
  std::uint32_t word(std::string_view bytes, std::size_t at) const {
    const std::uint32_t big = number_at(bytes, at);
    return is_big_endian ? big : __builtin_bswap32(big);
  }

  bool is_big_endian = false;
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

/// A log as SQLite would have written it.
struct Log {
  std::size_t page_bytes = 512;
  std::string bytes;
  std::vector<std::uint32_t> pages;  ///< Of each frame.
  std::vector<std::uint32_t>
      committed;  ///< The pages of the database; 0: not the last of a commit.

  std::size_t frame_bytes() const { return frame_header_bytes + page_bytes; }
  std::size_t frame_at(std::size_t n) const { return header_bytes + n * frame_bytes(); }
  std::size_t count() const { return pages.size(); }
};

/// The input with a valid header, few pages, and correct checksums.
Log log_of(std::string_view input, Dice& dice) {
  Log log;
  log.page_bytes = 512 << dice.roll(2);
  log.bytes.assign(input);
  const std::size_t whole =
      (std::max(input.size(), header_bytes) - header_bytes) / log.frame_bytes();
  log.bytes.resize(log.frame_at(std::min(whole, frames_max)));
  Sum sum{dice.roll(2) == 0};
  put(log.bytes, 0, sum.is_big_endian ? magic | 1 : magic);
  put(log.bytes, 4, 3'007'000);
  put(log.bytes, 8, static_cast<std::uint32_t>(log.page_bytes));
  sum.add(std::string_view(log.bytes).substr(0, 24));
  put(log.bytes, 24, sum.first);
  put(log.bytes, 28, sum.second);
  for (std::size_t at = header_bytes; at < log.bytes.size(); at += log.frame_bytes()) {
    log.pages.push_back(number_at(log.bytes, at) % pages_max + 1);
    log.committed.push_back(number_at(log.bytes, at + 4) % (pages_max + 1));
    put(log.bytes, at, log.pages.back());
    put(log.bytes, at + 4, log.committed.back());
    log.bytes.replace(at + 8, 8, log.bytes, salts_at, 8);
    const std::string_view frame = std::string_view(log.bytes).substr(at, log.frame_bytes());
    sum.add(frame.substr(0, 8));
    sum.add(frame.substr(frame_header_bytes));
    put(log.bytes, at + frame_checksum_at, sum.first);
    put(log.bytes, at + frame_checksum_at + 4, sum.second);
  }
  return log;
}

std::string flipped(std::string bytes, std::size_t at, std::size_t bit) {
  bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
  return bytes;
}

/// What the commits of a log leave in the database.
struct Content {
  std::map<std::uint32_t, std::size_t> frames;  ///< The last frame of each page.
  std::string database;                         ///< Empty: the log has no commit.
};

Content content_of(const Log& log) {
  Content content;
  std::map<std::uint32_t, std::size_t> transaction;
  for (std::size_t n = 0; n < log.count(); ++n) {
    transaction[log.pages[n]] = n;
    if (log.committed[n] == 0) continue;
    for (const auto& [page, frame] : transaction) content.frames[page] = frame;
    std::erase_if(content.frames, [&](const auto& each) { return each.first > log.committed[n]; });
    content.database.resize(log.committed[n] * log.page_bytes);
    transaction.clear();
  }
  for (const auto& [page, frame] : content.frames)
    content.database.replace((page - 1) * log.page_bytes, log.page_bytes, log.bytes,
                             log.frame_at(frame) + frame_header_bytes, log.page_bytes);
  return content;
}

void check_cuts(const Log& log, Dice& dice) {
  must(!lost(log.bytes, ""), "a whole log has lost nothing");
  for (int i = 0; i < 3; ++i) {
    const std::string_view cut = std::string_view(log.bytes).substr(0, dice.roll(log.bytes.size()));
    if (cut.size() >= header_bytes) must(!lost(cut, ""), "a power cut loses no commit");
  }
}

/// Whether the end of a transaction and the beginning of the next one follow the last wrong frame:
/// no power cut leaves such a log.
bool is_loss(const Log& log, std::size_t last_wrong) {
  for (std::size_t n = last_wrong + 1; n + 1 < log.count(); ++n)
    if (log.committed[n] != 0) return true;
  return false;
}

void check_changed_frame(const Log& log, Dice& dice) {
  const std::size_t n = dice.roll(log.count());
  const std::size_t at =
      dice.roll(2) == 0 ? dice.roll(frame_header_bytes) : dice.roll(log.frame_bytes());
  const std::string changed = flipped(log.bytes, log.frame_at(n) + at, dice.roll(8));
  // The next frame is verified with the checksum of this one.
  const bool is_sum = at >= frame_checksum_at && at < frame_header_bytes;
  must(lost(changed, "") == is_loss(log, is_sum ? n + 1 : n),
       "a frame that changed is found, unless a power cut explains it");
}

/// The salts or the checksum of the header are wrong, as when SQLite was about to replace it.
void check_changed_header(const Log& log, Dice& dice) {
  const std::string changed = flipped(log.bytes, 12 + dice.roll(header_bytes - 12), dice.roll(8));
  const auto [frames, database] = content_of(log);
  must(lost(changed, database) == frames.empty(),
       "a log whose header is wrong has lost nothing that the database has");
  if (frames.empty()) return;
  const std::size_t page = std::next(frames.begin(), dice.roll(frames.size()))->first - 1;
  const auto reserved = static_cast<unsigned char>(database[reserved_bytes_at]);
  const std::size_t at = page * log.page_bytes + dice.roll(log.page_bytes - reserved);
  must(lost(changed, "") && lost(changed, flipped(database, at, dice.roll(8))),
       "a log whose header is wrong has lost what the database lacks");
}

/// Whether SQLite has pages of this size.
bool is_page_size(std::uint32_t bytes) {
  for (std::uint32_t size = 512; size <= 65536; size *= 2)
    if (bytes == size) return true;
  return false;
}

void check_as_it_is(std::string_view input) {
  const bool found = lost(input, "");
  must(lost(input, "") == found, "a log has one meaning");
  must(!found || input.size() > header_bytes, "a log without frames has lost nothing");
  if (input.size() > header_bytes && !is_page_size(number_at(input, 8)))
    must(found && lost(input, input), "a log of no known page size is damaged");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::text_of(data, size);
  check_as_it_is(input);
  Dice dice(input);
  const Log log = log_of(input, dice);
  if (log.count() == 0) return 0;
  check_cuts(log, dice);
  check_changed_frame(log, dice);
  check_changed_header(log, dice);
  return 0;
}
