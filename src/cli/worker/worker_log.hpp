// What a worker says on standard error.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace celld::cli {

/// Thread-safe. No call waits for the reader of standard error, because heartbeats and signals must
/// not: a thread writes the lines. If they come faster than the reader takes them, the newest are
/// lost, and a line says how many. Every text must be safe for a terminal: see `cleaned`.
class WorkerLog {
 public:
  static constexpr std::size_t lines_max = 1000;

  /// `write` writes one line, and may block.
  explicit WorkerLog(bool quiet, std::function<void(const std::string&)> write = print_line,
                     std::chrono::milliseconds patience = std::chrono::seconds{1});
  /// Waits until every line is written, at most for `patience`.
  ~WorkerLog();
  WorkerLog(const WorkerLog&) = delete;
  WorkerLog& operator=(const WorkerLog&) = delete;

  /// Reports normal progress; prints nothing when quiet.
  void note(const std::string& text) const;
  void problem(const std::string& text) const;

 private:
  struct Queue;

  static void print_line(const std::string& text);
  static void write_lines(Queue& queue);

  const bool quiet_;
  const std::chrono::milliseconds patience_;
  /// The writing thread owns it too: while the reader takes nothing, the thread outlives the log.
  const std::shared_ptr<Queue> queue_;
};

}  // namespace celld::cli
