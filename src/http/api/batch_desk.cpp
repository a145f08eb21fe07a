#include "src/http/api/batch_desk.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "src/http/api/batch_answers.hpp"
#include "src/http/api/batch_canceller.hpp"
#include "src/http/api/batch_json.hpp"
#include "src/http/api/batch_lines.hpp"
#include "src/http/api/batch_pacer.hpp"
#include "src/http/api/batch_waiters.hpp"

namespace celld::api {
namespace {

using cells::BatchId;
using Outcome = BatchTally::Outcome;
using Time = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

constexpr milliseconds tick_interval{50};

Problem starting() {
  return {.kind = ProblemKind::starting, .detail = "celld is starting."};
}

/// A batch that is being read.
struct Reading {
  BatchPostPtr post;
  BatchTally tally{};
  std::optional<BatchLines> lines{};  ///< Not all of them have been submitted.
  std::uint64_t next_line = 1;
  bool is_open = false;    ///< The store has it.
  bool has_ended = false;  ///< No further lines will come.
  /// Why the rest cannot be read. The lines before it are still submitted and answered.
  std::shared_ptr<const Problem> fault{};
  bool is_abandoned = false;  ///< Its client has gone.
  bool is_closing = false;
  bool is_cancelled = false;        ///< Its jobs are to be cancelled once it is closed.
  Time moved{};                     ///< When lines last arrived.
  std::optional<Time> answer_by{};  ///< After an early end: when to answer at the latest.
  BatchPacer pacer{};
};

class BatchDeskActor final : public BatchDesk::base {
 public:
  BatchDeskActor(caf::actor_config& config, std::function<cells::WallTime()> wall_clock,
                 std::shared_ptr<BatchFigures> figures, const BatchLimits& limits)
      : BatchDesk::base(config),
        wall_clock_(std::move(wall_clock)),
        figures_(std::move(figures)),
        limits_(limits),
        waiters_(limits.waiting_max, limits.waiting_bytes_max) {}

  behavior_type make_behavior() override {
    return {
        [this](const ServeBatches& engine) { serve(engine); },
        [this](const BeginBatch& order) { begin(order.post); },
        [this](SubmitLines& lines) { take(lines); },
        [this](const AbandonBatch& order) { abandon(order.post); },
        [this](const GetBatch& order) { get(order); },
        [this](const GetBatches& order) { list(order); },
        [this](const PostBatchCancel& order) { cancel(order); },
        [this](const CheckRefusals&) { check_refusals(); },
        [this](const EndReading&) { end_reading(); },
        [this](const ReleaseBatchWaiters&) { release_waiters(); },
        [this](const BatchTick&) { tick(); },
        [this](const ResumeDelayed& due) {
          if (resume_armed_ != due.at) return;
          resume_armed_.reset();
          submit();
          arm_resume();
        },
    };
  }

  void on_exit() override {
    release_waiters();
    if (canceller_) caf::anon_send_exit(canceller_, caf::exit_reason::user_shutdown);
    canceller_ = nullptr;
    engine_ = {};
    readings_.clear();
  }

 private:
  using Entry = std::map<BatchId, Reading>::iterator;

  // --- Starting --------------------------------------------------------------------------------

  void serve(const ServeBatches& engine) {
    engine_ = engine;
    canceller_ = spawn_batch_canceller(system(), engine, limits_);
    cells::ListBatches newest;
    newest.limit = 1;
    request(engine_.reader, caf::infinite, std::move(newest))
        .await(
            [this](const cells::BatchesListed& page) {
              if (!page.batches.empty()) ids_.start_after(page.batches.front().id);
            },
            [](const caf::error&) {});  // OpenBatch refuses an id that is in use.
    resume_cancelling(0);
  }

  void resume_cancelling(BatchId before) {
    cells::ListBatches list;
    list.only_cancelled = true;
    list.before = before;
    list.limit = limits_.cancelled_batches;
    request(engine_.reader, caf::infinite, std::move(list))
        .then(
            [this](const cells::BatchesListed& page) {
              for (const auto& batch : page.batches) {
                caf::anon_send(canceller_, CancelJobsOf{batch.id});
              }
              if (page.next != 0) resume_cancelling(page.next);
            },
            [](const caf::error&) {});  // The next start tries again.
  }

  // --- Reading ---------------------------------------------------------------------------------

