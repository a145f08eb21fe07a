#include "src/http/connection.hpp"

#include <sys/epoll.h>

#include <limits>
#include <string>
#include <utility>

#include "src/http/release.hpp"

namespace celld::http {
namespace {

constexpr std::size_t discarded_bytes_max = 32 << 20;

std::string to_text(milliseconds time) {
  return std::to_string(time.count()) + " ms";
}

}  // namespace

Connection::Connection(PollerLoop& loop, Socket socket, std::string peer)
    : loop_(loop),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      slot_(std::make_shared<AnswerSlot>(loop.server, socket_, *this)),
      shaking_hands_(socket_.encrypted()),
      scanner_(loop.server->limits) {
  arm(shaking_hands_ ? DeadlineKind::head : DeadlineKind::idle);
}

Connection::~Connection() {
  disarm();
}

// Events.

void Connection::on_events(std::uint32_t events) {
  if (state_ == State::closed) return;
  // A client that closed only its sending side still waits for its answer, but EPOLLERR and
  // EPOLLHUP mean that it has gone. While lingering, EPOLLHUP only means that both sides have
  // closed their sending side. The input must then be read to its end: otherwise closing would
  // reset the connection, and the client would lose the part of the answer that is still in
  // transit.
  const bool lingers = state_ == State::lingering;
  if ((events & EPOLLERR) != 0 || ((events & EPOLLHUP) != 0 && !lingers)) return abandon();
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) {
    readable_ = true;
    slot_->note_input();
  }
  if ((events & EPOLLRDHUP) != 0) {
    client_done_ = true;
    slot_->note_input_end();
  }
  if ((events & EPOLLOUT) != 0) {
    if (socket_.read_awaits_output()) readable_ = true;
    on_writable();
  } else if (socket_.write_awaits_input()) {
    on_writable();
  }
  if (state_ == State::lingering) {
    queue_read();  // Input to be discarded can wait.
  } else {
    read_some();
  }
}

void Connection::on_writable() {
  if (state_ == State::writing) {
    flush();
  } else if (state_ == State::streaming && !output_.empty()) {
    flush_stream();
    // Data written meanwhile has been announced, but not sent.
    if (state_ == State::streaming && output_.empty()) send_stream();
  } else if (state_ == State::lingering && shut_down_pending_) {
    shut_down_pending_ = !socket_.shut_down_writing();
  }
}

void Connection::on_notice(Notice&& notice) {
  if (state_ == State::closed || !slot_->is_current(notice.exchange_number)) return;
  if (notice.kind == Notice::Kind::answered) {
    if (notice.failed) return abandon();
    closes_ = notice.closes;
    output_ = std::move(notice.unwritten);
    flush();
  } else if (notice.kind == Notice::Kind::stream_begun) {
    begin_answer_stream(std::move(notice));
  } else if (state_ == State::streaming) {
    on_stream_notice(notice.kind);
  } else if (pipe_ && state_ == State::reading_body) {
    body_unwanted_ = body_unwanted_ || notice.kind == Notice::Kind::body_refused;
    queue_read();
  }
}

void Connection::on_deadline() {
  const auto& limits = loop_.server->limits;
  const auto kind = armed();
  disarm();
  if (kind == DeadlineKind::heartbeat) {
    send_heartbeat();
  } else if (kind == DeadlineKind::idle) {
    close_in_order();
  } else if (kind == DeadlineKind::head && !shaking_hands_) {
    refuse(408, "The header section took longer than " + to_text(limits.head_timeout) + ".");
  } else if (kind == DeadlineKind::body) {
    if (waits_for_room_) {
      fail_body(503, "No memory is free for a body of this size; try again later.");
    } else {
      time_out_body("The body took longer than " + to_text(limits.body_timeout) + ".");
    }
  } else {
    abandon();
  }
}

void Connection::on_unread() {
  queued_unread_ = false;
  read_some();
}

void Connection::on_shutdown() {
  if (state_ == State::streaming) {
    end_endless_stream();
  } else {
    close_if_idle();
  }
}

/// Reads first, because closing with an unread request would reset the connection.
void Connection::close_if_idle() {
  const auto is_idle = [&] { return state_ == State::reading_head && pending().empty(); };
  if (!is_idle()) return;
  readable_ = true;
  read_some();
  if (is_idle()) close_in_order();
}

// Reading.

bool Connection::wants_input() const {
  return state_ == State::reading_head || state_ == State::lingering ||
         (state_ == State::reading_body && !body_held_back_ && !waits_for_room_);
}

/// For a body that may have to wait for room, reads at most one byte more than a small body has:
/// that byte shows that the body needs room. Such a connection holds at most twice small_bytes_max,
/// its head included, even if it sent the head together with an earlier body.
std::size_t Connection::read_size() const {
  constexpr auto small = BodyRoom::small_bytes_max;
  const std::size_t most = loop_.scratch.size();
  if (state_ == State::reading_head) return std::min(small, most);
  if (state_ != State::reading_body) return most;
  const bool may_wait = !pipe_ && !room_since_ && body_bytes_ > small;
  if (may_wait) return std::min(small + 1 - task_->body().size(), most);
  const auto left = std::min<std::uint64_t>(decoder_->left(), most);
  return std::min(static_cast<std::size_t>(left) + small, most);
}

