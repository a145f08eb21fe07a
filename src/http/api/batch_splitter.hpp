// Splits the body of POST /v1/batches into the texts of its jobs, as the body arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace celld::api {

/// The text of one job.
struct BatchItem {
  std::uint64_t line = 0;   ///< From 1; in an array, the number of the element.
  std::string_view text{};  ///< Valid during the call.
  bool too_long = false;    ///< The text was longer than the limit, and is not kept.
};

/// Keeps at most one text that is not complete yet. Pure; for one thread.
class BatchSplitter {
 public:
  using Take = std::function<void(const BatchItem&)>;

  virtual ~BatchSplitter() = default;
  /// Passes on each text that is complete. Returns a fault of the body as a whole; empty: there is
  /// none. After a fault, only `line` may be called.
  virtual std::string split(std::string_view piece, const Take& take) = 0;
  /// The body has ended.
  virtual std::string end(const Take& take) = 0;
  /// The line or element that has begun, or begins next.
  virtual std::uint64_t line() const = 0;
};

/// One job a line (NDJSON). Blank lines are counted and skipped; the last line needs no line break.
std::unique_ptr<BatchSplitter> make_line_splitter(std::size_t text_bytes_max);

/// One JSON array of jobs. Finds the ends of the elements, and leaves it to the parser whether an
/// element is JSON.
std::unique_ptr<BatchSplitter> make_array_splitter(std::size_t text_bytes_max);

}  // namespace celld::api