  void begin(const BatchPostPtr& post) {
    if (!engine_.store) return post->responder.answer(to_response(starting()));
    if (is_shutting_down_) return post->responder.answer(to_response(shutdown_refuses_batch()));
    if (!make_room()) {
      return post->responder.answer(to_response(too_many_batches(limits_.reading_max)));
    }
    const auto now = wall_clock_();
    const BatchId id = ids_.next(now);
    auto& reading = readings_[id];
    reading.post = post;
    reading.pacer = BatchPacer{limits_.paced_lines};
    reading.moved = clock().now();
    figures_->reading = readings_.size();
    request(engine_.store, caf::infinite, cells::OpenBatch{id, post->owner, now})
        .then([this, id](const cells::BatchOpened& opened) { batch_opened(id, opened.added); },
              [this, id](const caf::error&) { batch_opened(id, false); });
    arm();
  }

  void batch_opened(BatchId id, bool is_open) {
    const auto entry = readings_.find(id);
    auto& reading = entry->second;
    reading.is_open = is_open;
    if (!is_open) {
      reading.post->responder.answer(to_response(store_unavailable()));
      return forget(entry);
    }
    reading.post->flow->resume();
    close_if_done(entry);  // It may have been stopped or abandoned meanwhile.
  }

  /// Whether another batch may be read. At the limit, first ends the waiting batch that has
  /// received no lines for the longest time, if that is long enough.
  bool make_room() {
    std::size_t active = 0;
    Entry slowest = readings_.end();
    for (auto entry = readings_.begin(); entry != readings_.end(); ++entry) {
      const auto& reading = entry->second;
      if (reading.tally.is_stopped() || !takes_lines(reading)) continue;
      ++active;
      const bool waits = reading.is_open && (!reading.lines || reading.pacer.is_delaying());
      if (waits && (slowest == readings_.end() || reading.moved < slowest->second.moved))
        slowest = entry;
    }
    if (active < limits_.reading_max) return true;
    if (slowest == readings_.end() || clock().now() < slowest->second.moved + limits_.idle_max)
      return false;
    const auto& pacer = slowest->second.pacer;
    const bool too_fast = pacer.is_delaying() && pacer.last_refusal();
    stop(slowest, too_fast ? refusal_ends_batch(*pacer.last_refusal()) : sender_too_slow());
    return true;
  }

  static bool takes_lines(const Reading& reading) { return !reading.has_ended && !reading.fault; }

  /// Why the client may not go on, if it may not.
  static std::optional<Problem> refusal_of(const Reading& reading) {
    return reading.post->refusal ? reading.post->refusal() : std::nullopt;
  }

  Entry find(const BatchPostPtr& post) {
    return std::find_if(readings_.begin(), readings_.end(),
                        [&](const auto& each) { return each.second.post == post; });
  }

  void take(SubmitLines& lines) {
    const auto entry = find(lines.post);
    if (entry == readings_.end()) return;
    auto& reading = entry->second;
    reading.moved = clock().now();
    if (reading.tally.is_stopped() || reading.fault) {
      if (lines.is_last) reading.has_ended = true;
      if (!lines.is_last) lines.post->flow->resume();
      return close_if_done(entry);
    }
    reading.lines.emplace(std::move(lines));
    // The tokens may have changed since the sink parsed these lines.
    if (auto problem = refusal_of(reading)) return stop(entry, std::move(*problem));
    submit();
  }

  void abandon(const BatchPostPtr& post) {
    const auto entry = find(post);
    if (entry == readings_.end()) return;
    entry->second.is_abandoned = true;
    entry->second.lines.reset();
    refuse_delayed(entry->second);
    close_if_done(entry);
  }

  // --- Submitting ------------------------------------------------------------------------------

  bool has_room() const {
    return unanswered_ == 0 || (unanswered_ < limits_.unanswered_max &&
                                unanswered_bytes_ < limits_.unanswered_bytes_max);
  }

  /// The batches take turns, so that a slow cell of one does not hold back the others for long.
  void submit() {
    bool submitted = true;
    while (submitted && has_room()) {
      submitted = false;
      auto entry = readings_.upper_bound(last_turn_);
      for (std::size_t i = readings_.size(); i > 0 && has_room(); --i) {
        if (entry == readings_.end()) entry = readings_.begin();
        last_turn_ = entry->first;
        const auto current = entry++;
        submitted |= submit_some(current);
        close_if_done(current);
      }
    }
  }

  bool can_submit(const Reading& reading) const {
    return reading.lines && !reading.pacer.is_delaying() && !reading.tally.is_stopped() &&
           reading.tally.size() < limits_.tally_lines;
  }

