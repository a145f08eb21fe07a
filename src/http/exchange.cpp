#include "src/http/exchange.hpp"

#include <utility>

#include "src/http/release.hpp"
#include "src/http/stream_buffer.hpp"

namespace celld::http {

std::uint64_t AnswerSlot::open(AnswerForm form, bool input_waits) {
  const std::lock_guard lock(mutex_);
  form_ = form;
  answered_ = false;
  input_waits_ = input_waits;
  return ++exchange_number_;
}

void AnswerSlot::allow_keep_alive() {
  const std::lock_guard lock(mutex_);
  form_.keep_alive = true;
}

bool AnswerSlot::revoke() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(answered_, true)) return false;
  ++exchange_number_;
  return true;
}

void AnswerSlot::end_exchange() {
  const std::lock_guard lock(mutex_);
  ++exchange_number_;
}

void AnswerSlot::disconnect() {
  const std::lock_guard lock(mutex_);
  gone_ = true;
}

bool AnswerSlot::is_current(std::uint64_t exchange_number) const {
  const std::lock_guard lock(mutex_);
  return !gone_ && exchange_number == exchange_number_;
}

bool AnswerSlot::take(std::uint64_t exchange_number) {
  const std::lock_guard lock(mutex_);
  return !gone_ && exchange_number == exchange_number_ && !std::exchange(answered_, true);
}

void AnswerSlot::deliver(const Response& response) {
  auto [notice, form] = begin_answer(Notice::Kind::answered);
  notice.unwritten = serialise(response, form);
  if (!poller_writes_) {
    const std::lock_guard lock(mutex_);
    if (gone_) return;
    const auto transfer = socket_.write(notice.unwritten);
    notice.failed = transfer.outcome == Transfer::Outcome::failed;
    if (transfer.bytes == notice.unwritten.size()) {
      release(notice.unwritten);
    } else {
      notice.unwritten.erase(0, transfer.bytes);
    }
  }
  if (!notice.unwritten.empty() || notice.failed || notice.closes) {
    return state_->mailbox.post(std::move(notice));
  }
  // The client's next request wakes the poller, unless that request has already arrived. The poller
  // sets `input_waits_` before it falls asleep, so either the poller sees the notice, or this
  // thread sees the flag.
  state_->mailbox.post_quietly(std::move(notice));
  if (input_waits_) state_->mailbox.wake();
}

std::shared_ptr<StreamBuffer> AnswerSlot::begin_stream(Response&& head, StreamOptions options) {
  auto [notice, form] = begin_answer(Notice::Kind::answered);
  const bool chunked = !form.http_1_0 && !options.length;
  if (form.http_1_0 && !options.length) {
    form.keep_alive = false;
    notice.closes = true;
  }
  notice.unwritten = serialise_stream_head(head, form, options.length);
  std::shared_ptr<StreamBuffer> stream;
  if (has_body(head, form)) {
    stream = std::make_shared<StreamBuffer>(shared_from_this(), notice.exchange_number,
                                            std::move(options), chunked);
    if (!head.body.empty()) {
      auto first = stream->take_first(std::move(head.body));
      first.insert(0, notice.unwritten);  // In place: the piece may be large.
      notice.unwritten = std::move(first);
    }
    notice.kind = Notice::Kind::stream_begun;
    notice.stream = stream;
  }
  state_->mailbox.post(std::move(notice));
  return stream;
}

/// The notice that answers the current request, and the form of that answer.
std::pair<Notice, AnswerForm> AnswerSlot::begin_answer(Notice::Kind kind) {
  Notice notice{kind, shared_from_this(), 0, {}, false, false};
  AnswerForm form;
  {
    const std::lock_guard lock(mutex_);
    form = form_;
    notice.exchange_number = exchange_number_;
  }
  form.keep_alive = form.keep_alive && !state_->shutting_down.load();
  notice.closes = !form.keep_alive;
  return {std::move(notice), form};
}

void AnswerSlot::give_up(std::uint64_t exchange_number) noexcept {
  const std::lock_guard lock(mutex_);
  if (!gone_ && exchange_number == exchange_number_) socket_.cut();
}

void AnswerSlot::notify(Notice::Kind kind, std::uint64_t exchange_number) {
  state_->mailbox.post(Notice{kind, shared_from_this(), exchange_number, {}, false, false});
}

Responder::Exchange::~Exchange() {
  try {
    refuse(500, "The request was not answered.");
  } catch (...) {  // Out of memory: a closed connection is better than one that waits forever.
    slot_->give_up(exchange_number_);
  }
}

void Responder::Exchange::answer(Response&& response) {
  call_listener(response.status);
  if (!slot_->take(exchange_number_)) return;
  note(response.status);
  slot_->deliver(response);
}

AnswerStream Responder::Exchange::begin_stream(Response&& head, StreamOptions options) {
  call_listener(head.status);
  if (!slot_->take(exchange_number_)) return {};
  note(head.status);
  auto buffer = slot_->begin_stream(std::move(head), std::move(options));
  return buffer ? AnswerStream(std::make_shared<AnswerStream::Channel>(std::move(buffer)))
                : AnswerStream();
}

void Responder::Exchange::refuse(int status, std::string detail, std::string allow) {
  call_listener(status);
  if (!slot_->take(exchange_number_)) return;
  note(status);
  slot_->deliver(slot_->state().refusal(status, std::move(detail), std::move(allow)));
}

void Responder::Exchange::note(int status) const {
  const auto took = std::chrono::steady_clock::now() - begun_;
  slot_->state().observer->answered(endpoint_, status,
                                    std::chrono::duration_cast<std::chrono::microseconds>(took));
}

void Responder::Exchange::call_listener(int status) {
  if (!listener_called_.exchange(true) && listener_) listener_(status);
}

void Responder::on_answer(AnswerListener listener) const {
  exchange_->listen(std::move(listener));
}

void Responder::answer(Response response) const {
  exchange_->answer(std::move(response));
}

AnswerStream Responder::begin_stream(Response head, StreamOptions options) const {
  return exchange_->begin_stream(std::move(head), std::move(options));
}

bool Responder::open_both_ways() const {
  return exchange_->open_both_ways();
}

bool Responder::connected() const {
  return exchange_->connected();
}

}  // namespace celld::http
