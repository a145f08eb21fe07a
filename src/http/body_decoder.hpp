// Removes the framing from a body as its bytes arrive: a length, or chunks (RFC 9112, section 7.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/http/request_head.hpp"

namespace celld::http {

class BodyDecoder {
 public:
  enum class Status { more, complete, malformed, too_large };

  /// `body_bytes_max` bounds the decoded body.
  BodyDecoder(BodyFraming framing, std::uint64_t body_bytes_max);

  /// Removes bytes from the front of `input` and appends the decoded bytes to `body`, until the
  /// input is used up or the body ends. Bytes after the body stay in `input`. Must not be called
  /// again once it has returned anything but `more`.
  Status decode(std::string_view& input, std::string& body);

  /// The bytes that are still to come of the body or, if it is chunked, of the present chunk.
  std::uint64_t left() const { return left_; }

 private:
  enum class Expecting { size, data, data_end, trailer };

  Status take_data(std::string_view& input, std::string& body);
  Status take_line(std::string_view& input);
  Status read_size();
  Status read_trailer();

  bool chunked_;
  Expecting expecting_;
  std::uint64_t left_;  ///< Of the body, or of the chunk.
  std::uint64_t allowance_;
  std::size_t trailer_bytes_ = 0;
  std::string line_;  ///< The chunk-size or trailer line read so far.
};

}  // namespace celld::http
