#include "src/http/api/batch_lines.hpp"

#include <algorithm>

namespace celld::api {

bool BatchLines::is_bad_next() const {
  return has_bad() && (!has_good() || piece_.bad[next_bad_].line < piece_.good[next_good_].line);
}

const BadLine* BatchLines::take_bad() {
  return is_bad_next() ? &piece_.bad[next_bad_++] : nullptr;
}

GoodLine* BatchLines::take_good() {
  return has_good() && !is_bad_next() ? &piece_.good[next_good_++] : nullptr;
}

std::uint64_t BatchLines::first_left() const {
  auto line = piece_.next;
  if (has_good()) line = std::min(line, piece_.good[next_good_].line);
  if (has_bad()) line = std::min(line, piece_.bad[next_bad_].line);
  return line;
}

}  // namespace celld::api
