// How a connection answers. How it reads is in connection.cpp.
#include <algorithm>
#include <utility>

#include "src/http/connection.hpp"
#include "src/http/release.hpp"

namespace celld::http {
namespace {

constexpr std::size_t idle_capacity_max = 512;
constexpr milliseconds heartbeat_interval_min{1};

}  // namespace

void Connection::refuse(int status, std::string detail) {
  disarm();
  release_room();
  if (pipe_ && !slot_->revoke()) {
    // The handler has already answered, and its answer announces the close.
    state_ = State::handling;
    return;
  }
  if (state_ == State::reading_head) form_.head_only = pending().starts_with("HEAD ");
  form_.keep_alive = false;
  closes_ = true;
  loop_.server->observer->refused(status);
  output_ = serialise(loop_.server->refusal(status, std::move(detail)), form_);
  flush();
}

/// Releases the room for its body, or leaves the queue for that room.
void Connection::release_room() {
  if (std::exchange(waits_for_room_, false)) loop_.server->body_room.forget(*this);
  if (room_since_) std::erase(loop_.large_bodies, this);
  task_.reset();
}

void Connection::flush() {
  if (state_ == State::reading_body) closes_ = true;
  if (state_ != State::writing) {
    state_ = State::writing;
    disarm();
  }
  const auto transfer = socket_.write(std::string_view(output_).substr(output_written_));
  output_written_ += transfer.bytes;
  note_unsent(transfer);
  if (transfer.outcome == Transfer::Outcome::failed) {
    abandon();
  } else if (transfer.outcome == Transfer::Outcome::done) {
    finish_answer();
  } else if (!armed()) {
    arm(DeadlineKind::write);
  }
}

/// Frees the sent part once it is the larger one, so that memory stays close to the unsent bytes.
void Connection::note_unsent(const Transfer& transfer) {
  if (output_written_ > output_.size() / 2) {
    replace_freeing(output_, output_.substr(output_written_));
    output_written_ = 0;
  }
  loop_.unsent.note(*this, unsent_, output_.size(), transfer.bytes > 0);
}

// Streamed answers. While the client keeps up, `output_` is empty. When the client falls behind,
// new data waits in the stream's buffer and becomes one piece.

void Connection::begin_answer_stream(Notice&& notice) {
  closes_ = notice.closes || state_ == State::reading_body;
  disarm();
  state_ = State::streaming;
  drop_request();
  stream_ = std::move(notice.stream);
  ++loop_.server->streams;
  output_ = std::move(notice.unwritten);
  replace_freeing(input_, std::string(pending()));
  input_taken_ = 0;
  socket_.expect_acknowledgement_within(loop_.server->limits.write_timeout);
  flush_stream();
  if (state_ == State::streaming && loop_.server->shutting_down.load()) end_endless_stream();
}

void Connection::on_stream_notice(Notice::Kind kind) {
  if (kind == Notice::Kind::stream_overrun) {
    abandon();
  } else if (output_.empty()) {
    send_stream();
  }
}

void Connection::send_stream() {
  auto taken = stream_->take();
  replace_freeing(output_, std::move(taken.bytes));
  if (!taken.ended) return flush_stream();
  drop_stream();
  flush();
}

/// Sends as much as the client takes. The write timeout bounds the time without progress; after a
/// heartbeat interval without data, a heartbeat is due.
void Connection::flush_stream() {
  const auto transfer = socket_.write(std::string_view(output_).substr(output_written_));
  if (transfer.outcome == Transfer::Outcome::failed) return abandon();
  output_written_ += transfer.bytes;
  if (transfer.bytes > 0) stream_sent_at_ = loop_.now;
  stream_->note_unsent(output_.size() - output_written_);
  note_unsent(transfer);
  if (transfer.outcome != Transfer::Outcome::done) {
    if (transfer.bytes > 0 || armed() != DeadlineKind::write) arm(DeadlineKind::write);
    return;
  }
  release(output_);
  output_written_ = 0;
  if (armed() != DeadlineKind::heartbeat) await_heartbeat();
  stream_->note_taken();
}

void Connection::await_heartbeat() {
  disarm();
  const auto& options = stream_->options();
  if (options.heartbeat.empty()) return;
  const auto interval = std::max(options.heartbeat_interval, heartbeat_interval_min);
  loop_.deadlines.arm_heartbeat(*this, stream_sent_at_ + interval);
}

/// Sending data does not move the heartbeat's deadline: that would cost more than this check.
void Connection::send_heartbeat() {
  const auto& options = stream_->options();
  const auto interval = std::max(options.heartbeat_interval, heartbeat_interval_min);
  if (loop_.now < stream_sent_at_ + interval) return await_heartbeat();
  output_.append(stream_->framed(options.heartbeat));
  flush_stream();
}

/// Ends the stream after everything written, unless it has an end of its own.
void Connection::end_endless_stream() {
  closes_ = true;
  const auto& options = stream_->options();
  if (options.on_taken && !options.endless) return;
  stream_->finish();
  if (output_.empty()) send_stream();
}

void Connection::drop_stream() {
  if (std::exchange(stream_, nullptr)) --loop_.server->streams;
}

void Connection::finish_answer() {
  disarm();
  slot_->end_exchange();
  release(output_);
  output_written_ = 0;
  drop_request();
  if (closes_) return linger();
  // The answer promised keep-alive, so requests that have arrived are still served.
  await_request();
  if (loop_.closing) close_if_idle();
}

/// Frees what belongs to the request, which has been answered.
void Connection::drop_request() {
  if (pipe_) pipe_->detach();
  pipe_.reset();
  task_.reset();
  decoder_.reset();
}

void Connection::await_request() {
  state_ = State::reading_head;
  form_ = {};
  scanner_.restart();
  blank_line_skipped_ = false;
  body_held_back_ = body_unwanted_ = timed_out_ = false;
  discarded_bytes_ = 0;
  read_requests();
  if (state_ == State::reading_head && pending().empty()) {
    if (input_.capacity() > idle_capacity_max) release(input_);
    arm(DeadlineKind::idle);
  }
  queue_read();
}

/// Closes the sending side and discards further input: closing both sides at once would reset the
/// connection, and the client would lose the answer.
void Connection::linger() {
  shaking_hands_ = false;
  shut_down_pending_ = !socket_.shut_down_writing();
  if (input_ended_) return abandon();
  state_ = State::lingering;
  release(input_);
  input_taken_ = 0;
  discarded_bytes_ = 0;
  arm(DeadlineKind::linger);
  queue_read();
}

/// Closes a connection without a request in progress.
void Connection::close_in_order() {
  if (socket_.encrypted()) socket_.shut_down_writing();
  abandon();
}

void Connection::abandon() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  disarm();
  release_room();
  loop_.unsent.forget(unsent_);
  slot_->disconnect();
  if (stream_) stream_->close();
  drop_stream();
  if (pipe_) pipe_->abort();
  pipe_.reset();
  task_.reset();
  socket_.close();
  loop_.closed.push_back(this);
}

}  // namespace celld::http
