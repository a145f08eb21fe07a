// A streamed body on its way from the poller to its sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "src/http/exchange.hpp"
#include "src/http/handler_pool.hpp"
#include "src/http/server.hpp"

namespace celld::http {

/// The poller pushes pieces; handler threads pass them to the sink, one at a time and in order. The
/// pipe holds a bounded number of bytes, provided that the poller checks `wants_more` after each
/// piece.
class BodyPipe : public Task, public BodyFlow, public std::enable_shared_from_this<BodyPipe> {
 public:
  BodyPipe(std::shared_ptr<AnswerSlot> slot, std::uint64_t exchange_number, ServerState& state,
           const Endpoints::StreamEntry& entry, Request request);

  // From the poller.

  /// Schedules the handler, which makes the sink. Call this before the first `push`.
  void open();
  void push(std::string piece);
  /// False: hold the client back until a `body_wanted` notice arrives.
  bool wants_more();
  /// The body has ended; on_end is the sink's last call.
  void end();
  /// The client has paused for too long; on_timeout is the sink's last call, or on_abort. `detail`
  /// is that of the 408.
  void time_out(std::string detail);
  /// The body stays incomplete; on_abort is the sink's last call.
  void abort();
  /// The request has been answered: the sink gets no further call.
  void detach();

  // From any thread.

  void pause() override;
  void resume() override;

  // On a handler thread.

  void run() noexcept override;

 private:
  enum class Step { none, open, data, end, time_out, abort, detach };
  enum class Ending { none, complete, timed_out, aborted, detached };

  Step next_step() const;
  void perform(Step step, const std::string& piece) noexcept;
  void call_handler();
  void call_on_timeout();
  void stop_taking();
  void schedule();
  void ask_for_more();
  void end_with(Ending ending);

  const std::shared_ptr<AnswerSlot> slot_;
  const std::uint64_t exchange_number_;
  ServerState& state_;  // Its pool runs this task; the slot keeps it alive.
  const Endpoints::StreamEntry& entry_;

  // Used only by `run`, of which there is one at a time.
  Request request_;
  std::unique_ptr<BodySink> sink_;

  std::mutex mutex_;
  std::deque<std::string> pieces_;
  std::size_t queued_bytes_ = 0;
  std::int64_t pauses_ = 0;
  Ending ending_ = Ending::none;
  std::string timeout_detail_;
  bool opened_ = false;
  bool scheduled_ = false;  // Queued in the pool, or running.
  bool holding_ = false;    // The poller waits for a body_wanted.
  bool done_ = false;       // The sink has had its last call.
};

}  // namespace celld::http