  /// Returns whether there may be more to submit.
  bool submit_some(Entry entry) {
    auto& reading = entry->second;
    submit_delayed(entry->first, reading);
    for (std::size_t i = 0; i < limits_.lines_per_turn; ++i) {
      if (!can_submit(reading)) return false;
      if (!has_room()) return true;
      if (!submit_one(entry->first, reading)) {
        lines_done(entry);
        return false;
      }
    }
    return true;
  }

  /// False: all lines have been submitted.
  bool submit_one(BatchId id, Reading& reading) {
    if (const auto* bad = reading.lines->take_bad()) {
      reading.tally.reject(bad->line,
                           bad->problem ? std::make_unique<Problem>(*bad->problem) : nullptr);
      return true;
    }
    auto* good = reading.lines->take_good();
    if (good != nullptr) submit_line(id, reading, *good);
    return good != nullptr;
  }

  void submit_line(BatchId id, Reading& reading, GoodLine& line) {
    auto& job = line.submission.request;
    auto& refusal_if_new = line.submission.refusal_if_new;
    job.batch = id;
    const auto number = reading.tally.begin(line.line);
    auto refused =
        refusal_if_new
            ? std::make_shared<const Problem>(problem_of_line(std::move(*refusal_if_new)))
            : nullptr;
    submit_job(id, reading, number, std::move(job), refused);
  }

  /// Submits delayed lines again, as many as the quota seems to allow by now.
  void submit_delayed(BatchId id, Reading& reading) {
    auto& pacer = reading.pacer;
    if (!pacer.is_delaying() || !pacer.resume(*reading.post->gate, clock().now())) return;
    while (has_room()) {
      auto line = pacer.take_next();
      if (!line) return;
      submit_job(id, reading, line->number, std::move(*line->job), line->refused);
    }
  }

  void submit_job(BatchId id, Reading& reading, std::uint64_t number, cells::JobRequest job,
                  const std::shared_ptr<const Problem>& refused) {
    const auto bytes = job.spec.parameters.size();
    reading.pacer.submitted();
    ++unanswered_;
    unanswered_bytes_ += bytes;
    request(engine_.dispatcher, caf::infinite, cells::SubmitJob{std::move(job), refused != nullptr})
        .then(
            [this, id, number, bytes, refused](const cells::JobSubmitted& reply) {
              answered(id, number, bytes, reply, refused);
            },
            [this, id, number, bytes](const caf::error&) {
              note_outcome(id, number, bytes, Outcome::uncertain,
                           std::make_unique<Problem>(store_unavailable()));
            });
  }

  /// `refused`: why the line is rejected if it is no replay; null: it is not.
  void answered(BatchId id, std::uint64_t number, std::size_t bytes,
                const cells::JobSubmitted& reply, const std::shared_ptr<const Problem>& refused) {
    if (reply.returned) {
      delay(id, number, bytes, reply, refused);
    } else if (reply.job) {
      note_outcome(id, number, bytes, reply.replayed ? Outcome::replayed : Outcome::accepted);
    } else if (reply.refusal && cells::is_temporary(reply.refusal->kind)) {
      note_outcome(id, number, bytes, Outcome::refused,
                   std::make_unique<Problem>(problem_of(*reply.refusal)),
                   std::make_unique<Problem>(refusal_ends_batch(*reply.refusal)));
    } else if (reply.refusal) {
      note_outcome(id, number, bytes, Outcome::rejected,
                   std::make_unique<Problem>(problem_of_line(problem_of(*reply.refusal))));
    } else if (refused != nullptr) {
      note_outcome(id, number, bytes, Outcome::rejected, std::make_unique<Problem>(*refused));
    } else {
      note_outcome(id, number, bytes, Outcome::refused);
    }
  }

  /// The line came too fast, and is submitted again later. Until then, the desk takes no new lines,
  /// which slows the sender down.
  void delay(BatchId id, std::uint64_t number, std::size_t bytes, const cells::JobSubmitted& reply,
             const std::shared_ptr<const Problem>& refused) {
    const auto entry = readings_.find(id);
    auto& reading = entry->second;
    if (reading.tally.is_stopped() || reading.is_abandoned) {
      return note_outcome(id, number, bytes, Outcome::refused);
    }
    --unanswered_;
    unanswered_bytes_ -= bytes;
    reading.pacer.delay({number, reply.returned, refused}, reply.refusal, clock().now());
    const auto& why = reading.pacer.last_refusal();
    // While its last lines were in flight, nothing else has ended the batch.
    if (is_shutting_down_) {
      stop(entry, shutdown_ends_batch());
    } else if (auto problem = refusal_of(reading)) {
      stop(entry, std::move(*problem));
    } else if (why && delays_too_much()) {
      stop(entry, refusal_ends_batch(*why));
    }
    if (unanswered_ <= limits_.unanswered_max / 2) submit();
    arm_resume();
  }

