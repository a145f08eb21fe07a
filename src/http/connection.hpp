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

/// What the poller and its connections share; on the poller's thread alone.
struct PollerLoop {
  std::shared_ptr<ServerState> server;
  Deadlines deadlines;
  SteadyTime now{};
  std::vector<char> scratch;                 ///< What one read may bring.
  std::vector<std::shared_ptr<Task>> tasks;  ///< For the handler threads.
  std::vector<Connection*> unread;           ///< May have more to read, when the others had a turn.
  std::vector<Connection*> closed;           ///< To be freed, once nothing refers to them.
  std::vector<Connection*> large_bodies;     ///< Being read with room taken; the oldest first.
  UnsentAnswers unsent;
  bool closing = false;  ///< Connections close as soon as they are idle.
};

/// Reads one request at a time, from the first byte to the last, hands it on, writes its answer,
/// and begins anew. Never reads on while a request is in hand, so that what a client sends ahead
/// takes one bounded buffer. A request that is refused, and a body that was not read to its end,
/// are the last on their connection.
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
  /// Its turn to read on has come.
  void on_unread();
  /// There is room for its body now.
  void on_room(std::unique_ptr<BodyRoom::Share> room);
  /// Its body has kept others waiting for too long.
  void make_room();
  /// Since when its body has had room.
  SteadyTime room_since() const { return room_since_.value_or(SteadyTime{}); }
  /// The server stops: a connection without a request closes; the others do after their answer.
  void on_shutdown();
  /// Closes unless a request is in hand, or has come and was not looked at yet.
  void close_if_idle();

  /// Answers what can't be served, and closes.
  void refuse(int status, std::string detail);
  /// Closes at once: the client is gone, or has to go.
  void abandon();

  std::size_t index = 0;    ///< The poller's place for it.
  bool over_limit = false;  ///< Only there to be refused.

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
  void read_on();

  void leave_line();
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

  bool readable_ = false;     // The kernel may have more for us.
  bool client_done_ = false;  // The client has announced that nothing more comes.
  bool input_ended_ = false;  // And all it sent has been read.
  bool queued_unread_ = false;
  bool shaking_hands_;
  bool shut_down_pending_ = false;  // The client has yet to be told that nothing more comes.
  std::string input_;
  std::size_t input_taken_ = 0;

  HeadScanner scanner_;
  bool blank_line_skipped_ = false;
  AnswerTerms terms_;
  std::optional<BodyDecoder> decoder_;
  std::shared_ptr<RequestTask> task_;  // Of a request whose body is being read.
  std::shared_ptr<BodyPipe> pipe_;     // Of a streamed request.
  std::size_t body_bytes_ = 0;         // As announced, or the most that may come.
  std::optional<SteadyTime> room_since_;
  bool waits_for_room_ = false;
  bool body_held_back_ = false;
  bool body_unwanted_ = false;
  std::size_t discarded_bytes_ = 0;

  std::string output_;
  std::size_t output_written_ = 0;
  UnsentAnswers::Share unsent_;
  bool closes_ = false;  // After the output.
  std::shared_ptr<StreamBuffer> stream_;
  SteadyTime stream_sent_at_{};
};

}  // namespace celld::http
