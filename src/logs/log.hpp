// celld's log: from any thread to standard error, without anybody waiting for whoever reads that.
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
  Level level = Level::info;  ///< Lines below it are not written.
  Format format = Format::text;
  std::size_t queue_lines_max = 8192;  ///< Then the oldest are lost, and a line says how many.
  FloodControl::Terms floods{};
};

/// A thread of its own writes the lines, which wait for it in a bounded queue. No method blocks
/// except `finish`. Its threads take no signals.
class Log {
 public:
  /// `file` must outlive it.
  Log(Settings settings, std::FILE* file);
  /// Waits until all is written, for however long that takes.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// To spare the work of making a line that would not be written.
  bool wants(Level level) const;

  void write(const Line& line);

  /// As write, but of a flood of lines with this message about the same thing, only so many are
  /// written. How many were not is said when it ends, and each minute that it goes on.
  void write_limited(const Line& line, std::string_view about);

  /// Says what was held back until now, and waits until all is written. False: that took too long.
  bool finish(std::chrono::milliseconds within);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace celld::logs
