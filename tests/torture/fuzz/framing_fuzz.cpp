// The framing of HTTP. What a connection reads does not depend on how its bytes are split, and an
// accepted request has one reading, even for a parser that is less strict than celld's.
#include <algorithm>
#include <optional>
#include <regex>
#include <variant>
#include <vector>

#include "src/http/body_decoder.hpp"
#include "src/http/request_head.hpp"
#include "src/http/target.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"
#include "tests/torture/fuzz/lenient_http.hpp"

using namespace celld;
using fuzz::must;
using http::BodyDecoder;

namespace {

constexpr std::size_t requests_max = 16;

struct Accepted {
  http::RequestHead head;
  std::string body;
  std::size_t head_begin = 0;  ///< In the bytes of the connection.
  std::size_t body_begin = 0;
  std::size_t end = 0;
};

bool same(const Accepted& a, const Accepted& b) {
  const http::Request& left = a.head.request;
  const http::Request& right = b.head.request;
  return left.method == right.method && left.path == right.path && left.query == right.query &&
         left.headers == right.headers && a.head.match_path == b.head.match_path &&
         a.head.body.chunked == b.head.body.chunked && a.head.body.length == b.head.body.length &&
         a.head.http_1_0 == b.head.http_1_0 && a.head.keep_alive == b.head.keep_alive &&
         a.head.expects_continue == b.head.expects_continue && a.body == b.body &&
         a.head_begin == b.head_begin && a.body_begin == b.body_begin && a.end == b.end;
}

/// Reads one request after another from a stream of bytes, as a connection does.
class Reader {
 public:
  explicit Reader(const http::Limits& limits) : limits_(limits), scanner_(limits) {}

  void take(std::string_view piece) {
    bytes_ += piece;
    while (refused_ == 0 && accepted_.size() < requests_max && step()) {
    }
  }

  const std::vector<Accepted>& accepted() const { return accepted_; }
  int refused() const { return refused_; }  ///< The status, or 0.

 private:
  std::string_view pending() const { return std::string_view(bytes_).substr(taken_); }

  /// True when there may be more to do.
  bool step() { return decoder_ ? read_body() : read_head(); }

  bool read_head() {
    if (pending().empty()) return false;
    auto scanned = scanner_.scan(pending());
    if (scanned.refusal) return refuse(scanned.refusal);
    if (scanned.length == 0) return false;
    auto head = http::parse_head(pending().substr(0, scanned.length), limits_);
    if (const auto* refusal = std::get_if<http::Refusal>(&head)) return refuse(*refusal);
    current_ = {std::get<http::RequestHead>(std::move(head)), "", taken_, taken_ + scanned.length};
    taken_ += scanned.length;
    decoder_.emplace(current_.head.body, limits_.body_bytes_max);
    return true;
  }

  bool read_body() {
    auto rest = pending();
    const auto status = decoder_->decode(rest, current_.body);
    must(current_.body.size() <= limits_.body_bytes_max, "a body is within its limit");
    taken_ = bytes_.size() - rest.size();
    if (status == BodyDecoder::Status::more) {
      must(rest.empty(), "a body that needs more has consumed all input");
      return false;
    }
    if (status != BodyDecoder::Status::complete)
      return refuse({status == BodyDecoder::Status::malformed ? 400 : 413, "the body"});
    decoder_.reset();
    scanner_.restart();
    current_.end = taken_;
    accepted_.push_back(std::move(current_));
    return true;
  }

  bool refuse(const http::Refusal& refusal) {
    must(refusal.status >= 400 && !refusal.detail.empty(), "a refusal has a detail");
    refused_ = refusal.status;
    return false;
  }

