// The HTTP server: cpp-httplib for parsing and routing, behind sockets of our own.
//
// One poller thread owns every connection; a few threads run handlers on complete requests. An
// answer need not be ready when its handler returns: the handler keeps the Responder and answers
// later, from any thread, and meanwhile the request costs a socket and no thread.
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

struct Limits {
  std::size_t head_bytes_max = 16 << 10;
  std::size_t headers_max = 64;
  std::size_t uri_bytes_max = 4 << 10;
  std::size_t body_bytes_max = 1 << 20;              ///< Of requests that are not streamed.
  std::size_t stream_backlog_bytes_max = 256 << 10;  ///< Of an AnswerStream, not yet taken.
  /// Of answers that clients have not taken, all together; beyond it, the connection that has taken
  /// nothing for the longest is closed.
  std::size_t unsent_bytes_max = 4 << 20;
  milliseconds head_timeout{5000};    ///< From the first byte of a request to its last header;
                                      ///< and before that, of a TLS handshake.
  milliseconds body_timeout{15000};   ///< From the last header to the end of the body.
  milliseconds idle_timeout{60000};   ///< Between requests of one connection.
  milliseconds write_timeout{10000};  ///< For an answer to be taken by the client.
  std::size_t connections_max = 10'000;
  std::size_t threads = 2;
};

struct Request {
  std::string method;
  std::string path;                   ///< Percent-decoded, without the query.
  std::vector<std::string> captures;  ///< Of the endpoint's pattern, percent-decoded.
  std::vector<std::pair<std::string, std::string>> query;    ///< Decoded, in order of appearance.
  std::vector<std::pair<std::string, std::string>> headers;  ///< As sent; names in lower case.
  std::string body;
  std::string peer;  ///< The socket's address, never a header's.

  /// The value of the only header of that (lower-case) name; nothing when absent. Several of one
  /// name are joined with ", ".
  std::optional<std::string> header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// An answer that goes on until somebody ends it. Copies share it; when the last one goes, the
/// stream ends. From any thread; never blocks.
class AnswerStream {
 public:
  class Channel;
  /// A stream to nobody.
  AnswerStream() = default;
  explicit AnswerStream(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}

  /// Sends more. What the client does not take is kept up to Limits::stream_backlog_bytes_max, or
  /// one piece of any length; beyond that its connection is closed: a slow reader loses its
  /// connection, not our memory. False: the client has gone or the stream has ended, and nothing is
  /// kept.
  bool write(std::string data) const;
  /// Ends the answer properly, after all that was written; its connection then goes on as usual.
  void end() const;
  /// Breaks the answer off: its connection closes, so that the client notices.
  void break_off() const;
  /// False once the client has gone or the stream has ended: what is written would reach nobody.
  bool connected() const;

 private:
  std::shared_ptr<Channel> channel_;
};

struct StreamTerms {
  std::string heartbeat;  ///< Sent whenever nothing was sent for the interval; empty: none.
  milliseconds heartbeat_interval{15000};
  /// How much will be written, where that is known: the answer announces it instead of coming in
  /// chunks. A stream that ends with less closes its connection, so that the client notices.
  std::optional<std::uint64_t> length{};
  /// For a stream whose next piece is made when the client has taken the last. It has an end, and
  /// so is not ended when the server stops, but has the grace of any other answer. Called once
  /// whenever all that was written has been taken, with how many bytes that were from the
  /// beginning, and when the client has gone; by the server, so that it must not block.
  std::function<void(std::uint64_t bytes)> on_taken{};
  bool endless = false;  ///< It has none all the same: a stop of the server ends it.
};

/// Hears with which status a request is answered; must not block.
using AnswerListener = std::function<void(int status)>;

/// The right to answer one request. Copies share it; the first answer counts. From any thread. When
/// the last copy goes without an answer the client gets a 500.
class Responder {
 public:
  class Exchange;
  explicit Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  /// Called once, from whatever thread answers first, also where the client has gone by then. From
  /// the handler, before anybody else has a copy.
  void on_answer(AnswerListener listener) const;
  void answer(Response response) const;
  /// Answers with what goes on: `head.body` is its first piece, of any length. Chunked, or until
  /// the connection closes for a client of HTTP/1.0, unless the terms announce its length; HEAD
  /// gets the head alone. Not connected from
  /// the beginning where the request has been answered or its client has gone.
  AnswerStream begin_stream(Response head, StreamTerms terms = {}) const;
  /// False once the client has gone: an answer would reach nobody.
  bool connected() const;