/// Reads once, so that a client that sends without pause does not delay the others.
void Connection::read_some() {
  if (!readable_ || !wants_input()) return;
  const auto size = read_size();
  const auto transfer = socket_.read(loop_.scratch.data(), size);
  using enum Transfer::Outcome;
  if (shaking_hands_ && !shake_hands(transfer.outcome)) return;
  if (transfer.outcome == failed) return abandon();
  if (transfer.outcome == end) {
    input_ended_ = true;
    readable_ = false;
    return on_input_end();
  }
  // A short read has emptied the socket, but an announced end of input must still be read.
  readable_ = transfer.bytes == size || client_done_ || socket_.has_more();
  if (transfer.outcome == would_block) {
    readable_ = socket_.has_more();
  } else {
    take_input({loop_.scratch.data(), transfer.bytes});
  }
  queue_read();
}

/// Handles the outcome of a read during the TLS handshake. False when the handshake has failed.
bool Connection::shake_hands(Transfer::Outcome outcome) {
  if (outcome == Transfer::Outcome::not_encrypted) {
    shaking_hands_ = false;
    socket_.give_up_tls();
    refuse(400, "This port speaks TLS; use https.");
    return false;
  }
  if (outcome == Transfer::Outcome::failed) {
    // OpenSSL has sent an alert, which the client would not see if closing reset the connection.
    socket_.give_up_tls();
    disarm();
    linger();
    return false;
  }
  shaking_hands_ = socket_.shaking_hands();
  if (!shaking_hands_) arm(DeadlineKind::idle);
  return true;
}

/// Reads again in a later round, if there may be more input.
void Connection::queue_read() {
  if (state_ == State::reading_body && body_held_back_) hold_back();
  if (!readable_ || !wants_input() || std::exchange(queued_unread_, true)) return;
  loop_.unread.push_back(this);
}

void Connection::take_input(std::string_view data) {
  if (state_ == State::lingering) {
    discarded_bytes_ += data.size();
    if (discarded_bytes_ > discarded_bytes_max) abandon();
    return;
  }
  if (state_ == State::reading_body) {
    take_body(data);
    if (state_ == State::handling) {
      keep_input(data);
      if (!data.empty()) slot_->note_input();
    }
    return;
  }
  keep_input(data);
  read_requests();
}

/// Erases what has been served: a client that is always in the middle of its next request would
/// otherwise make the buffer grow.
void Connection::keep_input(std::string_view data) {
  input_.erase(0, std::exchange(input_taken_, 0));
  input_.append(data);
}

void Connection::on_input_end() {
  if (state_ == State::lingering) {
    abandon();
  } else if (state_ == State::reading_head && pending().empty()) {
    close_in_order();
  } else if (state_ == State::reading_head) {
    refuse(400, "The header section is incomplete.");
  } else {
    fail_body(400, "The body is incomplete.");
  }
}

void Connection::read_requests() {
  while (state_ == State::reading_head && !pending().empty() && read_head()) {
  }
  if (input_taken_ == input_.size()) {
    input_.clear();
    input_taken_ = 0;
    if (state_ == State::reading_body) release(input_);  // The body may take long to arrive.
  }
}

/// True when a head was complete and its request has begun.
bool Connection::read_head() {
  // RFC 9112, section 2.2: an empty line before a request is ignored.
  if (!blank_line_skipped_ && pending().substr(0, 2) == "\r\n") {
    blank_line_skipped_ = true;
    input_taken_ += 2;
    scanner_.restart();
    if (pending().empty()) return false;  // No head has begun.
  }
  auto scanned = scanner_.scan(pending());
  if (scanned.refusal) {
    refuse(scanned.refusal.status, std::move(scanned.refusal.detail));
    return false;
  }
  if (scanned.length == 0) {
    if (armed() != DeadlineKind::head) arm(DeadlineKind::head);
    return false;
  }
  auto head = parse_head(pending().substr(0, scanned.length), loop_.server->limits);
  if (auto* refusal = std::get_if<Refusal>(&head)) {
    refuse(refusal->status, std::move(refusal->detail));
    return false;
  }
  input_taken_ += scanned.length;
  begin_request(std::move(std::get<RequestHead>(head)));
  return true;
}

void Connection::begin_request(RequestHead head) {
  const bool expects_continue = head.expects_continue;
  const auto* stream = loop_.server->endpoints.stream_handler(head.request.method, head.match_path);
  head.request.peer = peer_;
  form_ = {head.request.method == "HEAD", head.keep_alive, head.http_1_0};
  state_ = State::reading_body;
  room_since_.reset();
  arm(DeadlineKind::body);
  if (stream != nullptr) {
    // The handler of a stream may answer at once, on another thread.
    const bool has_body = head.body.chunked || head.body.length > 0;
    if (expects_continue && has_body && pending().empty()) offer_continue();
    if (state_ == State::closed) return;
    begin_stream(*stream, std::move(head));
  } else {
    const auto bytes_max = loop_.server->limits.body_bytes_max;
    decoder_.emplace(head.body, bytes_max);
    body_bytes_ = head.body.chunked ? bytes_max : static_cast<std::size_t>(head.body.length);
    task_ = std::make_shared<RequestTask>(*loop_.server, std::move(head.request),
                                          std::move(head.match_path));
  }
  auto rest = pending();
  const auto before = rest.size();
  take_body(rest);
  // A refusal has already discarded the input.
  const bool served = state_ == State::reading_body || state_ == State::handling;
  if (served) input_taken_ += before - rest.size();
  if (!pending().empty()) slot_->note_input();
  const bool may_offer = stream == nullptr && state_ == State::reading_body;
  if (may_offer && expects_continue && before == 0) offer_continue();
}