  /// The batches that are being read are few, but a batch that only waits for a quota makes room
  /// for another one to be read.
  bool delays_too_much() const {
    std::size_t batches = 0;
    std::size_t bytes = 0;
    for (const auto& [id, reading] : readings_) {
      batches += reading.pacer.is_delaying() && !takes_lines(reading) ? 1 : 0;
      bytes += reading.pacer.delayed_bytes();
    }
    return batches > limits_.delayed_max || bytes > limits_.delayed_bytes_max;
  }

  /// One timer for the earliest batch that is held back.
  void arm_resume() {
    std::optional<Time> earliest;
    for (const auto& [id, reading] : readings_) {
      const auto at = reading.pacer.resumes_at();
      if (at && (!earliest || *at < *earliest)) earliest = at;
    }
    if (!earliest || (resume_armed_ && *resume_armed_ <= *earliest)) return;
    resume_armed_ = earliest;
    const auto wait = std::max<Time::duration>(*earliest - clock().now(), milliseconds{1});
    delayed_send(this, wait, ResumeDelayed{*earliest});
  }

  /// Refuses the delayed lines: the batch submits no more.
  static void refuse_delayed(Reading& reading) {
    for (const auto& line : reading.pacer.take_all()) {
      reading.tally.note(line.number, Outcome::refused);
    }
  }

  /// `end`: why the batch ends at this line, if it does, and what its client can do then.
  void note_outcome(BatchId id, std::uint64_t number, std::size_t bytes, Outcome outcome,
                    std::unique_ptr<Problem> problem = nullptr,
                    std::unique_ptr<Problem> end = nullptr) {
    --unanswered_;
    unanswered_bytes_ -= bytes;
    const auto entry = readings_.find(id);
    auto& reading = entry->second;
    reading.pacer.answered(outcome == Outcome::refused || outcome == Outcome::uncertain);
    const bool was_stopped = reading.tally.is_stopped();
    if (end) reading.tally.stop(std::move(*end));
    reading.tally.note(number, outcome, std::move(problem));
    if (!was_stopped && reading.tally.is_stopped()) stopped(reading);
    close_if_done(entry);
    if (unanswered_ <= limits_.unanswered_max / 2) submit();
    arm_resume();
  }

  /// All lines of the piece have been submitted.
  void lines_done(Entry entry) {
    auto& reading = entry->second;
    const auto lines = std::move(*reading.lines);
    const auto& piece = lines.piece();
    reading.lines.reset();
    reading.next_line = piece.next;
    if (piece.is_last) reading.has_ended = true;
    if (!piece.is_last) piece.post->flow->resume();
    if (piece.fault && !reading.tally.is_stopped()) {
      reading.fault = piece.fault;
      drop_rest(reading);
    }
  }

  // --- Ending ----------------------------------------------------------------------------------

  void stop(Entry entry, Problem why) {
    auto& reading = entry->second;
    if (reading.tally.is_stopped()) return;
    reading.tally.stop(std::move(why));
    stopped(reading);
    close_if_done(entry);
  }

  void drop_rest(Reading& reading) const {
    reading.post->drops_lines = true;
    reading.answer_by = clock().now() + limits_.discard_max;
  }

  /// After the batch was stopped: submits no more lines, and drops the rest of the body as it
  /// arrives.
  void stopped(Reading& reading) {
    reading.post->gate->close();
    drop_rest(reading);
    refuse_delayed(reading);
    if (!reading.lines) return;
    reading.next_line = reading.lines->first_left();
    const bool is_last = reading.lines->piece().is_last;
    if (is_last) reading.has_ended = true;
    if (!is_last) reading.post->flow->resume();
    reading.lines.reset();
  }

  bool is_done(const Reading& reading) const {
    if (!reading.is_open || reading.is_closing || reading.tally.unanswered() > 0) return false;
    if (reading.is_abandoned) return true;
    if (reading.lines) return false;
    const bool must_answer = reading.answer_by && clock().now() >= *reading.answer_by;
    return reading.has_ended || must_answer;
  }

