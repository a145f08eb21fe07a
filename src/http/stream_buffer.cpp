#include "src/http/stream_buffer.hpp"

#include <algorithm>
#include <utility>

#include "src/http/answer.hpp"
#include "src/http/release.hpp"

namespace celld::http {

StreamBuffer::StreamBuffer(std::shared_ptr<AnswerSlot> slot, std::uint64_t exchange_number,
                           StreamOptions options, bool chunked)
    : slot_(std::move(slot)),
      exchange_number_(exchange_number),
      options_(std::move(options)),
      chunked_(chunked) {}

bool StreamBuffer::write(std::string data) {
  const std::lock_guard lock(mutex_);
  if (ended_ || overrun_ || !slot_->is_current(exchange_number_)) return false;
  const auto kept_bytes = written_.size() + unsent_bytes_;
  if (kept_bytes > 0 && kept_bytes + data.size() > slot_->state().limits.stream_backlog_bytes_max) {
    overrun_ = true;
    release(written_);
    slot_->notify(Notice::Kind::stream_overrun, exchange_number_);
    return false;
  }
  if (data.empty()) return true;
  total_bytes_ += data.size();
  if (written_.empty()) {
    written_ = std::move(data);
  } else {
    written_.append(data);
  }
  announce();
  return true;
}

void StreamBuffer::end() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true)) return;
  if (options_.length && total_bytes_ != *options_.length) return slot_->give_up(exchange_number_);
  announce();
}

void StreamBuffer::give_up() noexcept {
  slot_->give_up(exchange_number_);
}

bool StreamBuffer::connected() const {
  const std::lock_guard lock(mutex_);
  return !ended_ && !overrun_ && slot_->is_current(exchange_number_);
}

std::string StreamBuffer::take_first(std::string data) {
  total_bytes_ = data.size();
  return framed(std::move(data));
}

StreamBuffer::Taken StreamBuffer::take() {
  Taken taken;
  std::string written;
  {
    const std::lock_guard lock(mutex_);
    announced_ = false;
    taken.ended = ended_ && !overrun_;
    written = std::exchange(written_, std::string());
    unsent_bytes_ = written.size();
  }
  if (!written.empty()) taken.bytes = framed(std::move(written));
  if (taken.ended && chunked_) taken.bytes.append(last_chunk);
  return taken;
}

void StreamBuffer::note_unsent(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  unsent_bytes_ = std::min(unsent_bytes_, bytes);
}

void StreamBuffer::note_taken() {
  if (!options_.on_taken) return;
  std::uint64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || !written_.empty() || reported_bytes_ == total_bytes_) return;
    reported_bytes_ = bytes = total_bytes_;
  }
  options_.on_taken(bytes);
}

void StreamBuffer::finish() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

void StreamBuffer::close() {
  std::uint64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    bytes = total_bytes_ - written_.size();
    release(written_);
  }
  if (options_.on_taken) options_.on_taken(bytes);
}

std::string StreamBuffer::framed(std::string data) const {
  if (chunked_) make_chunk(data);
  return data;
}

/// Called with the lock held.
void StreamBuffer::announce() {
  if (announced_) return;
  slot_->notify(Notice::Kind::stream_written, exchange_number_);
  announced_ = true;
}

AnswerStream::Channel::~Channel() {
  try {
    buffer_->end();
  } catch (...) {  // Out of memory: a closed connection is better than one that waits forever.
    buffer_->give_up();
  }
}

bool AnswerStream::write(std::string data) const {
  return channel_ && channel_->buffer().write(std::move(data));
}

void AnswerStream::end() const {
  if (channel_) channel_->buffer().end();
}

void AnswerStream::break_off() const {
  if (channel_) channel_->buffer().give_up();
}

bool AnswerStream::connected() const {
  return channel_ && channel_->buffer().connected();
}

}  // namespace celld::http
