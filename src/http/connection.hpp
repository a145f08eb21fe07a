// One client's connection: a state machine that the poller drives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/http/body_decoder.hpp"
#include "src/http/body_pipe.hpp"
#include "src/http/deadlines.hpp"
#include "src/http/exchange.hpp"
#include "src/http/request_head.hpp"
#include "src/http/request_task.hpp"
#include "src/http/server_state.hpp"
#include "src/http/socket.hpp"
#include "src/http/stream_buffer.hpp"
#include "src/http/unsent_answers.hpp"

namespace celld::http {

class Connection;

/// State that the poller shares with its connections. Used only on the poller's thread.
struct PollerLoop {
  std::shared_ptr<ServerState> server;
  Deadlines deadlines;
  SteadyTime now{};
  std::vector<char> scratch;                 ///< The buffer of one read.
  std::vector<std::shared_ptr<Task>> tasks;  ///< For the handler threads.
  std::vector<Connection*> unread;           ///< May have more to read, in the next round.
  std::vector<Connection*> closed;           ///< To be freed once nothing refers to them.
  std::vector<Connection*> large_bodies;     ///< Reading a body that holds room; oldest first.
  UnsentAnswers unsent;
  bool closing = false;  ///< Connections close as soon as they are idle.
};

/// Reads one request, passes it on, writes its answer, and starts over. It does not read while a
/// request is in progress, so pipelined requests take one bounded buffer. A refused request, or one
/// whose body was not read to its end, is the last on its connection.
///
///   reading_head → reading_body → handling → streaming → writing ─┬→ reading_head
///        │              │            └─────────────────────↑      └→ lingering → closed
///        └──────────────┴── refused ───────────────────────┘
///
/// A TLS handshake is part of reading the first head.
class Connection : public DeadlineEntry {
 public:
  Connection(PollerLoop& loop, Socket socket, std::string peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return socket_.fd(); }
  bool closed() const { return state_ == State::closed; }

  /// `events` are epoll's, edge-triggered.
  void on_events(std::uint32_t events);
  void on_notice(Notice&& notice);
  void on_deadline();
  /// Called when the poller reaches the connection in PollerLoop::unread.
  void on_unread();
  /// Its body has been given room.
  void on_room(std::unique_ptr<BodyRoom::Share> room);
  /// Refuses the request whose body has kept others waiting for too long.
  void make_room();
  /// When its body was given room.
  SteadyTime room_since() const { return room_since_.value_or(SteadyTime{}); }
  /// The server stops: an idle connection closes now, any other after its answer.
  void on_shutdown();
  /// Closes unless a request is in progress or has arrived unread.
  void close_if_idle();

  /// Answers with a refusal, and closes.
  void refuse(int status, std::string detail);
  /// Closes at once.
  void abandon();

  std::size_t index = 0;    ///< In the poller's list.
  bool over_limit = false;  ///< Accepted only to be refused.

 private:
  enum class State { reading_head, reading_body, handling, streaming, writing, lingering, closed };

  void on_writable();
  bool wants_input() const;
  std::size_t read_size() const;
  void read_some();
  bool shake_hands(Transfer::Outcome outcome);
  void take_input(std::string_view data);
  void keep_input(std::string_view data);
  void on_input_end();
  std::string_view pending() const { return std::string_view(input_).substr(input_taken_); }

  void read_requests();
  bool read_head();
  void begin_request(RequestHead head);
  void take_room(std::unique_ptr<BodyRoom::Share> room);
  void begin_stream(const Endpoints::StreamEntry& entry, RequestHead head);
  void take_body(std::string_view& input);
  BodyDecoder::Status pass_on(std::string_view& input);
  void finish_body();
  void fail_body(int status, std::string detail);
  void offer_continue();
  void hold_back();
  void time_out_body(std::string detail);
  void queue_read();

  void release_room();
  void flush();
  void note_unsent(const Transfer& transfer);
  void finish_answer();

  void begin_answer_stream(Notice&& notice);
  void on_stream_notice(Notice::Kind kind);
  void send_stream();
  void flush_stream();
  void await_heartbeat();
  void send_heartbeat();
  void end_endless_stream();
  void drop_stream();

  void await_request();
  void linger();
  void close_in_order();
  void drop_request();

  void arm(DeadlineKind kind) { loop_.deadlines.arm(*this, kind, loop_.now); }
  void disarm() { loop_.deadlines.disarm(*this); }

  PollerLoop& loop_;
  Socket socket_;
  const std::string peer_;
  const std::shared_ptr<AnswerSlot> slot_;
  State state_ = State::reading_head;

  bool readable_ = false;     // The kernel may have more input.
  bool client_done_ = false;  // The client has closed its sending side.
  bool input_ended_ = false;  // All of the client's input has been read.
  bool queued_unread_ = false;
  bool shaking_hands_;
  bool shut_down_pending_ = false;  // Closing our sending side must be retried.
  std::string input_;
  std::size_t input_taken_ = 0;

  HeadScanner scanner_;
  bool blank_line_skipped_ = false;
  AnswerForm form_;
  std::optional<BodyDecoder> decoder_;
  std::shared_ptr<RequestTask> task_;  // Of a request whose body is being read.
  std::shared_ptr<BodyPipe> pipe_;     // Of a streamed request.
  std::size_t body_bytes_ = 0;         // As announced, or the maximum.
  std::optional<SteadyTime> room_since_;
  bool waits_for_room_ = false;
  bool body_held_back_ = false;
  bool body_unwanted_ = false;
  bool timed_out_ = false;  // Of a streamed request: its sink is asked for the answer.
  std::size_t discarded_bytes_ = 0;

  std::string output_;
  std::size_t output_written_ = 0;
  UnsentAnswers::Share unsent_;
  bool closes_ = false;  // After the output.
  std::shared_ptr<StreamBuffer> stream_;
  SteadyTime stream_sent_at_{};
};

}  // namespace celld::http
