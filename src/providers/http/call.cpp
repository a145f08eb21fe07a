#include "src/providers/http/call.hpp"

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "src/providers/shortage.hpp"

namespace celld::providers {
namespace {

// A connection idle for longer is not reused: most servers close an idle connection after 5 s or
// more, and a request that crosses such a close has an unknown outcome.
constexpr long idle_seconds_max = 4;
// libcurl allocates one of each for every call.
constexpr long receive_buffer_bytes = 8 << 10;
constexpr long send_buffer_bytes = 16 << 10;
constexpr std::size_t retry_after_bytes_max = 64;
// After this time, a new connection reads the authorities again.
constexpr long authorities_seconds_max = 10;
constexpr std::string_view switching_protocols = "101";

template <typename Value>
bool set(CURL* easy, CURLoption option, Value value) {
  return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Whether OpenSSL holds unread bytes of the call's connection.
bool has_tls_input(CURL* easy) {
  const curl_tlssessioninfo* tls = nullptr;
  return curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &tls) == CURLE_OK &&
         tls->backend == CURLSSLBACKEND_OPENSSL && tls->internals != nullptr &&
         SSL_has_pending(static_cast<const SSL*>(tls->internals)) != 0;
}

/// Why the call failed, for people.
std::string reason_of(CURL* easy, CURLcode code) {
  // Only on_before_send() makes libcurl abort.
  if (code == CURLE_ABORTED_BY_CALLBACK) return "the connection had served an earlier call";
  if (code != CURLE_PEER_FAILED_VERIFICATION) return curl_easy_strerror(code);
  long fault = X509_V_OK;
  curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &fault);
  // libcurl compares the host itself, and then OpenSSL's result does not say more.
  if (fault == X509_V_OK || fault == X509_V_ERR_UNSPECIFIED) {
    return "its certificate is for another host";
  }
  return std::string("its certificate is not valid (") + X509_verify_cert_error_string(fault) + ")";
}

/// The status of a status line of HTTP/1, or nothing.
std::string_view status_of(std::string_view line) {
  constexpr std::string_view version = "HTTP/1.";
  constexpr std::size_t status_at = version.size() + 2;  // After the minor version and a space.
  constexpr std::size_t status_end = status_at + 3;
  const auto is_digit = [&](std::size_t at) { return line[at] >= '0' && line[at] <= '9'; };
  const bool valid = line.starts_with(version) && line.size() >= status_end &&
                     is_digit(version.size()) && line[status_at - 1] == ' ' &&
                     is_digit(status_at) && is_digit(status_at + 1) && is_digit(status_at + 2) &&
                     (line.size() == status_end || line[status_end] == ' ');
  return valid ? line.substr(status_at, 3) : std::string_view{};
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

HttpCall::HttpCall(const cells::Lease& lease, HttpRequest request, const HttpLimits& limits,
                   Ended ended)
    : lease_(lease),
      request_(std::move(request)),
      host_(named_host(request_.url)),
      limits_(limits),
      ended_(std::move(ended)),
      easy_(curl_easy_init()) {}

HttpCall::~HttpCall() {
  if (easy_ != nullptr) curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
  curl_slist_free_all(addresses_);
}

bool HttpCall::prepare(milliseconds remaining, milliseconds to_connect,
                       const std::vector<std::string>& addresses) {
  return easy_ != nullptr && set_request() && set_addresses(addresses) &&
         set_bounds(remaining, to_connect) && set_policy() && set_callbacks();
}

HttpCall* HttpCall::of(CURL* easy) {
  char* self = nullptr;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &self);
  return reinterpret_cast<HttpCall*>(self);
}

void HttpCall::end(CURLcode code) {
  result_.end = classify(code);
  if (result_.end == HttpResult::End::answered) {
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    result_.status = static_cast<int>(status);
  } else {
    result_.body.clear();
    result_.retry_after.reset();
    result_.kept_header.reset();
    if (result_.end == HttpResult::End::unable) {
      result_.reason = std::generic_category().message(shortage_);
    } else if (code != CURLE_OK) {
      result_.reason = reason_of(easy_, code);
    }
  }
  ended_(std::move(result_));
}

void HttpCall::end_aborted() {
  ended_(HttpResult{});
}

void HttpCall::end_unable(int error) {
  shortage_ = error;
  end(CURLE_COULDNT_CONNECT);
}

bool HttpCall::set_request() {
  for (const auto& line : request_.headers) {
    auto* longer = curl_slist_append(headers_, line.c_str());
    if (longer == nullptr) return false;
    headers_ = longer;
  }
  return set(easy_, CURLOPT_URL, request_.url.c_str()) &&
         set(easy_, CURLOPT_PROTOCOLS_STR, "http,https") &&
         set(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1)) &&
         set_content() && set(easy_, CURLOPT_HTTPHEADER, headers_);
}