 private:
  std::shared_ptr<Exchange> exchange_;
};

/// Called on a handler thread; must not block.
using Handler = std::function<void(const Request&, Responder)>;

/// Receives the body of one streamed request, piece by piece, never two calls at once.
class BodySink {
 public:
  virtual ~BodySink() = default;
  /// Takes the next piece. False: enough; the rest is drained for a bounded time and not passed on.
  /// While `pause` was called more often than `resume`, no further piece comes.
  virtual bool on_data(std::string_view piece) = 0;
  /// The body has ended as announced.
  virtual void on_end() = 0;
  /// The client went away, broke the framing, or was too slow; no other call follows.
  virtual void on_abort() = 0;
};

/// Lets a sink hold back its client; from any thread.
class BodyFlow {
 public:
  virtual ~BodyFlow() = default;
  virtual void pause() = 0;
  virtual void resume() = 0;
};

/// Called when the head of a streamed request is complete; `request.body` is empty.
using StreamHandler = std::function<std::unique_ptr<BodySink>(
    const Request& request, Responder responder, std::shared_ptr<BodyFlow> flow)>;

/// Makes the answer for what is refused before or beside a handler: a framing error, an unknown
/// path, a wrong method (`allow` then lists the right ones), a handler that threw (500). `detail`
/// is for people.
using Refuse = std::function<Response(int status, std::string detail, std::string allow)>;

class ServerObserver;  // src/http/server_observer.hpp
class TlsContext;      // src/http/tls.hpp

class Server {
 public:
  Server(Limits limits, Refuse refuse);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// `pattern` is a path whose segments may be `{}`: each becomes a capture of one segment (may not
  /// be empty). Endpoints are added before `start`. GET endpoints answer HEAD too.
  void handle(std::string method, std::string pattern, Handler handler);
  /// As handle, for an exact path whose body is handed on as it comes, of any length.
  void handle_stream(std::string method, std::string path, StreamHandler handler);

  /// Binds and listens; 0 takes a free port. Returns the port, or an error text.
  std::pair<std::uint16_t, std::string> bind(const std::string& host, std::uint16_t port);
  /// Instead: serves a TCP socket that listens already, and takes it over. Others may have the same
  /// socket: whoever connects while this server takes nobody waits for them.
  std::pair<std::uint16_t, std::string> adopt(int listening_socket);
  /// Connections accepted from now on are encrypted with it; those that are open go on as they
  /// are. Before start or later, from any thread: a reload is a second call. Null: no longer.
  void use_tls(std::shared_ptr<const TlsContext> context);
  /// Told from now on how requests go; before start.
  void observe(std::shared_ptr<ServerObserver> observer);
  void start();
  /// Leaves new connections to whoever has the listening socket next. Requests on open ones are
  /// served, and their answers say that the connection closes; returns when all are closed, or
  /// after `grace`, and then closes those without a request in hand. A stop is yet to come.
  void hand_over(milliseconds grace);
  /// Takes no new connection; ends each AnswerStream, and closes each open connection when its
  /// answer in hand is written. Returns when all are closed or `grace` has passed, then closes the
  /// rest. Idempotent.
  void stop(milliseconds grace);

  /// Whether the thread that owns the connections takes up something new in this time, or has ended
  /// as it was told to.
  bool responds(milliseconds within);

  /// Open connections, for metrics and tests.
  std::size_t connections() const;
  /// Of them, those whose answer is an AnswerStream.
  std::size_t streams() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace celld::http
