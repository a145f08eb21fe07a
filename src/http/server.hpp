// The HTTP server. It parses requests and owns its sockets.
//
// One poller thread owns every connection; a few threads run handlers on complete requests. An
// answer need not be ready when its handler returns: the handler keeps the Responder and answers
// later, from any thread. Until then the request costs a socket but no thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace celld::http {

using std::chrono::milliseconds;

/// How much is done at a time, before other connections get their turn. Only `served_max` may be 0.
struct TurnLimits {
  std::size_t events_max = 256;           ///< Of sockets, that one round of the poller handles.
  std::size_t accepts_max = 256;          ///< Connections that one round accepts.
  std::size_t read_bytes_max = 64 << 10;  ///< Read from a connection at a time.
  /// The poller serves the requests of a round itself if they are no more than this.
  std::size_t served_max = 4;
  std::size_t body_steps_max = 16;  ///< Calls of one streamed body's sink.
};

struct Limits {
  std::size_t head_bytes_max = 16 << 10;
  std::size_t headers_max = 64;
  std::size_t uri_bytes_max = 4 << 10;
  std::size_t body_bytes_max = 1 << 20;  ///< Of a request that is not streamed.
  /// Of one streamed body, not taken by its sink yet. Beyond it, the server reads on only after the
  /// sink has taken half of them.
  std::size_t body_backlog_bytes_max = 256 << 10;
  std::size_t stream_backlog_bytes_max = 256 << 10;  ///< Unsent, of one AnswerStream.
  /// Unsent bytes of all answers together. Beyond it, the server closes the connection that has
  /// made no progress for the longest.
  std::size_t unsent_bytes_max = 4 << 20;
  milliseconds head_timeout{5000};    ///< From the first byte of a request to its last header.
                                      ///< Also bounds a TLS handshake.
  milliseconds body_timeout{15000};   ///< From the last header to the end of the body. In a
                                      ///< streamed body, the longest pause.
  milliseconds idle_timeout{60000};   ///< Between requests of one connection.
  milliseconds write_timeout{10000};  ///< To send an answer; in a stream, without progress.
  std::size_t connections_max = 10'000;
  std::size_t threads = 2;
  TurnLimits turns{};
};

struct Request {
  std::string method;
  std::string path;                   ///< Percent-decoded, without the query.
  std::vector<std::string> captures;  ///< Of the endpoint's pattern, percent-decoded.
  std::vector<std::pair<std::string, std::string>> query;    ///< Decoded, in order of appearance.
  std::vector<std::pair<std::string, std::string>> headers;  ///< As sent; names in lower case.
  std::string body;
  std::string peer;  ///< The socket's address; never taken from a header.

  /// The value of the header with this lower-case name; nothing when absent. Several headers with
  /// the same name are joined with ", ".
  std::optional<std::string> header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// An answer that stays open until it is ended. Copies share the stream, and it ends with the last
/// copy. Thread-safe; never blocks.
class AnswerStream {
 public:
  class Channel;
  /// A stream without a client: every write fails.
  AnswerStream() = default;
  explicit AnswerStream(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}

  /// Sends more data. Unsent data is kept up to Limits::stream_backlog_bytes_max, or as one piece
  /// of any length. Beyond that the connection closes, so that a slow reader costs a connection and
  /// not memory. Returns false, and keeps nothing, once the client has gone or the stream has
  /// ended.
  bool write(std::string data) const;
  /// Ends the answer properly, after everything written. Its connection then stays open as usual.
  void end() const;
  /// Aborts the answer by closing its connection, so that the client notices.
  void break_off() const;
  /// False once the client has gone or the stream has ended: a write would reach no client.
  bool connected() const;

 private:
  std::shared_ptr<Channel> channel_;
};

struct StreamOptions {
  std::string heartbeat;  ///< Sent after each interval without data; empty: none.
  milliseconds heartbeat_interval{15000};
  /// The length of the body, if known: the answer announces it instead of coming in chunks. A
  /// stream that ends with any other length closes its connection, so that the client notices.
  std::optional<std::uint64_t> length{};
  /// For a stream that makes its next piece once the last one has been sent. The server calls it
  /// each time everything written has been sent, with the number of bytes since the beginning, and
  /// when the client has gone. It must not block. Such a stream has an end of its own, so stopping
  /// the server does not end it, but gives it the same grace period as any other answer.
  std::function<void(std::uint64_t bytes)> on_taken{};
  bool endless = false;  ///< With `on_taken`: the stream has no end of its own; a stop ends it.
};

/// Receives the status with which a request is answered; must not block.
using AnswerListener = std::function<void(int status)>;

/// The right to answer one request. Copies share it; the first answer counts. Thread-safe. If the
/// last copy is destroyed without an answer, the client gets a 500.
class Responder {
 public:
  class Exchange;
  explicit Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  /// `listener` is called once, by the thread that answers first, even if the client has gone by
  /// then. Set it in the handler, before another thread has a copy of the Responder.
  void on_answer(AnswerListener listener) const;
  void answer(Response response) const;
  /// Answers with a stream whose first piece is `head.body`, of any length. Unless `options` give
  /// its length, the body is chunked, or for HTTP/1.0 ends with the connection. HEAD gets the head
  /// alone. The stream is disconnected from the start when the answer has no body, the request has
  /// been answered, or the client has gone.
  AnswerStream begin_stream(Response head, StreamOptions options = {}) const;
  /// False once the client has gone: an answer would not reach it.
  bool connected() const;
  /// False, too, once the client has closed its sending side. It may still wait for the answer, but
  /// a client that was killed looks the same.
  bool open_both_ways() const;