// To libcurl a request has a body (POST) or none (GET); the name of the method is set separately.
bool HttpCall::set_content() {
  const auto& method = request_.method;
  const bool has_body = method != "GET" && (method != "DELETE" || !request_.body.empty());
  if (!has_body)
    return set(easy_, CURLOPT_HTTPGET, 1L) && set(easy_, CURLOPT_CUSTOMREQUEST, method.c_str());
  return set(easy_, CURLOPT_POST, 1L) &&
         set(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size())) &&
         set(easy_, CURLOPT_POSTFIELDS, request_.body.c_str()) &&
         set(easy_, CURLOPT_CUSTOMREQUEST, method.c_str());
}

// libcurl would look a name up on a new thread for each connection, and leave the thread behind
// when the call ends.
bool HttpCall::set_addresses(const std::vector<std::string>& addresses) {
  if (!host_ || addresses.empty()) return true;
  std::string entry = "+" + host_->name + ":" + host_->port + ":";
  for (const auto& address : addresses) entry += address + ",";
  entry.pop_back();
  addresses_ = curl_slist_append(nullptr, entry.c_str());
  return addresses_ != nullptr && set(easy_, CURLOPT_RESOLVE, addresses_);
}

bool HttpCall::set_bounds(milliseconds remaining, milliseconds to_connect) {
  // libcurl takes 0 for no limit.
  const auto timeout = std::max(remaining, milliseconds{1});
  const auto connect = std::clamp(to_connect, milliseconds{1}, timeout);
  return set(easy_, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count())) &&
         set(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connect.count())) &&
         set(easy_, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(limits_.body_bytes_max)) &&
         set(easy_, CURLOPT_BUFFERSIZE, receive_buffer_bytes) &&
         set(easy_, CURLOPT_UPLOAD_BUFFERSIZE, send_buffer_bytes) &&
         set(easy_, CURLOPT_MAXAGE_CONN, idle_seconds_max);
}

bool HttpCall::set_policy() {
  return set(easy_, CURLOPT_NOSIGNAL, 1L) &&        //
         set(easy_, CURLOPT_PATH_AS_IS, 1L) &&      //
         set(easy_, CURLOPT_FOLLOWLOCATION, 0L) &&  //
         set(easy_, CURLOPT_HTTP09_ALLOWED, 0L) &&  //
         set(easy_, CURLOPT_PROXY, "") &&           // Not even one from the environment.
         set(easy_, CURLOPT_TCP_KEEPALIVE, 1L) &&   //
         set(easy_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2)) &&
         // With a directory of authorities besides the file, libcurl would read them all for each
         // connection, which takes this thread some 20 ms.
         set(easy_, CURLOPT_CAPATH, static_cast<const char*>(nullptr)) &&
         set(easy_, CURLOPT_CA_CACHE_TIMEOUT, authorities_seconds_max) &&
         // Otherwise the end of a call would wait for a pending name look-up.
         set(easy_, CURLOPT_QUICK_EXIT, 1L);
}

bool HttpCall::set_callbacks() {
  return set(easy_, CURLOPT_PRIVATE, this) &&                         //
         set(easy_, CURLOPT_HEADERFUNCTION, &HttpCall::on_header) &&  //
         set(easy_, CURLOPT_HEADERDATA, this) &&                      //
         set(easy_, CURLOPT_WRITEFUNCTION, &HttpCall::on_body) &&     //
         set(easy_, CURLOPT_WRITEDATA, this) &&                       //
         set(easy_, CURLOPT_OPENSOCKETFUNCTION, &HttpCall::on_open) &&
         set(easy_, CURLOPT_OPENSOCKETDATA, this) &&  //
         set(easy_, CURLOPT_PREREQFUNCTION, &HttpCall::on_before_send) &&
         set(easy_, CURLOPT_PREREQDATA, this) &&
         set(easy_, CURLOPT_XFERINFOFUNCTION, &HttpCall::on_progress) &&
         set(easy_, CURLOPT_XFERINFODATA, this) &&  //
         set(easy_, CURLOPT_NOPROGRESS, 0L);
}

std::size_t HttpCall::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  auto& call = *static_cast<HttpCall*>(self);
  const std::string_view line(data, size * count);
  call.head_bytes_ += line.size();
  if (call.head_bytes_ > call.limits_.head_bytes_max) {
    call.too_large_ = true;
    return CURL_WRITEFUNC_ERROR;
  }
  if (!call.read_header(line)) {
    call.garbled_ = true;
    return CURL_WRITEFUNC_ERROR;
  }
  return line.size();
}

