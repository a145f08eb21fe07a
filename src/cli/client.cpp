#include "src/cli/client.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>

#include <httplib.h>

#include "src/cli/text.hpp"
#include "src/http/text.hpp"
#include "src/version.hpp"

namespace celld::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t answer_bytes_max = 256 << 20;
constexpr milliseconds connect_timeout{10'000};
constexpr milliseconds silence_max{50'000};  // celld sends a heartbeat every 15 s.
/// cpp-httplib's timeout for one read or write. It only has to be later than the watch, and to fit
/// into an `int` of milliseconds.
constexpr milliseconds after_watch{5000};
constexpr milliseconds read_timeout_max = std::chrono::days(20);
/// After this time the server may have closed the connection. With TLS, cpp-httplib would not see
/// that before the next request fails.
constexpr std::chrono::seconds idle_max{5};
/// In a pause of an upload, cellctl sends filler this often: celld ends a batch whose sender pauses
/// for 15 s.
constexpr milliseconds filler_interval{3000};
constexpr milliseconds turn_interval{500};

/// Shuts the connection when the time of a request is over. cpp-httplib's own timeouts restart with
/// every byte.
class Watch {
 public:
  Watch(httplib::ClientImpl& http, steady_clock::time_point end)
      : http_(http), end_(end), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void extend(steady_clock::time_point end) {
    const std::lock_guard lock(mutex_);
    end_ = end;
  }
  void end_now() {
    {
      const std::lock_guard lock(mutex_);
      end_ = steady_clock::time_point::min();
    }
    wake_.notify_all();
  }
  bool time_is_over() const { return time_is_over_; }

 private:
  void run(const std::stop_token& stop) {
    constexpr milliseconds repetition{20};
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (steady_clock::now() < end_) {
        const auto end = end_;
        wake_.wait_until(lock, stop, end, [&] { return end_ < end; });
      } else {
        time_is_over_ = true;
        http_.stop();  // Has no effect on a request that has no connection yet, so repeat it.
        wake_.wait_for(lock, stop, repetition, [] { return false; });
      }
    }
  }

  httplib::ClientImpl& http_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  steady_clock::time_point end_;
  std::atomic<bool> time_is_over_ = false;
  std::jthread thread_;
};

/// The cause of OpenSSL's last failure; empty when it reports none.
std::string openssl_fault() {
  const unsigned long code = ERR_peek_error();
  if (ERR_SYSTEM_ERROR(code)) return std::generic_category().message(ERR_GET_REASON(code));
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "" : reason;
}

/// Whether OpenSSL reports only that cpp-httplib shut a connection down whose handshake had failed.
/// The handshake itself left no report, because the connection was reset.
bool is_from_closing(unsigned long code) {
  return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_SHUTDOWN_WHILE_IN_INIT;
}

/// Whether OpenSSL's last failure is none of TLS: the connection ended or timed out.
bool is_broken_connection() {
  const unsigned long code = ERR_peek_error();
  return code == 0 || ERR_SYSTEM_ERROR(code) || is_from_closing(code) ||
         ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

/// OpenSSL's last failure, such as an alert of the server; without one, `otherwise`.
std::string tls_fault(const std::string& otherwise) {
  const std::string fault = is_from_closing(ERR_peek_error()) ? "" : openssl_fault();
  return fault.empty() ? otherwise : "TLS: " + fault;
}

NoAnswer certificate_fault(const Connection& connection, const std::string& reason) {
  return {"TLS certificate error at " + connection.url + ": " + cleaned(reason), false};
}

void load_client_certificate(SSL_CTX* context, const Connection& connection) {
  const std::string& certificate = connection.certificate_path;
  const std::string& key = connection.key_path.empty() ? certificate : connection.key_path;
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1)
    throw certificate_fault(connection, certificate + ": " + openssl_fault());
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1)
    throw certificate_fault(connection, key + ": " + openssl_fault());
}