  /// Closes the batch in the store, then answers. Leaves the entry valid.
  void close_if_done(Entry entry) {
    auto& [id, reading] = *entry;
    if (!is_done(reading)) return;
    reading.is_closing = true;
    reading.post->drops_lines = true;
    if (reading.fault) reading.tally.stop(*reading.fault);
    reading.tally.finish(reading.next_line);
    figures_->accepted += reading.tally.accepted();
    figures_->replayed += reading.tally.replayed();
    figures_->rejected += reading.tally.rejected();
    request(engine_.store, caf::infinite, cells::CloseBatch{id, wall_clock_()})
        .then([this, id = id](const cells::BatchClosed& closed) { batch_closed(id, closed.batch); },
              [this, id = id](const caf::error&) { batch_closed(id, std::nullopt); });
  }

  void batch_closed(BatchId id, const std::optional<cells::Batch>& batch) {
    const auto entry = readings_.find(id);
    const auto reading = std::move(entry->second);
    forget(entry);
    if (!reading.is_abandoned) answer(id, reading, batch);
    if (reading.is_cancelled) caf::anon_send(canceller_, CancelJobsOf{id});
  }

  void answer(BatchId id, const Reading& reading, const std::optional<cells::Batch>& batch) {
    const auto& post = *reading.post;
    auto report = batch_report_json(id, reading.tally);
    std::chrono::seconds wait = post.wait.value_or(std::chrono::seconds{0});
    const bool is_finished = batch && finished_at(*batch);
    const auto* why = reading.tally.why();
    const auto retry_after = why != nullptr ? why->retry_after : std::nullopt;
    if (wait.count() > 0 && !is_finished && !is_shutting_down_ && make_room_to_wait(report)) {
      waiters_.add(
          {id, post.responder, std::move(report), retry_after, wait, clock().now() + wait});
      return arm();
    }
    const bool end_seen = wait.count() > 0 && is_finished;
    if (!end_seen) wait = std::chrono::seconds{0};
    auto response = report_response(id, std::move(report), end_seen);
    if (post.wait) add_preference(response, wait);
    if (retry_after) add_retry_after(response, *retry_after);
    post.responder.answer(std::move(response));
  }

  void forget(Entry entry) {
    readings_.erase(entry);
    figures_->reading = readings_.size();
  }

  static bool has_lines_left(const Reading& reading) {
    return takes_lines(reading) || reading.pacer.is_delaying();
  }

  void check_refusals() {
    for (auto entry = readings_.begin(); entry != readings_.end(); ++entry) {
      const auto& reading = entry->second;
      if (!has_lines_left(reading)) continue;
      if (auto problem = refusal_of(reading)) stop(entry, std::move(*problem));
    }
  }

  void end_reading() {
    is_shutting_down_ = true;
    for (auto entry = readings_.begin(); entry != readings_.end(); ++entry) {
      if (has_lines_left(entry->second)) stop(entry, shutdown_ends_batch());
      if (entry->second.answer_by) entry->second.answer_by = clock().now();
      close_if_done(entry);
    }
  }

  // --- Waiting for the end of a batch ----------------------------------------------------------

  void release_waiters() {
    is_shutting_down_ = true;
    for (auto& waiter : waiters_.take_all()) answer_waiter(std::move(waiter), false);
  }

  /// Whether a client may wait with this report. If not yet, first answers those that may have
  /// gone.
  bool make_room_to_wait(const std::string& report) {
    if (waiters_.has_room_for(report)) return true;
    for (auto& waiter : waiters_.take_half_closed()) answer_waiter(std::move(waiter), false);
    return waiters_.has_room_for(report);
  }

  milliseconds waited(const BatchWaiter& waiter) {
    return std::chrono::duration_cast<milliseconds>(clock().now() + waiter.wait - waiter.deadline);
  }

  void answer_waiter(BatchWaiter waiter, bool has_ended) {
    auto response = report_response(waiter.id, std::move(waiter.report), has_ended);
    add_preference(response, waiter.wait);
    if (waiter.retry_after) add_retry_after(response, *waiter.retry_after - waited(waiter));
    waiter.responder.answer(std::move(response));
  }

  /// One timer for everything that is due.
  void arm() {
    if (std::exchange(is_armed_, true)) return;
    delayed_send(this, tick_interval, BatchTick{});
  }