std::size_t HttpCall::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& call = *static_cast<HttpCall*>(self);
  const std::string_view piece(data, size * count);
  if (piece.size() > call.limits_.body_bytes_max - call.result_.body.size()) {
    call.too_large_ = true;
    return CURL_WRITEFUNC_ERROR;
  }
  call.result_.body.append(piece);
  return piece.size();
}

// libcurl repeats a request by itself when a reused connection dies before the first byte of an
// answer. The provider may already be acting on the first request, and must never get a second one
// beside it. So this callback refuses the repeat, and the outcome of the call is unknown.
int HttpCall::on_before_send(void* self, char*, char*, int, int) {
  auto& call = *static_cast<HttpCall*>(self);
  return std::exchange(call.sent_, true) ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

curl_socket_t HttpCall::on_open(void* self, curlsocktype, curl_sockaddr* address) {
  const int socket = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  auto& call = *static_cast<HttpCall*>(self);
  if (socket >= 0) call.has_opened_ = true;
  if (socket < 0 && is_shortage(errno)) call.shortage_ = errno;
  return socket;
}

// With TLS, data that follows an answer in the same record stays in OpenSSL's buffer, unnoticed,
// while the connection is kept. libcurl would take that data for the answer to the next request. So
// a connection with such data must not be reused. libcurl reports progress one last time when an
// answer is complete, before it keeps the connection.
int HttpCall::on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto* easy = static_cast<HttpCall*>(self)->easy_;
  set(easy, CURLOPT_FORBID_REUSE, has_tls_input(easy) ? 1L : 0L);
  return 0;
}

// libcurl accepts "HTTP/2 2020", takes "http/1.1 503" for the status 200, keeps carriage returns
// and NULs in the middle of a line, accepts a head that the end of the connection cuts short, and
// treats an invalid length as no length. So celld checks all of this itself. Returns false if the
// head is not HTTP/1, or switches to another protocol: celld never asks for one.
bool HttpCall::read_header(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  constexpr std::string_view forbidden("\r\0", 2);
  if (line.find_first_of(forbidden) != std::string_view::npos) return false;
  if (status_line_next_) {  // A new head: forget the previous one.
    result_.retry_after.reset();
    result_.kept_header.reset();
    length_.clear();
    head_complete_ = false;
    status_line_next_ = false;
    const auto status = status_of(line);
    interim_ = status.starts_with('1');
    return !status.empty() && status != switching_protocols;
  }
  if (head_complete_) return true;  // A trailer.
  if (line.empty()) {
    head_complete_ = true;
    status_line_next_ = interim_;  // Otherwise the next line is a trailer.
    return true;
  }
  const auto content = trim(line);
  const auto colon = content.find(':');
  if (colon == std::string_view::npos) return true;
  const auto name = content.substr(0, colon);
  const auto value = trim(content.substr(colon + 1));
  if (equal_ignoring_case(name, request_.kept_header)) keep(value);
  if (equal_ignoring_case(name, "retry-after")) {
    result_.retry_after = value.substr(0, retry_after_bytes_max);
  } else if (equal_ignoring_case(name, "content-length")) {
    if (!length_.empty() && length_ != value) return false;
    length_ = value;
    return !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
  }
  return true;
}

void HttpCall::keep(std::string_view value) {
  auto& kept = result_.kept_header;
  kept = kept ? *kept + ", " + std::string(value) : std::string(value);
}

HttpResult::End HttpCall::classify(CURLcode code) const {
  using End = HttpResult::End;
  if (code == CURLE_OK) return head_complete_ ? End::answered : End::broken;
  // When the connect timeout is no shorter than the call's timeout, the call has timed out,
  // whichever timer fired first.
  const bool out_of_time =
      code == CURLE_OPERATION_TIMEDOUT && request_.timeout <= limits_.connect_timeout;
  if (!sent_ && shortage_ != 0 && !has_opened_) return End::unable;
  if (!sent_) return out_of_time ? End::not_reached : End::not_sent;
  if (too_large_) return End::too_large;
  if (garbled_) return End::garbled;
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return End::timed_out;
    case CURLE_FILESIZE_EXCEEDED:
#if LIBCURL_VERSION_NUM >= 0x080600
    case CURLE_TOO_LARGE:
#endif
    case CURLE_OUT_OF_MEMORY:  // libcurl 7 reports this for a header line above its own limit.
      return End::too_large;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return End::garbled;
    default:
      return End::broken;
  }
}

}  // namespace celld::providers
