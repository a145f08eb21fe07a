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

/// The part of a connection that other threads use. Each request is one turn; anything that arrives
/// for an earlier turn is dropped. Exactly one party answers a turn: the first to claim or revoke
/// it.
class AnswerSlot : public std::enable_shared_from_this<AnswerSlot> {
 public:
  AnswerSlot(std::shared_ptr<ServerState> state, Socket& socket, Connection& connection)
      : state_(std::move(state)),
        socket_(socket),
        poller_writes_(socket.encrypted()),
        connection_(connection) {}

  // From the poller.

  /// Begins a turn and returns its number. `input_waits`: as set by note_input.
  std::uint64_t open(AnswerForm form, bool input_waits);
  /// The client has sent more, which the poller reads once this turn is answered.
  void note_input() { input_waits_ = true; }
  /// The request has been read to its end, so its connection may serve another.
  void allow_keep_alive();
  /// The client has closed its sending side.
  void note_input_end() { input_ended_ = true; }
  /// Ends the turn without an answer; false when an answer is already on its way.
  bool revoke();
  /// The answer has been written.
  void end_turn();
  /// Call this before closing the socket: afterwards no other thread uses it or the connection.
  void disconnect();
  Connection& connection() const { return connection_; }
  /// Whether `turn` is the current one, on a connection that is still open.
  bool is_current(std::uint64_t turn) const;

  // From any thread.

  /// Takes the right to answer; true for the first caller.
  bool claim(std::uint64_t turn);
  /// Sends the answer of a claimed turn: at once, or through the poller if the connection is
  /// encrypted.
  void deliver(const Response& response);
  /// Begins the stream that answers a claimed turn; null when the answer is a head alone.
  std::shared_ptr<StreamBuffer> begin_stream(Response&& head, StreamOptions options);
  /// Closes the connection of a turn that cannot be answered.
  void give_up(std::uint64_t turn) noexcept;
  void notify(Notice::Kind kind, std::uint64_t turn);
  bool input_ended() const { return input_ended_; }
  const ServerState& state() const { return *state_; }

 private:
  std::pair<Notice, AnswerForm> begin_answer(Notice::Kind kind);

  const std::shared_ptr<ServerState> state_;
  Socket& socket_;
  const bool poller_writes_;  // A TLS stream may be used by one thread only.
  Connection& connection_;
  mutable std::mutex mutex_;
  std::uint64_t turn_ = 0;
  AnswerForm form_;
  bool answered_ = true;
  bool gone_ = false;
  std::atomic<bool> input_waits_{false};
  std::atomic<bool> input_ended_{false};
};

/// One turn, shared by the copies of its Responder.
class Responder::Exchange {
 public:
  Exchange(std::shared_ptr<AnswerSlot> slot, std::uint64_t turn)
      : slot_(std::move(slot)), turn_(turn) {}
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
  bool connected() const { return slot_->is_current(turn_); }
  bool open_both_ways() const { return connected() && !slot_->input_ended(); }

 private:
  void note(int status) const;
  void call_listener(int status);

  const std::shared_ptr<AnswerSlot> slot_;
  const std::uint64_t turn_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::optional<std::size_t> endpoint_;
  AnswerListener listener_;
  std::atomic<bool> listener_called_{false};
};

}  // namespace celld::http