  void tick() {
    is_armed_ = false;
    const auto now = clock().now();
    for (auto entry = readings_.begin(); entry != readings_.end(); ++entry) close_if_done(entry);
    for (auto& waiter : waiters_.take_expired(now)) answer_waiter(std::move(waiter), false);
    waiters_.drop_gone();
    look_at_waiters();
    if (!readings_.empty() || waiters_.size() > 0) arm();
  }

  /// Reads the batches that clients wait for, one after the other: each is one row.
  void look_at_waiters() {
    if (is_looking_ || waiters_.size() == 0) return;
    is_looking_ = true;
    look_at(0);
  }

  void look_at(std::size_t index) {
    if (index >= waiters_.size()) {
      is_looking_ = false;
      return;
    }
    const auto id = waiters_.batch_at(index);
    request(engine_.reader, caf::infinite, cells::FindBatch{id})
        .then(
            [this, id, index](const cells::BatchFound& found) {
              const bool has_ended = !found.batch || finished_at(*found.batch);
              if (!has_ended) return look_at(index + 1);
              if (auto waiter = waiters_.take(id)) answer_waiter(std::move(*waiter), true);
              look_at(index);
            },
            [this](const caf::error&) { is_looking_ = false; });
  }

  // --- Showing and cancelling ------------------------------------------------------------------

  /// A client that is bound to a customer sees only its own batches.
  static bool may_see(const cells::BatchOwner& client, const cells::Batch& batch) {
    return client.customer.empty() || batch.owner == client;
  }

  template <class Order, class Then>
  void find_batch(const Order& order, const Then& then) {
    const auto& responder = order.responder;
    if (!engine_.reader) return responder.answer(to_response(starting()));
    request(engine_.reader, caf::infinite, cells::FindBatch{order.id})
        .then(
            [order, then](const cells::BatchFound& found) {
              if (found.batch && may_see(order.client, *found.batch)) return then(*found.batch);
              order.responder.answer(to_response(no_such_batch()));
            },
            [responder](const caf::error&) { responder.answer(to_response(store_unavailable())); });
  }

  void get(const GetBatch& order) {
    find_batch(order, [responder = order.responder](const cells::Batch& batch) {
      responder.answer(batch_response(batch));
    });
  }

  void list(const GetBatches& order) {
    const auto& responder = order.responder;
    if (!engine_.reader) return responder.answer(to_response(starting()));
    request(engine_.reader, caf::infinite, order.list)
        .then(
            [responder](const cells::BatchesListed& page) {
              responder.answer(batch_list_response(page));
            },
            [responder](const caf::error&) { responder.answer(to_response(store_unavailable())); });
  }

  /// A batch that is being read ends first: no job may be accepted behind the cancellation.
  void begin_cancelling(BatchId id) {
    const auto entry = readings_.find(id);
    if (entry == readings_.end()) return caf::anon_send(canceller_, CancelJobsOf{id});
    entry->second.is_cancelled = true;
    const auto& reading = entry->second;
    if (has_lines_left(reading)) stop(entry, batch_is_cancelled());
    entry->second.answer_by = clock().now();
    close_if_done(entry);
  }

  void cancel(const PostBatchCancel& order) {
    find_batch(order, [this, responder = order.responder](const cells::Batch& batch) {
      request(engine_.store, caf::infinite, cells::MarkCancelled{batch.id, true})
          .then(
              [this, responder, batch](const cells::CancelledMarked&) {
                begin_cancelling(batch.id);
                responder.answer(cancelling_response(batch));
              },
              [responder](const caf::error&) {
                responder.answer(to_response(store_unavailable()));
              });
    });
  }

  std::function<cells::WallTime()> wall_clock_;
  const std::shared_ptr<BatchFigures> figures_;
  const BatchLimits limits_;
  ServeBatches engine_;
  BatchCanceller canceller_;
  cells::JobIdSource ids_;
  std::map<BatchId, Reading> readings_;
  BatchId last_turn_ = 0;
  std::size_t unanswered_ = 0;
  std::size_t unanswered_bytes_ = 0;
  BatchWaiters waiters_;
  bool is_looking_ = false;
  bool is_armed_ = false;
  std::optional<Time> resume_armed_;  ///< When a ResumeDelayed comes.
  bool is_shutting_down_ = false;
};

}  // namespace

BatchDesk spawn_batch_desk(caf::actor_system& system, std::function<cells::WallTime()> wall_clock,
                           std::shared_ptr<BatchFigures> figures, const BatchLimits& limits) {
  return system.spawn<BatchDeskActor>(std::move(wall_clock), std::move(figures), limits);
}

}  // namespace celld::api
