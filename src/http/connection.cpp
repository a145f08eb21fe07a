#include "src/http/connection.hpp"

#include <sys/epoll.h>

#include <limits>
#include <utility>

namespace celld::http {
namespace {

constexpr std::size_t discarded_bytes_max = 32 << 20;
constexpr std::size_t idle_capacity_max = 512;

}  // namespace

Connection::Connection(PollerLoop& loop, FileDescriptor socket, std::string peer)
    : loop_(loop),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      slot_(std::make_shared<AnswerSlot>(loop.server, socket_, *this)),
      scanner_(loop.server->limits) {
  arm(DeadlineKind::idle);
}

Connection::~Connection() {
  disarm();
}

// What happens to a connection.

void Connection::on_events(std::uint32_t events) {
  if (state_ == State::closed) return;
  // A client that only closed its sending side is still there for its answer; these mean it is not.
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return abandon();
  if ((events & (EPOLLIN | EPOLLRDHUP)) != 0) readable_ = true;
  if ((events & EPOLLRDHUP) != 0) client_done_ = true;
  if ((events & EPOLLOUT) != 0 && state_ == State::writing) flush();
  read_some();
}

void Connection::on_notice(Notice&& notice) {
  if (state_ == State::closed || !slot_->is_current(notice.turn)) return;
  if (notice.kind == Notice::Kind::answered) {
    if (notice.failed) return abandon();
    closes_ = notice.closes;
    output_ = std::move(notice.unwritten);
    flush();
  } else if (pipe_ && state_ == State::reading_body) {
    body_unwanted_ = body_unwanted_ || notice.kind == Notice::Kind::body_refused;
    read_on();
  }
}

void Connection::on_deadline() {
  const auto kind = armed();
  disarm();
  if (kind == DeadlineKind::head) {
    refuse(408, "the header section took too long");
  } else if (kind == DeadlineKind::body) {
    fail_body(408, "the body took too long");
  } else {
    abandon();
  }
}

void Connection::on_unread() {
  queued_unread_ = false;
  read_some();
}

void Connection::on_drain() {
  if (state_ == State::reading_head && pending().empty()) abandon();
}

// Reading.

bool Connection::wants_input() const {
  return state_ == State::reading_head || state_ == State::lingering ||
         (state_ == State::reading_body && !body_held_back_);
}

/// One read, so that a client that sends without end does not keep the others waiting.
void Connection::read_some() {
  if (!readable_ || !wants_input()) return;
  const auto transfer = socket_.read(loop_.scratch.data(), loop_.scratch.size());
  using enum Transfer::Outcome;
  if (transfer.outcome == failed) return abandon();
  if (transfer.outcome == end) {
    input_ended_ = true;
    readable_ = false;
    return on_input_end();
  }
  // A short read has emptied the socket; but the end of input, once announced, has to be read too.
  readable_ = transfer.bytes == loop_.scratch.size() || client_done_;
  if (transfer.outcome == would_block) {
    readable_ = false;
  } else {
    take_input({loop_.scratch.data(), transfer.bytes});
  }
  read_on();
}

/// Reads again in a later round, if there may be something to read.
void Connection::read_on() {
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
    if (state_ == State::handling) input_.append(data);
    return;
  }
  input_.append(data);
  read_requests();
}

void Connection::on_input_end() {
  if (state_ == State::lingering || (state_ == State::reading_head && pending().empty())) {
    abandon();
  } else if (state_ == State::reading_head) {
    refuse(400, "the header section is incomplete");
  } else {
    fail_body(400, "the body is incomplete");
  }
}

void Connection::read_requests() {
  while (state_ == State::reading_head && !pending().empty() && read_head()) {
  }
  if (input_taken_ == input_.size()) {
    input_.clear();
    input_taken_ = 0;
  }
}