 private:
  std::shared_ptr<Exchange> exchange_;
};

/// Called on a handler thread, or, for a request without a large body, on the poller's thread; must
/// not block.
using Handler = std::function<void(const Request&, Responder)>;

/// Receives the body of one streamed request piece by piece. Calls never overlap.
class BodySink {
 public:
  virtual ~BodySink() = default;
  /// Takes the next piece. False: the rest is not wanted, and the server discards it, within
  /// bounds. No further piece arrives while `pause` has been called more often than `resume`.
  virtual bool on_data(std::string_view piece) = 0;
  /// The body has ended as announced.
  virtual void on_end() = 0;
  /// The client has sent nothing for `Limits::body_timeout`. True: the sink answers, no other call
  /// follows, and the server discards what may still come, within bounds. False: the server answers
  /// 408, and on_abort follows.
  virtual bool on_timeout() { return false; }
  /// The client left, broke the framing or was too slow, or the server stopped. No other call
  /// follows.
  virtual void on_abort() = 0;
};

/// Lets a sink hold back its client. Thread-safe.
class BodyFlow {
 public:
  virtual ~BodyFlow() = default;
  virtual void pause() = 0;
  virtual void resume() = 0;
};

/// Called when the head of a streamed request is complete; `request.body` is empty.
using StreamHandler = std::function<std::unique_ptr<BodySink>(
    const Request& request, Responder responder, std::shared_ptr<BodyFlow> flow)>;

/// Makes the answer to a request that no handler answers: because of a framing error, an unknown
/// path, a wrong method (`allow` then lists the right ones), or a handler that threw (500).
/// `detail` is a human-readable sentence.
using Refuse = std::function<Response(int status, std::string detail, std::string allow)>;

class ServerObserver;  // src/http/server_observer.hpp
class TlsContext;      // src/http/tls.hpp

class Server {
 public:
  Server(Limits limits, Refuse refuse);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// `pattern` is a path whose segments may be `{}`, each of which captures one non-empty segment.
  /// Endpoints are added before `start`. GET endpoints answer HEAD too.
  void handle(std::string method, std::string pattern, Handler handler);
  /// Like `handle`, for an exact path whose body is passed on as it arrives, at any length.
  void handle_stream(std::string method, std::string path, StreamHandler handler);

  /// Binds and listens; 0 takes a free port. Returns the port, or an error text.
  std::pair<std::uint16_t, std::string> bind(const std::string& host, std::uint16_t port);
  /// Serves a TCP socket that is already listening, in place of `bind`, and takes ownership of it.
  /// Clients that connect while this server does not accept wait for the next server that has the
  /// same socket.
  std::pair<std::uint16_t, std::string> adopt(int listening_socket);
  /// Encrypts connections accepted from now on; open ones stay as they are. May be called at any
  /// time, from any thread; a reload calls it again. Null turns TLS off.
  void use_tls(std::shared_ptr<const TlsContext> context);
  /// Reports all requests to `observer`. Call it before `start`.
  void observe(std::shared_ptr<ServerObserver> observer);
  void start();
  /// Stops accepting, which leaves new connections to the next server that has the listening
  /// socket. Still serves requests on open connections, with answers that announce the close.
  /// Returns once all connections are closed. If `grace` ends first, closes those without a request
  /// in progress and returns. `stop` is still needed afterwards.
  void hand_over(milliseconds grace);
  /// Stops accepting, ends each AnswerStream without an end of its own, and closes each connection
  /// once its current answer is written. Returns when all are closed; after `grace` it closes the
  /// rest. Idempotent.
  void stop(milliseconds grace);

  /// Whether the poller thread handles a new event within this time, or has stopped as requested.
  bool responds(milliseconds within);

  /// Open connections, for metrics and tests.
  std::size_t connections() const;
  /// Open connections whose answer is an AnswerStream.
  std::size_t streams() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace celld::http
