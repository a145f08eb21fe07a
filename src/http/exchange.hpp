// Passes answers from a Responder, on any thread, to the connection of its request.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "src/http/answer.hpp"
#include "src/http/mailbox.hpp"
#include "src/http/server.hpp"
#include "src/http/server_state.hpp"

namespace celld::http {

class Connection;

/// The part of a connection that other threads use. A request and its answer are one exchange,
/// which has a number; whatever arrives for an earlier exchange is dropped. Exactly one party
/// answers: the first to take the right to, unless the poller has revoked it.
class AnswerSlot : public std::enable_shared_from_this<AnswerSlot> {
 public:
  AnswerSlot(std::shared_ptr<ServerState> state, Socket& socket, Connection& connection)
      : state_(std::move(state)),
        socket_(socket),
        poller_writes_(socket.encrypted()),
        connection_(connection) {}

  // From the poller.

  /// Begins an exchange and returns its number. `input_waits`: as set by note_input.
  std::uint64_t open(AnswerForm form, bool input_waits);
  /// The client has sent more, which the poller reads once this request is answered.
  void note_input() { input_waits_ = true; }
  /// The request has been read to its end, so its connection may serve another.
  void allow_keep_alive();
  /// The client has closed its sending side.
  void note_input_end() { input_ended_ = true; }
  /// Ends the exchange without an answer; false when an answer is already on its way.
  bool revoke();
  /// The answer has been written.
  void end_exchange();
  /// Call this before closing the socket: afterwards no other thread uses it or the connection.
  void disconnect();
  Connection& connection() const { return connection_; }
  /// Whether this exchange is the current one, on a connection that is still open.
  bool is_current(std::uint64_t exchange_number) const;

  // From any thread.

  /// Takes the right to answer; true for the first caller.
  bool take(std::uint64_t exchange_number);
  /// After `take`. Sends the answer: at once, or through the poller if the connection is
  /// encrypted.
  void deliver(const Response& response);
  /// After `take`. Begins the stream that is the answer; null when the answer is a head alone.
  std::shared_ptr<StreamBuffer> begin_stream(Response&& head, StreamOptions options);
  /// Closes the connection of a request that cannot be answered.
  void give_up(std::uint64_t exchange_number) noexcept;
  void notify(Notice::Kind kind, std::uint64_t exchange_number);
  bool input_ended() const { return input_ended_; }
  const ServerState& state() const { return *state_; }

 private:
  std::pair<Notice, AnswerForm> begin_answer(Notice::Kind kind);

  const std::shared_ptr<ServerState> state_;
  Socket& socket_;
  const bool poller_writes_;  // A TLS stream may be used by one thread only.
  Connection& connection_;
  mutable std::mutex mutex_;
  std::uint64_t exchange_number_ = 0;
  AnswerForm form_;
  bool answered_ = true;
  bool gone_ = false;
  std::atomic<bool> input_waits_{false};
  std::atomic<bool> input_ended_{false};
};

/// One exchange, shared by the copies of its Responder.
class Responder::Exchange {
 public:
  Exchange(std::shared_ptr<AnswerSlot> slot, std::uint64_t exchange_number)
      : slot_(std::move(slot)), exchange_number_(exchange_number) {}
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Names the endpoint. Call this before sharing the exchange.
  void serve(std::size_t endpoint) { endpoint_ = endpoint; }
  void listen(AnswerListener listener) { listener_ = std::move(listener); }
  void answer(Response&& response);
  AnswerStream begin_stream(Response&& head, StreamOptions options);
  /// Answers through the server's Refuse, unless the request has been answered.
  void refuse(int status, std::string detail, std::string allow = {});
  bool connected() const { return slot_->is_current(exchange_number_); }
  bool open_both_ways() const { return connected() && !slot_->input_ended(); }

 private:
  void note(int status) const;
  void call_listener(int status);

  const std::shared_ptr<AnswerSlot> slot_;
  const std::uint64_t exchange_number_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::optional<std::size_t> endpoint_;
  AnswerListener listener_;
  std::atomic<bool> listener_called_{false};
};

}  // namespace celld::http