/// True when a head was complete and its request has begun.
bool Connection::read_head() {
  // RFC 9112, section 2.2: an empty line before a request is to be ignored.
  if (!blank_line_skipped_ && pending().substr(0, 2) == "\r\n") {
    blank_line_skipped_ = true;
    input_taken_ += 2;
    scanner_.restart();
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
  input_taken_ += scanned.length;
  if (auto* refusal = std::get_if<Refusal>(&head)) {
    refuse(refusal->status, std::move(refusal->detail));
    return false;
  }
  begin_request(std::move(std::get<RequestHead>(head)));
  return true;
}

void Connection::begin_request(RequestHead head) {
  const bool expects_continue = head.expects_continue;
  const auto* stream = loop_.server->routes.stream_handler(head.request.method, head.route_path);
  head.request.peer = peer_;
  terms_ = {head.request.method == "HEAD", head.keep_alive, head.http_1_0};
  state_ = State::reading_body;
  arm(DeadlineKind::body);
  if (stream != nullptr) {
    begin_stream(*stream, std::move(head));
  } else {
    decoder_.emplace(head.body, loop_.server->limits.body_bytes_max);
    task_ = std::make_shared<RequestTask>(*loop_.server, std::move(head.request),
                                          std::move(head.route_path));
  }
  auto rest = pending();
  const auto before = rest.size();
  take_body(rest);
  // A body that was refused has taken the input with it.
  const bool served = state_ == State::reading_body || state_ == State::handling;
  if (served) input_taken_ += before - rest.size();
  if (state_ == State::reading_body && expects_continue && before == 0) offer_continue();
}

void Connection::begin_stream(const StreamHandler& handler, RequestHead head) {
  decoder_.emplace(head.body, std::numeric_limits<std::uint64_t>::max());
  // Until the body has ended, no answer may promise to keep the connection.
  const auto turn = slot_->open({terms_.head_only, false, terms_.http_1_0});
  pipe_ = std::make_shared<BodyPipe>(slot_, turn, *loop_.server, handler, std::move(head.request));
  pipe_->open();
}

/// Takes what belongs to the body off `input`.
void Connection::take_body(std::string_view& input) {
  const auto before = input.size();
  const auto status = pipe_ ? pass_on(input) : decoder_->decode(input, task_->body());
  if (status == BodyDecoder::Status::complete) {
    finish_body();
  } else if (status == BodyDecoder::Status::malformed) {
    fail_body(400, "the chunked body is malformed");
  } else if (status == BodyDecoder::Status::too_large) {
    fail_body(413, "the body is too large");
  } else if (pipe_) {
    if (body_unwanted_) discarded_bytes_ += before - input.size();
    hold_back();
  }
}

BodyDecoder::Status Connection::pass_on(std::string_view& input) {
  std::string piece;
  const auto status = decoder_->decode(input, piece);
  const bool wanted =
      status == BodyDecoder::Status::more || status == BodyDecoder::Status::complete;
  if (wanted && !piece.empty() && !body_unwanted_) pipe_->push(std::move(piece));
  return status;
}

/// Decides whether more of a streamed body is read now. Its deadline is for the next piece, and
/// rests while we hold the client back.
void Connection::hold_back() {
  body_held_back_ = body_unwanted_ ? discarded_bytes_ > discarded_bytes_max : !pipe_->wants_more();
  if (body_held_back_) {
    disarm();
  } else {
    arm(DeadlineKind::body);
  }
}

void Connection::offer_continue() {
  const auto transfer = socket_.write("HTTP/1.1 100 Continue\r\n\r\n");
  // Nothing written is as good as never offered; a part of it would spoil the answer.
  if (transfer.outcome != Transfer::Outcome::done && transfer.bytes > 0) abandon();
}

void Connection::finish_body() {
  disarm();
  state_ = State::handling;
  if (pipe_) {
    if (terms_.keep_alive) slot_->allow_keep_alive();
    pipe_->end();
    return;
  }
  const auto turn = slot_->open(terms_);
  task_->set_exchange(std::make_shared<Responder::Exchange>(slot_, turn));
  loop_.tasks.push_back(std::move(task_));
}

void Connection::fail_body(int status, std::string detail) {
  if (pipe_) pipe_->abort();
  refuse(status, std::move(detail));
}

// Answering.

void Connection::refuse(int status, std::string detail) {
  disarm();
  if (pipe_ && !slot_->revoke()) {
    // Its handler has answered already, and says that the connection closes.
    state_ = State::handling;
    return;
  }
  terms_.keep_alive = false;
  closes_ = true;
  output_ = serialise(loop_.server->refusal(status, std::move(detail)), terms_);
  flush();
}

void Connection::flush() {
  if (state_ == State::reading_body) closes_ = true;
  if (state_ != State::writing) {
    state_ = State::writing;
    disarm();
  }
  const auto transfer = socket_.write(std::string_view(output_).substr(output_written_));
  output_written_ += transfer.bytes;
  if (transfer.outcome == Transfer::Outcome::failed) {
    abandon();
  } else if (transfer.outcome == Transfer::Outcome::done) {
    finish_answer();
  } else if (!armed()) {
    arm(DeadlineKind::write);
  }
}

void Connection::finish_answer() {
  disarm();
  slot_->end_turn();
  output_ = std::string();
  output_written_ = 0;
  if (pipe_) pipe_->detach();
  pipe_.reset();
  task_.reset();
  decoder_.reset();
  if (closes_ || loop_.server->draining.load()) {
    linger();
  } else {
    await_request();
  }
}

void Connection::await_request() {
  state_ = State::reading_head;
  terms_ = {};
  scanner_.restart();
  blank_line_skipped_ = false;
  body_held_back_ = body_unwanted_ = false;
  discarded_bytes_ = 0;
  read_requests();
  if (state_ == State::reading_head && pending().empty()) {
    if (input_.capacity() > idle_capacity_max) input_ = std::string();
    arm(DeadlineKind::idle);
  }
  read_on();
}

/// Ends our side, and takes what the client still sends: closing right away would reset the
/// connection, and the client would lose the answer.
void Connection::linger() {
  socket_.shut_down_writing();
  if (input_ended_) return abandon();
  state_ = State::lingering;
  input_ = std::string();
  input_taken_ = 0;
  discarded_bytes_ = 0;
  arm(DeadlineKind::linger);
  read_on();
}

void Connection::abandon() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  disarm();
  slot_->disconnect();
  if (pipe_) pipe_->abort();
  pipe_.reset();
  task_.reset();
  socket_.close();
  loop_.closed.push_back(this);
}

}  // namespace celld::http
