#include "src/cli/client.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <new>

#include "src/cli/text.hpp"
#include "src/http/text.hpp"
#include "src/version.hpp"

namespace celld::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t answer_bytes_max = 256 << 20;
constexpr milliseconds connect_timeout{10'000};
constexpr milliseconds silence_max{50'000};  // celld sends a heartbeat every 15 s.

/// Empty when the URL has no such part.
std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return "";
  std::string copy(text);
  curl_free(text);
  return copy;
}

/// What is wrong with celld's URL; empty when it is valid.
std::string url_fault(const std::string& text) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), curl_url_cleanup);
  if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK)
    return "is not a URL such as http://127.0.0.1:8080";
  const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return "must begin with http:// or https://";
  if (!part_of(url.get(), CURLUPART_USER).empty() ||
      !part_of(url.get(), CURLUPART_PASSWORD).empty())
    return "must not have a user or a password";
  if (text.find_first_of("?#") != std::string::npos) return "must not have a query or a fragment";
  return "";
}

/// Requests to a loopback address never go through a proxy.
bool is_loopback(const std::string& text) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), curl_url_cleanup);
  if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return false;
  const std::string host = part_of(url.get(), CURLUPART_HOST);
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

bool is_certificate_fault(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
         code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_ISSUER_ERROR;
}

/// Whether the failure may be temporary. Certificate and protocol errors are not.
bool may_pass(CURLcode code) {
  constexpr std::array passing = {CURLE_COULDNT_CONNECT,    CURLE_COULDNT_RESOLVE_HOST,
                                  CURLE_OPERATION_TIMEDOUT, CURLE_GOT_NOTHING,
                                  CURLE_SEND_ERROR,         CURLE_RECV_ERROR,
                                  CURLE_PARTIAL_FILE};
  return std::find(passing.begin(), passing.end(), code) != passing.end();
}

}  // namespace

