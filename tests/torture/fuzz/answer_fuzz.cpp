// The bytes that a provider sends on its connection, read by libcurl and HttpCall. What a call ends
// with does not depend on how the bytes are split, and no answer counts before it is complete.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/providers/http/call.hpp"
#include "src/providers/http/outcome.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;
using providers::HttpCall;
using providers::HttpLimits;
using providers::HttpResult;
using End = HttpResult::End;

namespace {

constexpr std::size_t input_bytes_max = 4000;  // Less than libcurl reads at once.
constexpr std::size_t pieces_max = 100;        // The kernel buffers few more.

/// A connection to a provider that has sent `bytes` and closed its side. The provider's end stays
/// open, so that the request can be sent.
class Provider {
 public:
  /// Each read returns one piece; `pieces` 1: all the bytes.
  Provider(std::string_view bytes, std::size_t pieces) {
    must(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_.data()) == 0,
         "there are sockets");
    fuzz::Dice dice(bytes);
    const std::size_t piece_max = 2 * bytes.size() / pieces;
    while (!bytes.empty()) {
      const std::size_t size =
          pieces == 1 ? bytes.size() : std::min(bytes.size(), 1 + dice.roll(piece_max + 1));
      must(::send(ends_[0], bytes.data(), size, 0) == static_cast<ssize_t>(size),
           "the kernel buffers all pieces");
      bytes.remove_prefix(size);
    }
    ::shutdown(ends_[0], SHUT_WR);
  }
  ~Provider() {
    for (const int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  void connect(CURL* easy) {
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &Provider::open);
  }

 private:
  /// libcurl closes the socket. It may not connect again.
  static curl_socket_t open(void* self, curlsocktype, curl_sockaddr*) {
    return std::exchange(static_cast<Provider*>(self)->ends_[1], CURL_SOCKET_BAD);
  }
  std::array<int, 2> ends_{};
};

HttpResult call(std::string_view bytes, const HttpLimits& limits, std::size_t pieces = 1) {
  Provider provider(bytes, pieces);
  HttpResult result;
  int ended = 0;
  {
    HttpCall call({1, 1}, {"http://127.0.0.1/", {"Expect:"}, "{}", providers::milliseconds(10'000)},
                  limits, [&](HttpResult end) {
                    result = std::move(end);
                    ++ended;
                  });
    must(call.prepare(providers::milliseconds(10'000), providers::milliseconds(10'000), {}),
         "libcurl takes the request");
    provider.connect(call.easy());
    call.end(curl_easy_perform(call.easy()));
  }
  must(ended == 1, "a call ends once");
  return result;
}

bool is_answered(const HttpResult& result) {
  return result.end == End::answered;
}

void check_same(const HttpResult& one, const HttpResult& other) {
  must(is_answered(one) == is_answered(other), "a call is answered however the answer is split");
  must(one.status == other.status && one.body == other.body && one.retry_after == other.retry_after,
       "an answer is the same however it is split");
}

void check_answer(std::string_view bytes, const HttpResult& result, const HttpLimits& limits) {
  must(bytes.find("\n\n") != std::string_view::npos ||
           bytes.find("\n\r\n") != std::string_view::npos,
       "an answer has a complete head");
  must(result.status >= 0 && result.status <= 999, "a status has at most three digits");
  must(result.body.size() <= limits.body_bytes_max, "a body is within its limit");
  must(result.reason.empty(), "an answer has no reason to fail");
  if (!result.retry_after) return;
  must(
      result.retry_after->size() <= 64 && bytes.find(*result.retry_after) != std::string_view::npos,
      "a Retry-After is short, and was sent");
  must(result.retry_after->find_first_of("\r\n") == std::string::npos, "a Retry-After is one line");
}

void check_ends(std::string_view bytes, const HttpResult& result, const HttpLimits& limits) {
  must(result.end != End::aborted && result.end != End::not_sent && result.end != End::not_reached,
       "the request was sent");
  must(result.end != End::timed_out, "an answer that has ended does not time out");
  if (is_answered(result)) {
    check_answer(bytes, result, limits);
  } else {
    must(result.status == 0 && result.body.empty() && !result.retry_after,
         "a broken answer is dropped");
  }
  const auto outcome = providers::interpret("dns", result, {});
  must(outcome.kind != cells::CallOutcome::Kind::succeeded || is_answered(result),
       "only an answer is a success");
}

/// An answer that was complete before the last bytes came does not change with them, unless only
/// the end of the connection ends it.
void check_prefix(const HttpResult& prefix, const HttpResult& whole) {
  if (!is_answered(prefix) || !is_answered(whole)) return;
  must(prefix.status == whole.status && prefix.retry_after == whole.retry_after &&
           whole.body.starts_with(prefix.body),
       "a complete answer stays as it is");
}

/// libcurl 7.88 stops at a line of the head that begins with NUL, or leaves it out, depending on
/// where a piece ends; HttpCall never sees such a line.
bool has_line_that_libcurl_hides(std::string_view bytes) {
  return bytes.find(std::string_view("\n\0", 2)) != std::string_view::npos;
}

/// Lower limits change nothing but which answers are too large.
void check_limits(std::string_view bytes, const HttpResult& wide) {
  HttpLimits limits;
  limits.body_bytes_max = 20;
  limits.head_bytes_max = 100;
  const HttpResult tight = call(bytes, limits);
  check_ends(bytes, tight, limits);
  if (is_answered(tight)) check_same(wide, tight);
  must(is_answered(tight) || !is_answered(wide) || tight.end == End::too_large,
       "a limit refuses what exceeds it");
}

}  // namespace

/// For libcurl: a Provider's socket is connected already.
extern "C" int connect(int, const sockaddr*, socklen_t) {
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, std::min(size, input_bytes_max));
  if (has_line_that_libcurl_hides(bytes)) return -1;
  const HttpResult whole = call(bytes, {});
  check_ends(bytes, whole, {});
  check_same(whole, call(bytes, {}, pieces_max));
  const auto begin = bytes.substr(0, fuzz::Dice(bytes).roll(bytes.size() + 1));
  const HttpResult prefix = call(begin, {});
  check_ends(begin, prefix, {});
  check_prefix(prefix, whole);
  check_limits(bytes, whole);
  return 0;
}
