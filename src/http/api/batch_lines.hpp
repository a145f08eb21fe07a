// The lines of one piece of a batch's body. Pure; for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "src/http/api/batch_desk.hpp"

namespace celld::api {

/// Goes through the good and the bad lines together, in the order of the body.
class BatchLines {
 public:
  explicit BatchLines(SubmitLines piece) : piece_(std::move(piece)) {}

  /// Takes the next line if it is a bad one. Null: it is a good one, or there is none.
  const BadLine* take_bad();
  /// Takes the next line if it is a good one. Null: it is a bad one, or there is none.
  GoodLine* take_good();

  /// The first line that was not taken; after all lines, the one that follows the piece.
  std::uint64_t first_left() const;
  /// As it came, except for what the caller moved out of its lines.
  const SubmitLines& piece() const { return piece_; }

 private:
  bool has_good() const { return next_good_ < piece_.good.size(); }
  bool has_bad() const { return next_bad_ < piece_.bad.size(); }
  bool is_bad_next() const;

  SubmitLines piece_;
  std::size_t next_good_ = 0;
  std::size_t next_bad_ = 0;
};

}  // namespace celld::api