std::unique_ptr<httplib::ClientImpl> tls_client(const Url& url, const Connection& connection) {
  auto client = std::make_unique<httplib::SSLClient>(url.host, url.port);
  SSL_CTX* context = client->ssl_context();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // OpenSSL checks the name too: cpp-httplib 0.11 compares IP addresses with uninitialised memory.
  X509_VERIFY_PARAM* verification = SSL_CTX_get0_param(context);
  if (X509_VERIFY_PARAM_set1_ip_asc(verification, url.host.c_str()) != 1)
    X509_VERIFY_PARAM_set1_host(verification, url.host.data(), url.host.size());
  if (!connection.ca_path.empty()) client->set_ca_cert_path(connection.ca_path);
  // cpp-httplib would load the first certificate of the file and no intermediate ones.
  if (!connection.certificate_path.empty()) load_client_certificate(context, connection);
  return client;
}

/// Whether something has arrived on the connection, or it has ended. Never blocks.
bool has_input(int descriptor, SSL* tls) {
  char byte = 0;
  if (tls == nullptr) {
    const auto count = ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  }
  // A TLS record need not be data: celld sends session tickets.
  ERR_clear_error();
  const int flags = ::fcntl(descriptor, F_GETFL);
  ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
  const int count = SSL_peek(tls, &byte, 1);
  const int error = SSL_get_error(tls, count);
  ::fcntl(descriptor, F_SETFL, flags);
  return count > 0 || (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE);
}

/// cpp-httplib does not tell an unknown host from a host that does not accept the connection.
std::string connection_fault(const std::string& host, int port) {
  addrinfo* addresses = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, nullptr, &addresses);
  if (code != 0) return "cannot resolve " + host + ": " + ::gai_strerror(code);
  ::freeaddrinfo(addresses);
  return "cannot connect to " + host + " port " + std::to_string(port);
}

}  // namespace

/// One request on the client's connection.
class Client::Transfer {
 public:
  /// `patience` limits the whole transfer, and in a stream the time between two pieces.
  Transfer(Client& client, milliseconds patience) : client_(client), patience_(patience) {}

  void stream_to(const OnData& on_data, std::optional<steady_clock::time_point> deadline) {
    on_data_ = &on_data;
    deadline_ = deadline;
  }

  void upload_from(UploadBody& body, const std::function<void()>& on_turn) {
    body_ = &body;
    on_turn_ = &on_turn;
  }

  Answer perform(const Request& request) {
    httplib::ClientImpl& http = *client_.http_;
    const auto now = steady_clock::now();
    if (now - client_.used_at_ > idle_max) http.stop();
    set_timeouts(http);
    ERR_clear_error();
    Watch watch(http, end_from(now));
    watch_ = &watch;
    const std::stop_callback on_stop(request.stop, [&watch] { watch.end_now(); });
    const httplib::Result result = http.send(outgoing(request));
    client_.used_at_ = steady_clock::now();
    if (is_cut_short_) http.stop();
    if (thrown_) std::rethrow_exception(thrown_);
    if (result) note_head(*result);
    // A body without a length ends in the same way when the watch shuts the connection.
    const bool incomplete = !result || watch.time_is_over();
    if (incomplete && !enough_ && !is_past_deadline()) throw no_answer(result.error());
    return std::move(answer_);
  }

 private:
  void set_timeouts(httplib::ClientImpl& http) const {
    http.set_connection_timeout(std::min(client_.connection_.timeout, connect_timeout));
    const auto one_read = std::min(patience_ + after_watch, read_timeout_max);
    http.set_read_timeout(one_read);
    http.set_write_timeout(one_read);
  }

  steady_clock::time_point end_from(steady_clock::time_point now) const {
    return std::min(now + patience_, deadline_.value_or(steady_clock::time_point::max()));
  }

  bool is_past_deadline() const { return deadline_ && steady_clock::now() >= *deadline_; }

  httplib::Request outgoing(const Request& request) {
    httplib::Request out;
    out.method = request.method;
    out.path = client_.url_.path + request.path;
    out.body = request.body;
    // cpp-httplib writes an IPv6 address without its brackets.
    out.headers = {{"Host", client_.url_.authority},
                   {"User-Agent", std::string("cellctl/") + version},
                   {"Accept", "application/json, application/problem+json, text/event-stream"}};
    if (!client_.connection_.token.empty())
      out.headers.emplace("Authorization", "Bearer " + client_.connection_.token);
    if (!request.body.empty()) out.headers.emplace("Content-Type", "application/json");
    for (const auto& [name, value] : request.headers) {
      if (!http::is_field_value(value))
        throw usage_failure("the value of " + name + " has characters that a header cannot have");
      out.headers.emplace(name, value);
    }
    if (body_ != nullptr) {
      out.is_chunked_content_provider_ = true;
      out.headers.emplace("Transfer-Encoding", "chunked");
      out.content_provider_ = [this](std::size_t /*offset*/, std::size_t /*length*/,
                                     httplib::DataSink& sink) { return give_piece(sink); };
    }
    out.response_handler = [this](const httplib::Response& head) {
      note_head(head);
      return true;
    };
    out.content_receiver = [this](const char* data, std::size_t size, std::uint64_t /*offset*/,
                                  std::uint64_t /*total*/) { return take({data, size}); };
    return out;
  }