void Connection::begin_stream(const Endpoints::StreamEntry& entry, RequestHead head) {
  decoder_.emplace(head.body, std::numeric_limits<std::uint64_t>::max());
  // Until the body has ended, no answer may promise to keep the connection.
  const auto exchange_number = slot_->open({form_.head_only, false, form_.http_1_0}, true);
  pipe_ = std::make_shared<BodyPipe>(slot_, exchange_number, *loop_.server, entry,
                                     std::move(head.request));
  pipe_->open();
}

/// Removes the body's bytes from the front of `input`.
void Connection::take_body(std::string_view& input) {
  const auto before = input.size();
  const auto status = pipe_ ? pass_on(input) : decoder_->decode(input, task_->body());
  if (status == BodyDecoder::Status::complete) {
    finish_body();
  } else if (status == BodyDecoder::Status::malformed) {
    fail_body(400, "The chunked body is malformed.");
  } else if (status == BodyDecoder::Status::too_large) {
    fail_body(413, "The body is longer than " +
                       std::to_string(loop_.server->limits.body_bytes_max) + " bytes.");
  } else if (pipe_) {
    if (body_unwanted_) discarded_bytes_ += before - input.size();
    hold_back();
  } else if (!room_since_ && task_->body().size() > BodyRoom::small_bytes_max) {
    take_room(loop_.server->body_room.take(*this, body_bytes_));
  }
}

/// Takes the room for a body that is not small; null: the body waits for it.
void Connection::take_room(std::unique_ptr<BodyRoom::Share> room) {
  waits_for_room_ = !room;
  if (waits_for_room_) return task_->body().shrink_to_fit();
  room_since_ = loop_.now;
  task_->body().reserve(body_bytes_);  // Growing by doubling would take twice the room.
  task_->hold_room(std::move(room));
  loop_.large_bodies.push_back(this);
}

void Connection::on_room(std::unique_ptr<BodyRoom::Share> room) {
  take_room(std::move(room));
  arm(DeadlineKind::body);
  queue_read();
}

void Connection::make_room() {
  fail_body(408, "The body took too long while other requests waited for memory.");
}

BodyDecoder::Status Connection::pass_on(std::string_view& input) {
  std::string piece;
  const auto status = decoder_->decode(input, piece);
  const bool wanted =
      status == BodyDecoder::Status::more || status == BodyDecoder::Status::complete;
  if (wanted && !piece.empty() && !body_unwanted_) pipe_->push(std::move(piece));
  return status;
}

/// Decides whether more of a streamed body is read now. The deadline is that of the next piece, and
/// is suspended while the client is held back.
void Connection::hold_back() {
  body_held_back_ = body_unwanted_ ? discarded_bytes_ > discarded_bytes_max : !pipe_->wants_more();
  if (body_held_back_ || timed_out_) {
    disarm();
  } else {
    arm(DeadlineKind::body);
  }
}

/// The sink of a streamed body may have an answer of its own. Until then the body is discarded.
void Connection::time_out_body(std::string detail) {
  if (!pipe_ || body_unwanted_) return fail_body(408, std::move(detail));
  // The sink may have begun to hold its client back after the last piece: then the sink caused the
  // pause.
  body_held_back_ = !pipe_->wants_more();
  if (body_held_back_) return;
  timed_out_ = body_unwanted_ = true;
  pipe_->time_out(std::move(detail));
}

void Connection::offer_continue() {
  const auto transfer = socket_.write("HTTP/1.1 100 Continue\r\n\r\n");
  // An offer that was not sent at all does no harm. A partly sent one would corrupt the answer, and
  // so would a TLS record that has to be written again.
  const bool begun = transfer.bytes > 0 || socket_.encrypted();
  if (transfer.outcome != Transfer::Outcome::done && begun) abandon();
}

void Connection::finish_body() {
  disarm();
  std::erase(loop_.large_bodies, this);
  state_ = State::handling;
  if (pipe_) {
    if (form_.keep_alive) slot_->allow_keep_alive();
    pipe_->end();
    return;
  }
  const auto exchange_number = slot_->open(form_, readable_ || client_done_);
  task_->set_exchange(std::make_shared<Responder::Exchange>(slot_, exchange_number));
  loop_.tasks.push_back(std::move(task_));
}

void Connection::fail_body(int status, std::string detail) {
  if (pipe_) pipe_->abort();
  refuse(status, std::move(detail));
}

}  // namespace celld::http