  http::Limits limits_;
  http::HeadScanner scanner_;
  std::string bytes_;
  std::size_t taken_ = 0;
  std::optional<BodyDecoder> decoder_;
  Accepted current_;
  std::vector<Accepted> accepted_;
  int refused_ = 0;
};

/// Reads `bytes` in pieces of at most `piece_max`; 0: in one piece.
Reader read(std::string_view bytes, const http::Limits& limits, std::size_t piece_max) {
  fuzz::Dice dice(bytes);
  Reader reader(limits);
  while (!bytes.empty()) {
    const std::size_t size =
        piece_max == 0 ? bytes.size() : std::min(1 + dice.roll(piece_max), bytes.size());
    reader.take(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return reader;
}

bool is_too_long(int status) {
  return status == 414 || status == 431;
}

void check_same(const Reader& one, const Reader& other) {
  must(std::equal(one.accepted().begin(), one.accepted().end(), other.accepted().begin(),
                  other.accepted().end(), same),
       "the same requests are read however the bytes are split");
  // A head that is both too long and malformed may be refused as either.
  must(one.refused() == other.refused() || (one.refused() == 400 && is_too_long(other.refused())) ||
           (other.refused() == 400 && is_too_long(one.refused())),
       "the same request is refused however the bytes are split");
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c > 0x20 && c < 0x7f &&
           std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
  });
}

bool is_authority(std::string_view text) {
  static const std::regex authority(R"(([-A-Za-z0-9._~]*|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?)");
  return std::regex_match(text.begin(), text.end(), authority);
}

void check_lines(std::string_view head) {
  must(head.ends_with("\r\n\r\n"), "a head ends with an empty line");
  must(head.find('\0') == std::string_view::npos, "a head has no NUL");
  for (std::size_t at = 0; at < head.size(); ++at) {
    must(head[at] != '\n' || (at > 0 && head[at - 1] == '\r'), "a head has no bare LF");
    must(head[at] != '\r' || (at + 1 < head.size() && head[at + 1] == '\n'),
         "a head has no bare CR");
    const bool line_starts = at > 1 && head[at - 1] == '\n';
    must(!line_starts || (head[at] != ' ' && head[at] != '\t'), "a head has no folded line");
  }
}

void check_fields(const http::RequestHead& head, const http::Limits& limits) {
  std::size_t lengths = 0;
  std::size_t encodings = 0;
  std::size_t hosts = 0;
  must(head.request.headers.size() <= limits.headers_max, "there are not too many fields");
  for (const auto& [name, value] : head.request.headers) {
    must(is_token(name), "a field's name is a token");
    must(std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; }),
         "a field's name is in lower case");
    must(std::none_of(value.begin(), value.end(),
                      [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; }),
         "a field has no control characters");
    lengths += name == "content-length";
    encodings += name == "transfer-encoding";
    hosts += name == "host";
    must(name != "host" || is_authority(value), "a host is a name or an address, and a port");
  }
  must(lengths + encodings <= 1, "a body has one length");
  must(head.body.chunked == (encodings == 1), "a Transfer-Encoding is chunked");
  must(hosts == 1 || (hosts == 0 && head.http_1_0), "a request has one host");
}

void check_target(const http::RequestHead& head) {
  must(is_token(head.request.method), "a method is a token");
  must(head.request.path.empty() || head.request.path.starts_with('/'), "a path is absolute");
  must(fuzz::is_clean_text(head.request.path), "a path is text");
  must(http::percent_decode(head.match_path) == head.request.path,
       "a request is matched by the path that it names");
  for (const auto& [name, value] : head.request.query)
    must(fuzz::is_clean_text(name) && fuzz::is_clean_text(value), "a query is text");
}

void check_accepted(std::string_view bytes, const Accepted& accepted, const http::Limits& limits) {
  const auto head = bytes.substr(accepted.head_begin, accepted.body_begin - accepted.head_begin);
  must(head.size() <= limits.head_bytes_max, "a head is within its limit");
  check_lines(head);
  check_fields(accepted.head, limits);
  check_target(accepted.head);

  const auto message = bytes.substr(accepted.head_begin);
  const std::size_t size = accepted.end - accepted.head_begin;
  for (const auto& habit : fuzz::lenient_habits) {
    const auto reading = fuzz::read_leniently(message, habit);
    must(reading && reading->size == size, "all parsers see a request end at the same byte");
    must(reading->body == accepted.body, "all parsers see the same body");
  }
}

void check_limits(std::string_view bytes, const http::Limits& limits) {
  const Reader whole = read(bytes, limits, 0);
  for (const std::size_t piece_max : {1, 7, 100})
    check_same(whole, read(bytes, limits, static_cast<std::size_t>(piece_max)));
  for (const Accepted& accepted : whole.accepted()) check_accepted(bytes, accepted, limits);
}

http::Limits tight_limits() {
  http::Limits limits;
  limits.head_bytes_max = 200;
  limits.headers_max = 4;
  limits.uri_bytes_max = 40;
  limits.body_bytes_max = 20;
  return limits;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  check_limits(bytes, {});
  check_limits(bytes, tight_limits());

  // Tighter limits refuse earlier, and change nothing before that.
  const Reader wide = read(bytes, {}, 0);
  const Reader tight = read(bytes, tight_limits(), 0);
  must(tight.accepted().size() <= wide.accepted().size() &&
           std::equal(tight.accepted().begin(), tight.accepted().end(), wide.accepted().begin(),
                      same),
       "a limit only changes what is refused");
  return 0;
}
