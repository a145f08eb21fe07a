#include "src/http/body_decoder.hpp"

#include <algorithm>

#include "src/http/text.hpp"

namespace celld::http {
namespace {

constexpr std::size_t size_line_bytes_max =
    64;  // 16 digits and a short extension, which is dropped.
constexpr std::size_t size_digits_max = 16;
constexpr std::size_t trailer_bytes_max = 4096;

bool is_hex(char c) {
  return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f');
}

std::uint64_t hex_value(char c) {
  return static_cast<std::uint64_t>(is_digit(c) ? c - '0' : lower(c) - 'a' + 10);
}

}  // namespace

BodyDecoder::BodyDecoder(BodyFraming framing, std::uint64_t body_bytes_max)
    : chunked_(framing.chunked),
      expecting_(framing.chunked ? Expecting::size : Expecting::data),
      left_(framing.chunked ? 0 : framing.length),
      allowance_(body_bytes_max) {}

BodyDecoder::Status BodyDecoder::decode(std::string_view& input, std::string& body) {
  if (!chunked_ && left_ > allowance_) return Status::too_large;
  auto status = Status::more;
  if (!chunked_ && left_ == 0) return Status::complete;
  while (status == Status::more && !input.empty()) {
    status = expecting_ == Expecting::data ? take_data(input, body) : take_line(input);
  }
  return status;
}

BodyDecoder::Status BodyDecoder::take_data(std::string_view& input, std::string& body) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
  body.append(input.substr(0, size));
  input.remove_prefix(size);
  left_ -= size;
  allowance_ -= size;
  if (left_ > 0) return Status::more;
  if (!chunked_) return Status::complete;
  expecting_ = Expecting::data_end;
  return Status::more;
}

/// Collects one line, and parses it once its CR LF has arrived.
BodyDecoder::Status BodyDecoder::take_line(std::string_view& input) {
  const auto bytes_max = expecting_ == Expecting::trailer    ? trailer_bytes_max - trailer_bytes_
                         : expecting_ == Expecting::data_end ? 2
                                                             : size_line_bytes_max;
  const auto size = std::min(input.find('\n') + 1, input.size());
  const bool ended = size > 0 && input[size - 1] == '\n';
  const auto taken = ended ? size : input.size();
  if (line_.size() + taken > bytes_max) return Status::malformed;
  line_.append(input.substr(0, taken));
  input.remove_prefix(taken);
  if (!ended) return Status::more;

  if (line_.size() < 2 || line_[line_.size() - 2] != '\r') return Status::malformed;
  line_.resize(line_.size() - 2);
  auto status = Status::more;
  if (expecting_ == Expecting::size) {
    status = read_size();
  } else if (expecting_ == Expecting::trailer) {
    status = read_trailer();
  } else if (line_.empty()) {
    expecting_ = Expecting::size;
  } else {
    status = Status::malformed;
  }
  line_.clear();
  return status;
}

BodyDecoder::Status BodyDecoder::read_size() {
  const auto digits_end = std::find_if_not(line_.begin(), line_.end(), is_hex);
  const auto digits = static_cast<std::size_t>(digits_end - line_.begin());
  if (digits == 0 || digits > size_digits_max) return Status::malformed;
  if (digits_end != line_.end() && *digits_end != ';') return Status::malformed;
  if (!is_field_value(line_)) return Status::malformed;

  left_ = 0;
  for (std::size_t i = 0; i < digits; ++i) left_ = left_ << 4 | hex_value(line_[i]);
  if (left_ > allowance_) return Status::too_large;
  expecting_ = left_ == 0 ? Expecting::trailer : Expecting::data;
  return Status::more;
}

/// Checks trailer fields and drops them: no request depends on them.
BodyDecoder::Status BodyDecoder::read_trailer() {
  if (line_.empty()) return Status::complete;
  trailer_bytes_ += line_.size() + 2;
  const auto colon = line_.find(':');
  const bool field = colon != std::string::npos && is_token(line_.substr(0, colon)) &&
                     is_field_value(std::string_view(line_).substr(colon + 1));
  return field ? Status::more : Status::malformed;
}

}  // namespace celld::http
