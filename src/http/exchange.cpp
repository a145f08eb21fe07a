#include "src/http/exchange.hpp"

#include <utility>

namespace celld::http {

std::uint64_t AnswerSlot::open(AnswerTerms terms) {
  const std::lock_guard lock(mutex_);
  terms_ = terms;
  answered_ = false;
  return ++turn_;
}

void AnswerSlot::allow_keep_alive() {
  const std::lock_guard lock(mutex_);
  terms_.keep_alive = true;
}

bool AnswerSlot::revoke() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(answered_, true)) return false;
  ++turn_;
  return true;
}

void AnswerSlot::end_turn() {
  const std::lock_guard lock(mutex_);
  ++turn_;
}

void AnswerSlot::disconnect() {
  const std::lock_guard lock(mutex_);
  gone_ = true;
}

bool AnswerSlot::is_current(std::uint64_t turn) const {
  const std::lock_guard lock(mutex_);
  return !gone_ && turn == turn_;
}

bool AnswerSlot::claim(std::uint64_t turn) {
  const std::lock_guard lock(mutex_);
  return !gone_ && turn == turn_ && !std::exchange(answered_, true);
}

void AnswerSlot::deliver(const Response& response) {
  Notice notice{Notice::Kind::answered, shared_from_this(), 0, {}, false, false};
  AnswerTerms terms;
  {
    const std::lock_guard lock(mutex_);
    terms = terms_;
    notice.turn = turn_;
  }
  terms.keep_alive = terms.keep_alive && !state_->draining.load();
  notice.closes = !terms.keep_alive;
  notice.unwritten = serialise(response, terms);
  if (HandlerPool::on_handler_thread()) {
    const std::lock_guard lock(mutex_);
    if (gone_) return;
    const auto transfer = socket_.write(notice.unwritten);
    notice.failed = transfer.outcome == Transfer::Outcome::failed;
    if (transfer.bytes == notice.unwritten.size()) {
      notice.unwritten = std::string();
    } else {
      notice.unwritten.erase(0, transfer.bytes);
    }
  }
  state_->mailbox.post(std::move(notice));
}

void AnswerSlot::notify(Notice::Kind kind, std::uint64_t turn) {
  state_->mailbox.post(Notice{kind, shared_from_this(), turn, {}, false, false});
}

Responder::Exchange::~Exchange() {
  try {
    refuse(500, "the request was not answered");
  } catch (...) {  // Out of memory: the client's own timeout has to do.
  }
}

void Responder::Exchange::answer(Response&& response) {
  if (slot_->claim(turn_)) slot_->deliver(response);
}

void Responder::Exchange::refuse(int status, std::string detail, std::string allow) {
  if (slot_->claim(turn_)) {
    slot_->deliver(slot_->state().refusal(status, std::move(detail), std::move(allow)));
  }
}

void Responder::answer(Response response) const {
  exchange_->answer(std::move(response));
}

bool Responder::connected() const {
  return exchange_->connected();
}

}  // namespace celld::http
