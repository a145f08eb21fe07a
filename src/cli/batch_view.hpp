// Human-readable views of batches.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/failure.hpp"
#include "src/cli/table.hpp"
#include "src/cli/time_words.hpp"
#include "src/json/json.hpp"

namespace celld::cli {

class BatchTable {
 public:
  BatchTable();
  void add(const json::Value& batch);
  std::string text(const TableLook& look) const { return table_.text(look); }

 private:
  Table table_;
};

bool is_finished(const json::Value& batch);

/// Success once every job has succeeded; a failure if one failed or was cancelled.
ExitCode outcome_of_batch(const json::Value& batch);

/// Which lines of a file a batch has: those of `again`, in ascending order, then all from `first`
/// on.
struct SentLines {
  std::vector<std::uint64_t> again{};
  std::uint64_t first = 1;

  /// The number in the file of a line of the batch.
  std::uint64_t in_file(std::int64_t line) const;
  /// What is left to send after this report on the batch, which ended early.
  SentLines after(const json::Value& report) const;
  /// The first line of the file that the batch has.
  std::uint64_t lowest() const { return again.empty() ? first : again.front(); }
};

/// "7 accepted, 2 submitted before, 0 rejected".
std::string counts_text(std::int64_t accepted, std::int64_t replayed, std::int64_t rejected);

/// What celld reported after a submission: a sentence, then the errors, one per line. The line
/// numbers are those of the file.
std::string batch_report(const json::Value& report, const SentLines& sent);

/// One line about a running submission. If `bytes_total` is known, the line has the share that is
/// done, the remaining time and, on request, a bar.
struct UploadProgress {
  std::uint64_t lines = 0;  ///< Counted in the file, like the bytes.
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> bytes_total{};
  milliseconds elapsed{0};
  /// Where the current request began. The rate and the remaining time refer to that request alone.
  std::uint64_t lines_before = 0;
  std::uint64_t bytes_before = 0;
};
std::string progress_line(const UploadProgress& progress, bool with_bar);

}  // namespace celld::cli
