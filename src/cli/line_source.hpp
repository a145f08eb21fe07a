// A file or a pipe with one job a line, as the body of batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/failure.hpp"
#include "src/cli/upload_body.hpp"

namespace celld::cli {

/// Returns the lines as they arrive, and only whole ones unless a line is very long, so that a
/// pause of a pipe falls between two lines. A file can be read again from any line; for a pipe, the
/// most recent lines are kept.
class LineSource final : public UploadBody {
 public:
  static constexpr std::size_t kept_bytes_max = 64 << 20;

  /// `path`: "-" is standard input. `kept_max`: how many bytes of a pipe are kept. Throws a Failure
  /// if the file cannot be opened.
  explicit LineSource(std::string path, std::size_t kept_max = kept_bytes_max);
  ~LineSource() override;
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  /// The length of the file, from where reading began. None: the source is a pipe.
  std::optional<std::uint64_t> bytes_total() const { return bytes_total_; }

  /// Whether `go_to` can go back to this line.
  bool has_kept(std::uint64_t line) const { return bytes_total_ || line >= kept_line_; }
  /// Moves to this line. Throws a Failure if there is no such line, or if it is no longer kept.
  void go_to(std::uint64_t line) { go_to({}, line); }
  /// The same, but first gives the lines of `again`, which are before it, in ascending order.
  void go_to(const std::vector<std::uint64_t>& again, std::uint64_t line);
  /// Whether another line follows; waits for it.
  bool has_more();

  std::string next() override;
  bool has_ended() const override { return is_at_end_ && given_ == text_.size() && again_.empty(); }
  int descriptor() const override { return descriptor_; }
  void read() override;
  std::string filler() const override;

  std::uint64_t bytes() const { return bytes_given_; }  ///< Given so far, or skipped.
  std::uint64_t line() const { return line_; }          ///< The next one to give.
  /// Whether each line that was given since `go_to`, or is to be given again, has an idempotency
  /// key. The last line counts once it is whole, or the source has ended: celld accepts no part of
  /// a line.
  bool has_keys() const;

 private:
  std::string name() const;
  Failure unreadable() const;
  void move_to(std::uint64_t line);
  void rewind(std::uint64_t line);
  std::string whole_line();
  /// `wanted`: the line to reach, for the message of a failure.
  void skip_line(std::uint64_t wanted);
  /// The end of the text that may be given.
  std::size_t ready() const;
  void forget_old();
  void note(const std::string& piece);
  static bool lacks_key(const std::string& line);

  const std::string path_;
  const std::size_t kept_max_;
  int descriptor_ = -1;
  std::optional<std::uint64_t> bytes_total_;
  std::int64_t begin_ = 0;  ///< The offset of the first line in the file.
  bool is_at_end_ = false;

  std::string text_;             ///< What has been read; of a pipe, from `kept_line_` on.
  std::uint64_t kept_line_ = 1;  ///< Stays 1 for a file: every line counts as kept.
  std::size_t given_ = 0;        ///< Of `text_`.
  std::size_t whole_ = 0;        ///< The end of the last whole line of `text_`.
  std::uint64_t bytes_given_ = 0;
  std::uint64_t line_ = 1;

  std::string again_;  ///< Lines to give before those of `text_`.
  std::uint64_t lines_without_key_ = 0;
  std::string open_line_;  ///< The part of a line that has been given.
};

}  // namespace celld::cli
