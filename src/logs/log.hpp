// celld's log: from any thread to standard error. Writers never wait for its reader.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>

#include "src/logs/flood_control.hpp"
#include "src/logs/line.hpp"

namespace celld::logs {

struct Settings {
  Level level = Level::info;  ///< Lower levels are not written.
  Format format = Format::text;
  std::size_t queue_lines_max = 2048;  ///< Beyond it, the oldest are lost; a line tells how many.
  FloodControl::Limits floods{};
};

/// One thread writes the lines from a bounded queue, another one reports floods; both block all
/// signals. No method but `finish` blocks.
class Log {
 public:
  /// `file` must outlive the log.
  Log(Settings settings, std::FILE* file);
  /// Waits until every line is written, however long that takes.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Whether lines of this level are written. If not, the caller need not make one.
  bool wants(Level level) const;

  void write(const Line& line);

  /// Like write(), but limits a flood of lines with this message about one subject. The number of
  /// suppressed lines is logged when the flood ends, and every minute while it continues.
  void write_limited(const Line& line, std::string_view about);

  /// Reports suppressed lines, then waits until every line is written. False when that takes too
  /// long.
  bool finish(std::chrono::milliseconds within);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace celld::logs