/// One request on the client's libcurl handle.
class Client::Transfer {
 public:
  Transfer(CURL* easy, const Connection& connection, const Request& request)
      : easy_(easy),
        url_(connection.url + request.path),
        connection_url_(connection.url),
        silence_max_(silence_max + request.extra_time) {
    curl_easy_reset(easy_);
    add_header("Accept: application/json, application/problem+json, text/event-stream");
    if (!connection.token.empty()) add_header("Authorization: Bearer " + connection.token);
    for (const std::string& header : request.headers) add_header(header);
    set_request(request);
    set_connection(connection);
    const auto time = connection.timeout + request.extra_time;
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(time.count()));
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(time, connect_timeout).count()));
  }
  ~Transfer() { curl_slist_free_all(headers_); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void stream_to(const OnData& on_data, std::optional<steady_clock::time_point> deadline) {
    on_data_ = &on_data;
    deadline_ = deadline;
    heard_at_ = steady_clock::now();
    set(CURLOPT_TIMEOUT_MS, 0L);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFODATA, this);
    set(CURLOPT_XFERINFOFUNCTION, &Transfer::take_progress);
  }

  Answer perform() {
    const CURLcode code = curl_easy_perform(easy_);
    if (thrown_) std::rethrow_exception(thrown_);
    if (code != CURLE_OK && !enough_) throw no_answer(code);
    answer_.status = status();
    return std::move(answer_);
  }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    if (curl_easy_setopt(easy_, option, value) != CURLE_OK)
      throw NoAnswer("libcurl lacks an option that cellctl needs", false);
  }

  void add_header(const std::string& line) {
    headers_ = curl_slist_append(headers_, line.c_str());
    if (headers_ == nullptr) throw std::bad_alloc();
  }

  void set_request(const Request& request) {
    if (!request.body.empty()) {
      add_header("Content-Type: application/json");
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_POSTFIELDS, request.body.c_str());
    } else if (request.method == "POST") {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(0));
      set(CURLOPT_POSTFIELDS, "");
    }
    if (request.method != "GET") set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    set(CURLOPT_HTTPHEADER, headers_);
    set(CURLOPT_URL, url_.c_str());
  }

  void set_connection(const Connection& connection) {
    set(CURLOPT_ERRORBUFFER, reason_.data());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, (std::string("cellctl/") + version).c_str());
    if (is_loopback(connection.url)) set(CURLOPT_PROXY, "");
    if (!connection.ca_path.empty()) set(CURLOPT_CAINFO, connection.ca_path.c_str());
    if (!connection.certificate_path.empty()) {
      const std::string& key = connection.key_path;
      set(CURLOPT_SSLCERT, connection.certificate_path.c_str());
      set(CURLOPT_SSLKEY, (key.empty() ? connection.certificate_path : key).c_str());
    }
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Transfer::take_body);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_HEADERFUNCTION, &Transfer::take_header);
  }

  int status() const {
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    return static_cast<int>(status);
  }

  NoAnswer no_answer(CURLcode code) const {
    const std::string reason =
        cleaned(reason_.front() != '\0' ? reason_.data() : curl_easy_strerror(code));
    if (too_long_) return {"the response of " + connection_url_ + " is too long", false};
    if (silent_) return {"celld at " + connection_url_ + " has stopped sending", true};
    if (is_certificate_fault(code))
      return {"TLS certificate error at " + connection_url_ + ": " + reason, false};
    return {"celld does not answer at " + connection_url_ + ": " + reason, cli::may_pass(code)};
  }

  bool take(std::string_view data) {
    heard_at_ = steady_clock::now();
    if (on_data_ != nullptr && status() == 200) return deliver(data);
    too_long_ = answer_.body.size() + data.size() > answer_bytes_max;
    if (!too_long_) answer_.body += data;
    return !too_long_;
  }

  /// Keeps an exception for `perform`: none may propagate through libcurl.
  bool deliver(std::string_view data) {
    try {
      enough_ = !(*on_data_)(data);
    } catch (...) {
      thrown_ = std::current_exception();
    }
    return !enough_ && !thrown_;
  }

  void note_header(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // Discards the head of a 100 or of a proxy's own response.
      answer_ = Answer{};
      return;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view name = line.substr(0, colon);
    line.remove_prefix(colon + 1);
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view value = http::trimmed(line);
    if (http::equal_ignoring_case(name, "content-type")) answer_.content_type = value;
    if (http::equal_ignoring_case(name, "repr-digest")) answer_.repr_digest = value;
    if (http::equal_ignoring_case(name, "idempotent-replayed")) answer_.replayed = value == "true";
    if (http::equal_ignoring_case(name, "retry-after")) note_retry_after(value);
  }

  void note_retry_after(std::string_view value) {
    int seconds = 0;
    const auto result = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (result.ec == std::errc() && seconds >= 0)
      answer_.retry_after = std::chrono::seconds(seconds);
  }

  bool should_continue() {
    const auto now = steady_clock::now();
    enough_ = enough_ || (deadline_ && now >= *deadline_);
    silent_ = now - heard_at_ > silence_max_;
    return !enough_ && !silent_;
  }

  static std::size_t take_body(char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<Transfer*>(self)->take({data, size * count}) ? size * count : 0;
  }
  static std::size_t take_header(char* data, std::size_t size, std::size_t count, void* self) {
    static_cast<Transfer*>(self)->note_header({data, size * count});
    return size * count;
  }
  static int take_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Transfer*>(self)->should_continue() ? 0 : 1;
  }

  CURL* const easy_;
  const std::string url_;
  const std::string connection_url_;
  const milliseconds silence_max_;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> reason_{};
  Answer answer_;
  bool too_long_ = false;

  const OnData* on_data_ = nullptr;  ///< Receives the body of a 200, if set.
  std::optional<steady_clock::time_point> deadline_;
  steady_clock::time_point heard_at_;
  bool enough_ = false;
  bool silent_ = false;
  std::exception_ptr thrown_;
};

Client::Client(Connection connection) : connection_(std::move(connection)) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  easy_ = std::shared_ptr<void>(curl_easy_init(), curl_easy_cleanup);
  if (!easy_) throw NoAnswer("libcurl cannot be initialised", false);
  if (const std::string fault = url_fault(connection_.url); !fault.empty())
    throw usage_failure("the URL " + cleaned(connection_.url) + " " + fault);
  if (!http::is_field_value(connection_.token))
    throw usage_failure("the token contains characters that a token cannot have");
  while (connection_.url.ends_with('/')) connection_.url.pop_back();
}

Client::~Client() {
  easy_.reset();
  curl_global_cleanup();
}

Answer Client::send(const Request& request) {
  return Transfer(easy_.get(), connection_, request).perform();
}

Answer Client::stream(const Request& request, std::optional<steady_clock::time_point> deadline,
                      const OnData& on_data) {
  Transfer transfer(easy_.get(), connection_, request);
  transfer.stream_to(on_data, deadline);
  return transfer.perform();
}

std::string url_encoded(std::string_view text) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const bool plain = http::is_digit(c) || (http::lower(c) >= 'a' && http::lower(c) <= 'z') ||
                       std::string_view("-._~*").find(c) != std::string_view::npos;
    if (plain) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return encoded;
}

std::string query_of(const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string query;
  for (const auto& [name, value] : parameters) {
    query += query.empty() ? '?' : '&';
    query += url_encoded(name) + '=' + url_encoded(value);
  }
  return query;
}

}  // namespace celld::cli