  bool take(std::string_view data) {
    if (on_data_ != nullptr && answer_.status == 200) return deliver(data);
    too_long_ = answer_.body.size() + data.size() > answer_bytes_max;
    if (!too_long_) answer_.body += data;
    return !too_long_;
  }

  /// Keeps an exception for `perform`, like `deliver`.
  bool give_piece(httplib::DataSink& sink) {
    watch_->extend(end_from(steady_clock::now()));
    try {
      (*on_turn_)();
      if (is_answered_early()) return cut_short(sink);
      std::string piece = body_->next();
      if (piece.empty() && body_->has_ended()) {
        sink.done();
        await_answer();
        return true;
      }
      if (piece.empty()) piece = pause();
      upload_broke_ = !piece.empty() && !sink.write(piece.data(), piece.size());
      return !upload_broke_;
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
  }

  /// Waits until the connection takes another piece; it takes none while celld holds the sender
  /// back. True: celld has answered, or the connection has ended.
  bool is_answered_early() const {
    const auto& wire = client_.wire_;
    pollfd connection{wire.descriptor, POLLIN | POLLOUT, 0};
    for (;;) {
      await(connection);
      if ((connection.revents & ~POLLOUT) != 0 && has_input(wire.descriptor, wire.tls)) return true;
      if ((connection.revents & POLLOUT) != 0) return false;
    }
  }

  /// The whole body is sent.
  void await_answer() const {
    pollfd connection{client_.wire_.descriptor, POLLIN, 0};
    await(connection);
  }

  /// Waits until the connection is ready, and calls `on_turn_` meanwhile.
  void await(pollfd& connection) const {
    while (::poll(&connection, 1, static_cast<int>(turn_interval.count())) <= 0) (*on_turn_)();
  }

  /// Makes cpp-httplib read the answer. celld may no longer read: the end of the body is not sent,
  /// and the connection is of no further use.
  bool cut_short(httplib::DataSink& sink) {
    is_cut_short_ = true;
    return sink.write("", 0);
  }

  /// Waits for more of the body, or for the answer. After a long wait, returns filler to be sent,
  /// so that celld does not end the batch.
  std::string pause() {
    constexpr short any = POLLIN | POLLHUP | POLLERR;
    std::array<pollfd, 2> inputs{
        {{body_->descriptor(), POLLIN, 0}, {client_.wire_.descriptor, POLLIN, 0}}};
    const int ready =
        ::poll(inputs.data(), inputs.size(), static_cast<int>(filler_interval.count()));
    if (ready > 0 && (inputs[0].revents & any) != 0) body_->read();
    return ready == 0 ? body_->filler() : "";
  }

  /// Keeps an exception for `perform`: none may propagate through cpp-httplib.
  bool deliver(std::string_view data) {
    watch_->extend(end_from(steady_clock::now()));
    try {
      enough_ = !(*on_data_)(data) || is_past_deadline();
    } catch (...) {
      thrown_ = std::current_exception();
    }
    return !enough_ && !thrown_;
  }

  void note_head(const httplib::Response& head) {
    answer_.status = head.status;
    answer_.content_type = head.get_header_value("Content-Type");
    answer_.repr_digest = head.get_header_value("Repr-Digest");
    answer_.replayed = head.get_header_value("Idempotent-Replayed") == "true";
    note_retry_after(head.get_header_value("Retry-After"));
  }

  void note_retry_after(const std::string& value) {
    int seconds = 0;
    const auto result = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (result.ec == std::errc() && seconds >= 0)
      answer_.retry_after = std::chrono::seconds(seconds);
  }

  NoAnswer no_answer(httplib::Error error) const {
    const Connection& connection = client_.connection_;
    const auto silence = [&](const std::string& reason, bool may_pass) {
      return NoAnswer("celld does not answer at " + connection.url + ": " + cleaned(reason),
                      may_pass);
    };
    if (too_long_) return {"the response from " + connection.url + " is too long", false};
    if (watch_->time_is_over()) {
      if (on_data_ != nullptr) return {"celld at " + connection.url + " has stopped sending", true};
      return silence("no complete response within " + duration_text(patience_), true);
    }
    // cpp-httplib calls an upload whose connection breaks cancelled.
    switch (upload_broke_ ? httplib::Error::Write : error) {
      case httplib::Error::Connection:
        return silence(client_.proxy_ ? connection_fault(client_.proxy_->host, client_.proxy_->port)
                                      : connection_fault(client_.url_.host, client_.url_.port),
                       true);
      case httplib::Error::ConnectionTimeout:
        return silence("the connection timed out", true);
      case httplib::Error::Read:
      case httplib::Error::Write:
        return silence(tls_fault("the connection broke before the response was complete"), true);
      case httplib::Error::SSLLoadingCerts:
        return certificate_fault(connection, connection.ca_path + " cannot be loaded");
      case httplib::Error::SSLServerVerification:
        return certificate_fault(connection, verification_fault());
      case httplib::Error::SSLConnection:
        return silence(tls_fault("the connection broke or timed out in the TLS handshake"),
                       is_broken_connection());
      default:
        return silence(httplib::to_string(error), false);
    }
  }

  std::string verification_fault() const {
    const auto& tls = static_cast<const httplib::SSLClient&>(*client_.http_);
    const long code = tls.get_openssl_verify_result();
    return code == X509_V_OK ? "the certificate is not for " + client_.url_.host
                             : X509_verify_cert_error_string(code);
  }

  Client& client_;
  const milliseconds patience_;
  UploadBody* body_ = nullptr;  ///< Makes the body, if set.
  const std::function<void()>* on_turn_ = nullptr;
  const OnData* on_data_ = nullptr;  ///< Receives the body of a 200, if set.
  std::optional<steady_clock::time_point> deadline_;
  Watch* watch_ = nullptr;
  Answer answer_;
  bool too_long_ = false;
  bool upload_broke_ = false;
  bool is_cut_short_ = false;
  bool enough_ = false;
  std::exception_ptr thrown_;
};

Client::Client(Connection connection)
    : connection_(std::move(connection)),
      url_(parse_url(connection_.url)),
      proxy_(proxy_for(url_)) {
  if (!http::is_field_value(connection_.token))
    throw usage_failure("the token contains characters that a token cannot have");
  http_ = url_.tls ? tls_client(url_, connection_)
                   : std::make_unique<httplib::ClientImpl>(url_.host, url_.port);
  http_->set_socket_options([this](int descriptor) { wire_ = {descriptor, nullptr}; });
  if (url_.tls) {
    SSL_CTX* context = static_cast<httplib::SSLClient&>(*http_).ssl_context();
    SSL_CTX_set_app_data(context, &wire_.tls);
    SSL_CTX_set_info_callback(context, [](const SSL* tls, int where, int /*result*/) {
      if ((where & SSL_CB_HANDSHAKE_DONE) == 0) return;
      *static_cast<SSL**>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(tls))) = const_cast<SSL*>(tls);
    });
  }
  if (proxy_) {
    http_->set_proxy(proxy_->host, proxy_->port);
    http_->set_proxy_basic_auth(proxy_->user, proxy_->password);
  }
  http_->set_keep_alive(true);
  http_->set_tcp_nodelay(true);
  http_->set_url_encode(false);
  http_->set_decompress(false);
}

Client::~Client() = default;

Answer Client::send(const Request& request) {
  return Transfer(*this, connection_.timeout + request.extra_time).perform(request);
}

Answer Client::upload(const Request& request, UploadBody& body,
                      const std::function<void()>& on_turn) {
  Transfer transfer(*this, connection_.timeout + request.extra_time);
  transfer.upload_from(body, on_turn);
  return transfer.perform(request);
}

Answer Client::stream(const Request& request, std::optional<steady_clock::time_point> deadline,
                      const OnData& on_data) {
  Transfer transfer(*this, silence_max + request.extra_time);
  transfer.stream_to(on_data, deadline);
  return transfer.perform(request);
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
