#include "src/http/body_pipe.hpp"

#include <utility>

namespace celld::http {

BodyPipe::BodyPipe(std::shared_ptr<AnswerSlot> slot, std::uint64_t exchange_number,
                   ServerState& state, const Endpoints::StreamEntry& entry, Request request)
    : slot_(std::move(slot)),
      exchange_number_(exchange_number),
      state_(state),
      entry_(entry),
      request_(std::move(request)) {}

void BodyPipe::open() {
  const std::lock_guard lock(mutex_);
  schedule();
}

void BodyPipe::push(std::string piece) {
  const std::lock_guard lock(mutex_);
  if (done_) return;
  queued_bytes_ += piece.size();
  pieces_.push_back(std::move(piece));
  schedule();
}

bool BodyPipe::wants_more() {
  const std::lock_guard lock(mutex_);
  holding_ = !done_ && (pauses_ > 0 || queued_bytes_ >= state_.limits.body_backlog_bytes_max);
  return !holding_;
}

void BodyPipe::end() {
  end_with(Ending::complete);
}
void BodyPipe::time_out(std::string detail) {
  {
    const std::lock_guard lock(mutex_);
    timeout_detail_ = std::move(detail);
  }
  end_with(Ending::timed_out);
}
void BodyPipe::abort() {
  end_with(Ending::aborted);
}
void BodyPipe::detach() {
  end_with(Ending::detached);
}

void BodyPipe::end_with(Ending ending) {
  const std::lock_guard lock(mutex_);
  if (done_ || ending_ == Ending::aborted || ending_ == Ending::detached) return;
  if (ending_ == Ending::timed_out && ending == Ending::complete) return;
  ending_ = ending;
  schedule();
}

void BodyPipe::pause() {
  const std::lock_guard lock(mutex_);
  ++pauses_;
}

void BodyPipe::resume() {
  const std::lock_guard lock(mutex_);
  --pauses_;
  ask_for_more();
  schedule();
}

void BodyPipe::run() noexcept {
  std::unique_lock lock(mutex_);
  // After these, the thread serves other requests.
  for (std::size_t steps = 0; steps < state_.limits.turns.body_steps_max; ++steps) {
    const auto step = next_step();
    if (step == Step::none) {
      scheduled_ = false;
      return;
    }
    std::string piece;
    if (step == Step::open) opened_ = true;
    if (step == Step::data) {
      piece = std::move(pieces_.front());
      pieces_.pop_front();
      queued_bytes_ -= piece.size();
      ask_for_more();
    }
    done_ = done_ || (step != Step::open && step != Step::data);
    lock.unlock();
    perform(step, piece);
    lock.lock();
  }
  scheduled_ = false;
  schedule();
}

BodyPipe::Step BodyPipe::next_step() const {
  if (done_) return Step::none;
  if (ending_ == Ending::aborted) return Step::abort;
  if (ending_ == Ending::detached) return Step::detach;
  if (!opened_) return Step::open;
  if (pauses_ > 0) return Step::none;
  if (!pieces_.empty()) return Step::data;
  if (ending_ == Ending::timed_out) return Step::time_out;
  return ending_ == Ending::complete ? Step::end : Step::none;
}

/// Treats a sink that throws as one that wants no more. The exception may contain anything, so it
/// is not reported.
void BodyPipe::perform(Step step, const std::string& piece) noexcept {
  try {
    if (step == Step::open) {
      call_handler();
    } else if (step == Step::data) {
      if (!sink_->on_data(piece)) stop_taking();
    } else if (step == Step::time_out) {
      call_on_timeout();
    } else {
      // Freed here, because the sink may hold this pipe.
      const auto sink = std::move(sink_);
      if (sink && step == Step::end) sink->on_end();
      if (sink && step == Step::abort) sink->on_abort();
    }
  } catch (...) {
    Responder::Exchange exchange(slot_, exchange_number_);
    exchange.serve(entry_.endpoint);
    exchange.refuse(500, "The request failed.");
    stop_taking();
  }
}

void BodyPipe::call_handler() {
  auto exchange = std::make_shared<Responder::Exchange>(slot_, exchange_number_);
  exchange->serve(entry_.endpoint);
  sink_ = entry_.handler(request_, Responder(std::move(exchange)), shared_from_this());
  request_ = Request{};
  if (!sink_) stop_taking();
}

/// Nothing else touches the detail after `time_out`.
void BodyPipe::call_on_timeout() {
  const auto sink = std::move(sink_);
  if (sink && sink->on_timeout()) return;
  Responder::Exchange exchange(slot_, exchange_number_);
  exchange.serve(entry_.endpoint);
  exchange.refuse(408, std::move(timeout_detail_));
  if (sink) sink->on_abort();
}

void BodyPipe::stop_taking() {
  sink_.reset();
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
    pieces_.clear();
    queued_bytes_ = 0;
  }
  slot_->notify(Notice::Kind::body_refused, exchange_number_);
}

/// Called with the lock held, like ask_for_more.
void BodyPipe::schedule() {
  if (scheduled_ || next_step() == Step::none) return;
  scheduled_ = true;
  state_.pool.submit(shared_from_this());
}

void BodyPipe::ask_for_more() {
  if (!holding_ || pauses_ > 0 || queued_bytes_ > state_.limits.body_backlog_bytes_max / 2) return;
  holding_ = false;
  slot_->notify(Notice::Kind::body_wanted, exchange_number_);
}

}  // namespace celld::http
