#include "src/cli/line_source.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

/// Small enough for a socket that has room to take it at once.
constexpr std::size_t piece_bytes = 16 << 10;
constexpr std::size_t read_bytes = 64 << 10;
/// A longer line is sent in parts; celld rejects it.
constexpr std::size_t line_bytes_max = (1 << 20) + 1;

/// Whether the line is an object with this member: a member of a nested object does not count, nor
/// one whose name is written with escapes.
bool has_member(std::string_view line, std::string_view name) {
  int depth = 0;
  std::optional<std::size_t> string_at;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (string_at) {
      if (c == '\\') ++i;
      if (c != '"') continue;
      const bool is_named = line.substr(*string_at, i - *string_at) == name;
      string_at.reset();
      const auto next = line.find_first_not_of(" \t\r", i + 1);
      if (is_named && depth == 1 && next != line.npos && line[next] == ':') return true;
    } else if (c == '"') {
      string_at = i + 1;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

LineSource::LineSource(std::string path, std::size_t kept_max)
    : path_(std::move(path)), kept_max_(kept_max) {
  descriptor_ = path_ == "-" ? STDIN_FILENO : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw unreadable();
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
  begin_ = std::max<std::int64_t>(::lseek(descriptor_, 0, SEEK_CUR), 0);
  bytes_total_ = static_cast<std::uint64_t>(std::max<std::int64_t>(status.st_size - begin_, 0));
}

LineSource::~LineSource() {
  if (path_ != "-") ::close(descriptor_);
}

std::string LineSource::name() const {
  return path_ == "-" ? "standard input" : cleaned(path_);
}

Failure LineSource::unreadable() const {
  return usage_failure(name() + " cannot be read: " + std::generic_category().message(errno));
}

void LineSource::go_to(const std::vector<std::uint64_t>& again, std::uint64_t line) {
  again_.clear();
  lines_without_key_ = 0;
  std::uint64_t without_key = 0;
  for (const auto earlier : again) {
    move_to(earlier);
    const auto text = whole_line();
    if (lacks_key(text)) ++without_key;
    again_ += text + '\n';
  }
  move_to(line);
  lines_without_key_ = without_key;
}

void LineSource::move_to(std::uint64_t line) {
  if (line < line_ || !open_line_.empty()) rewind(line);
  while (line_ < line) skip_line(line);
}

/// Returns the next line without consuming it.
std::string LineSource::whole_line() {
  for (;;) {
    const auto end = text_.find('\n', given_);
    if (end != std::string::npos || is_at_end_) return text_.substr(given_, end - given_);
    read();
  }
}

/// Goes back to the beginning, or, in a pipe, to the first line that is kept.
void LineSource::rewind(std::uint64_t line) {
  if (!has_kept(line))
    throw usage_failure("line " + std::to_string(line) + " of " + name() + " is no longer kept");
  if (bytes_total_) {
    if (::lseek(descriptor_, begin_, SEEK_SET) < 0) throw unreadable();
    text_.clear();
    whole_ = 0;
    is_at_end_ = false;
    bytes_given_ = 0;
  } else {
    bytes_given_ -= given_;
  }
  given_ = 0;
  line_ = kept_line_;
  open_line_.clear();
}

void LineSource::skip_line(std::uint64_t wanted) {
  for (auto end = text_.find('\n', given_);; end = text_.find('\n', given_)) {
    if (end != std::string::npos) {
      bytes_given_ += end + 1 - given_;
      given_ = end + 1;
      ++line_;
      return forget_old();
    }
    if (is_at_end_ && given_ == text_.size())
      throw usage_failure(name() + " has no line " + std::to_string(wanted));
    if (is_at_end_) {  // The last line has no line break.
      bytes_given_ += text_.size() - given_;
      given_ = text_.size();
      ++line_;
      return;
    }
    read();
  }
}

bool LineSource::has_more() {
  if (!again_.empty()) return true;
  while (ready() == given_ && !is_at_end_) read();
  return ready() > given_;
}

std::size_t LineSource::ready() const {
  if (is_at_end_) return text_.size();
  if (given_ < whole_) return whole_;
  const bool is_long = !open_line_.empty() || text_.size() - given_ > line_bytes_max;
  return is_long ? text_.size() : given_;
}

std::string LineSource::next() {
  if (!again_.empty()) {
    std::string piece = again_.substr(0, piece_bytes);
    again_.erase(0, piece.size());
    return piece;
  }
  std::string piece = text_.substr(given_, std::min(piece_bytes, ready() - given_));
  given_ += piece.size();
  bytes_given_ += piece.size();
  note(piece);
  forget_old();
  return piece;
}

void LineSource::read() {
  pollfd input{descriptor_, POLLIN, 0};
  ::poll(&input, 1, -1);  // Standard input may be non-blocking.
  std::array<char, read_bytes> buffer;
  const auto count = ::read(descriptor_, buffer.data(), buffer.size());
  if (count < 0 && errno != EINTR && errno != EAGAIN) throw unreadable();
  if (count == 0) is_at_end_ = true;
  if (count <= 0) return;
  const std::string_view piece(buffer.data(), static_cast<std::size_t>(count));
  if (const auto end = piece.rfind('\n'); end != piece.npos) whole_ = text_.size() + end + 1;
  text_ += piece;
}

/// A blank before the next line, not a line break: celld counts empty lines.
std::string LineSource::filler() const {
  return open_line_.empty() ? " " : "";
}

/// Drops text that `next` has returned: all of it for a file; for a pipe, all but half of
/// `kept_max_` once there is more than `kept_max_`.
void LineSource::forget_old() {
  std::size_t end = given_;
  if (given_ <= (bytes_total_ ? read_bytes : kept_max_)) return;
  if (!bytes_total_) {
    const auto last = text_.rfind('\n', given_ - kept_max_ / 2);
    if (last == std::string::npos) return;
    end = last + 1;
    kept_line_ += static_cast<std::uint64_t>(
        std::ranges::count(std::string_view(text_).substr(0, end), '\n'));
  }
  text_.erase(0, end);
  given_ -= end;
  whole_ -= std::min(whole_, end);
}

/// Counts lines, and those that have no idempotency key. A line that spans pieces is joined.
void LineSource::note(const std::string& piece) {
  std::size_t at = 0;
  for (auto end = piece.find('\n'); end != std::string::npos; end = piece.find('\n', at)) {
    open_line_.append(piece, at, end - at);
    if (lacks_key(open_line_)) ++lines_without_key_;
    open_line_.clear();
    at = end + 1;
    ++line_;
  }
  open_line_.append(piece, at);
}

bool LineSource::has_keys() const {
  return lines_without_key_ == 0 && !(has_ended() && lacks_key(open_line_));
}

bool LineSource::lacks_key(const std::string& line) {
  return line.find_first_not_of(" \t\r") != std::string::npos &&
         !has_member(line, "idempotency_key");
}

}  // namespace celld::cli
