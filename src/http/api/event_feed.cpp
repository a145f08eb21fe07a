#include "src/http/api/event_feed.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <utility>

#include "src/http/api/event_log.hpp"
#include "src/http/api/job_json.hpp"
#include "src/http/api/problem.hpp"
#include "src/json/json.hpp"

namespace celld::api {
namespace {

using cells::JobPtr;
using http::AnswerStream;
using http::Responder;

constexpr std::chrono::seconds sweep_interval{15};
constexpr const char* comment = ":\n";
constexpr const char* heartbeat = ":\n\n";

/// `missed`: all missed events, or the first piece of them. `on_taken`: set when more pieces
/// follow.
AnswerStream begin(const Responder& responder, const std::string& missed = "",
                   std::function<void(std::uint64_t)> on_taken = {}) {
  http::Response head;
  head.content_type = "text/event-stream";
  head.headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  head.body = heartbeat + missed;  // Shows the client at once that it is connected.
  http::StreamOptions options{heartbeat, std::chrono::seconds(15)};
  options.on_taken = std::move(on_taken);
  options.endless = true;
  return responder.begin_stream(std::move(head), std::move(options));
}

std::string event_text(const std::string& id, const cells::Job& job) {
  std::string text = "id: " + id + "\nevent: job.state\ndata: ";
  append_job(text, job);
  return text += "\n\n";
}

/// Advances the client's resume position without an event: the client has received, or filtered
/// out, everything up to `id`.
std::string position_text(const std::string& id) {
  return "id: " + id + "\n\n";
}

std::string gap_text(const std::string& id) {
  return "id: " + id + "\nevent: gap\ndata: " +
         json::dump({{"detail", "Changes may have been missed; list the jobs again."}}) + "\n\n";
}

using Waiting = std::shared_ptr<std::atomic<std::int64_t>>;

class EventFeedActor : public EventFeed::base {
 public:
  EventFeedActor(caf::actor_config& config, std::string run, Waiting waiting,
                 std::size_t piece_bytes)
      : EventFeed::base(config),
        piece_bytes_(piece_bytes),
        log_(std::move(run)),
        waiting_(std::move(waiting)) {}

  behavior_type make_behavior() override {
    return {
        [this](const cells::JobChanged& change) {
          waiting_->fetch_sub(1, std::memory_order_relaxed);
          changed(change.job);
        },
        [this](const ReadJobsFrom& message) { reader_ = message.reader; },
        [this](const FollowJob& order) { follow_job(order); },
        [this](const FollowJobs& order) { follow_jobs(order); },
        [this](const EndStreams&) { end_streams(); },
        [this](const cells::ChangesLost&) { start_over(); },
        [this](const MissedTaken& event) { send_missed(event.number); },
        [this](const SweepFollowers&) { sweep(); },
    };
  }

  void on_exit() override {
    start_over();
    reader_ = nullptr;
  }

 private:
  struct JobFollower {
    AnswerStream stream;
    std::uint64_t number;
    bool sent_event = false;
  };
  struct JobsFollower {
    AnswerStream stream;
    std::optional<std::string> customer;
    std::optional<std::string> product;
    BoundCustomer only_customer;

    bool wants(const cells::JobSpec& spec) const {
      return (!customer || *customer == spec.customer) && (!product || *product == spec.product) &&
             may_see(only_customer, spec.customer);
    }
  };
  /// A reconnected client that is still receiving missed events; live events come after them.
  struct Resuming {
    JobsFollower follower;
    std::uint64_t seen;
    std::shared_ptr<std::atomic<bool>> paced;
  };
  using OfJob = std::multimap<cells::JobId, JobFollower>;

  // --- Sending ---------------------------------------------------------------------------------

  void changed(const JobPtr& job) {
    const auto& event = log_.add(job);
    auto [follower, end] = of_job_.equal_range(job->id);
    if (follower == end && of_all_.empty()) return;
    const std::string text = event_text(log_.id_of(event.number), *job);
    while (follower != end) follower = send_event(follower, text, *job);
    for (auto each = of_all_.begin(); each != of_all_.end();) {
      const bool gone =
          each->wants(*job->spec) ? !each->stream.write(text) : !each->stream.connected();
      each = gone ? of_all_.erase(each) : std::next(each);
    }
  }

  /// Returns the next follower. The end of a job ends its streams.
  OfJob::iterator send_event(OfJob::iterator follower, const std::string& text,
                             const cells::Job& job) {
    const AnswerStream& stream = follower->second.stream;
    follower->second.sent_event = true;
    if (stream.write(text) && !is_ended(job.state)) return std::next(follower);
    stream.end();
    return of_job_.erase(follower);
  }

  void start_over() {
    end_streams();
    log_.forget();
  }

  void end_streams() {
    ++times_ended_;
    for (auto& [id, follower] : of_job_) follower.stream.end();
    for (auto& follower : of_all_) follower.stream.end();
    for (auto& [number, resuming] : resuming_) resuming.follower.stream.end();
    resuming_.clear();
    of_job_.clear();
    of_all_.clear();
  }

  // --- New followers of one job ----------------------------------------------------------------

  void follow_job(const FollowJob& order) {
    find(order.job.id, order.responder,
         [this, order, admitted = times_ended_](const JobPtr& found) {
           const JobPtr job = order.job.visible(found);
           if (admitted != times_ended_) {  // The client may no longer have access.
             begin(order.responder).end();
           } else if (!job) {
             order.responder.answer(to_response(not_found("There is no such job.")));
           } else if (const auto seen = position(order.last_event_id)) {
             catch_up(order, *job, *seen);
           } else {
             show(order);
           }
           arm_sweep();
         });
  }

  /// Sends the events that the client missed. A client that has seen the job's end gets a 204, so
  /// that it does not reconnect. The store may know of an end whose event has not arrived here yet.
  void catch_up(const FollowJob& order, const cells::Job& job, std::uint64_t seen) {
    const cells::Job* last_seen = nullptr;
    const cells::Job* last = nullptr;
    std::string missed;
    for (const auto& event : log_.events()) {
      if (event.job->id != order.job.id) continue;
      if (event.number <= seen) {
        last_seen = event.job.get();
      } else {
        missed += event_text(log_.id_of(event.number), *event.job);
        last = event.job.get();
      }
    }
    const bool seen_end =
        EventLog::is_of_end(*order.last_event_id) || (last_seen && is_ended(last_seen->state));
    if (!last && is_ended(job.state)) {
      if (seen_end) {
        http::Response nothing;
        nothing.status = 204;
        return order.responder.answer(std::move(nothing));
      }
      missed = event_text(log_.id_of_end(log_.last()), job);
      last = &job;
    }
    const AnswerStream stream = begin(order.responder, missed);
    if (last && is_ended(last->state)) {
      stream.end();
    } else {
      of_job_.emplace(order.job.id, JobFollower{stream, ++numbers_, true});
    }
  }

  /// Sends the job's current state. Subscribes before reading it, so that no change is missed.
  void show(const FollowJob& order) {
    const std::uint64_t number = ++numbers_;
    of_job_.emplace(order.job.id, JobFollower{begin(order.responder), number});
    request(reader_, caf::infinite, cells::FindJob{order.job.id})
        .then([this, id = order.job.id,
               number](const cells::JobFound& found) { shown(id, number, found.job); },
              [this, id = order.job.id, number](const caf::error&) { shown(id, number, nullptr); });
  }

  void shown(cells::JobId id, std::uint64_t number, const JobPtr& job) {
    auto [follower, end] = of_job_.equal_range(id);
    while (follower != end && follower->second.number != number) ++follower;
    if (follower == end || follower->second.sent_event) return;  // The event is newer.
    if (!job) {
      follower->second.stream.end();
      of_job_.erase(follower);
    } else if (is_ended(job->state)) {
      send_event(follower, event_text(log_.id_of_end(log_.last()), *job), *job);
    } else {
      const cells::Job& newest = newest_of(*job);
      send_event(follower, event_text(log_.id_of(log_.last()), newest), newest);
    }
  }

  /// The newer of the stored and the last reported state of a job that has not ended on disk. The
  /// start of a job is reported before it is on disk. If the stored state is newer, its event is
  /// still to come.
  const cells::Job& newest_of(const cells::Job& on_disk) const {
    const auto& events = log_.events();
    const auto last = std::find_if(events.rbegin(), events.rend(),
                                   [&](const auto& event) { return event.job->id == on_disk.id; });
    return last == events.rend() || is_ended(last->job->state) ? on_disk : *last->job;
  }

  // --- New followers of many jobs --------------------------------------------------------------

  void follow_jobs(const FollowJobs& order) {
    JobsFollower follower{{}, order.customer, order.product, order.only_customer};
    const auto seen = position(order.last_event_id);
    const std::string gap =
        !seen && order.last_event_id ? gap_text(log_.id_of(log_.last())) : std::string();
    const Missed missed = missed_by(follower, seen.value_or(log_.last()));
    if (missed.complete) {
      follower.stream = begin(order.responder, gap + missed.text);
      of_all_.push_back(std::move(follower));
    } else {
      const std::uint64_t number = ++numbers_;
      auto paced = std::make_shared<std::atomic<bool>>(true);
      follower.stream =
          begin(order.responder, missed.text, [paced, number, self = EventFeed{this}](auto) {
            if (*paced) caf::anon_send(self, MissedTaken{number});
          });
      resuming_.emplace(number, Resuming{std::move(follower), missed.seen, std::move(paced)});
    }
    arm_sweep();
  }

  struct Missed {
    std::string text;
    std::uint64_t seen;
    bool complete;  ///< Nothing more was missed; the text ends with the client's new position.
  };

  /// The next piece of the events that a follower missed after `seen`.
  Missed missed_by(const JobsFollower& follower, std::uint64_t seen) const {
    const auto& events = log_.events();
    std::string text;
    auto event = std::partition_point(events.begin(), events.end(),
                                      [&](const auto& each) { return each.number <= seen; });
    for (; event != events.end() && text.size() < piece_bytes_; ++event) {
      if (follower.wants(*event->job->spec))
        text += event_text(log_.id_of(event->number), *event->job);
      seen = event->number;
    }
    const bool complete = event == events.end();
    if (complete) text += position_text(log_.id_of(log_.last()));
    return {std::move(text), seen, complete};
  }

  /// Sends the next piece. A slow client may find that the log has dropped events it still needs.
  void send_missed(std::uint64_t number) {
    const auto found = resuming_.find(number);
    if (found == resuming_.end()) return;
    auto& [follower, seen, paced] = found->second;
    const bool gap = !log_.has_all_after(seen);
    Missed missed = missed_by(follower, gap ? log_.last() : seen);
    if (gap) missed.text = gap_text(log_.id_of(log_.last()));
    const bool connected = follower.stream.write(std::move(missed.text));
    seen = missed.seen;
    if (connected && !missed.complete) return;
    *paced = false;
    if (connected) of_all_.push_back(std::move(follower));
    resuming_.erase(found);
  }

  // --- Helpers ---------------------------------------------------------------------------------

  std::optional<std::uint64_t> position(const std::optional<std::string>& id) const {
    return id ? log_.position(*id) : std::nullopt;
  }

  template <class Then>
  void find(cells::JobId id, const Responder& responder, const Then& then) {
    if (!reader_) {
      responder.answer(
          to_response({.kind = ProblemKind::starting, .detail = "celld is starting."}));
      return;
    }
    request(reader_, caf::infinite, cells::FindJob{id})
        .then(
            [then](const cells::JobFound& found) { then(found.job); },
            [responder](const caf::error&) { responder.answer(to_response(store_unavailable())); });
  }

  /// Finds disconnected clients whose jobs do not change. Moves the positions of the other clients
  /// forward, so that these positions stay in the log while unrelated jobs change.
  void arm_sweep() {
    if (std::exchange(sweep_armed_, true)) return;
    delayed_send(this, sweep_interval, SweepFollowers{});
  }

  void sweep() {
    sweep_armed_ = false;
    std::erase_if(of_job_, [](const auto& entry) { return !entry.second.stream.connected(); });
    const std::string position = comment + position_text(log_.id_of(log_.last()));
    of_all_.remove_if([&](const auto& follower) { return !follower.stream.write(position); });
    std::erase_if(resuming_,
                  [](const auto& each) { return !each.second.follower.stream.connected(); });
    if (!of_job_.empty() || !of_all_.empty() || !resuming_.empty()) arm_sweep();
  }

  const std::size_t piece_bytes_;
  EventLog log_;
  Waiting waiting_;
  cells::JobReader reader_;
  OfJob of_job_;
  std::list<JobsFollower> of_all_;
  std::map<std::uint64_t, Resuming> resuming_;
  std::uint64_t numbers_ = 0;
  std::uint64_t times_ended_ = 0;
  bool sweep_armed_ = false;
};

}  // namespace

FeedInlet::FeedInlet(caf::actor_system& system, std::string run, const FeedLimits& limits)
    : waiting_max_(limits.waiting_max),
      waiting_(std::make_shared<std::atomic<std::int64_t>>(0)),
      feed_(system.spawn<EventFeedActor>(std::move(run), waiting_, limits.piece_bytes)) {}

FeedInlet::~FeedInlet() {
  caf::anon_send_exit(feed_, caf::exit_reason::user_shutdown);
}

void FeedInlet::notify(const cells::JobPtr& job) {
  if (waiting_->load(std::memory_order_relaxed) >= waiting_max_) {
    // Reported now rather than with the next change, because there may be no next change.
    if (!std::exchange(losing_, true)) notify_changes_lost();
    return;
  }
  losing_ = false;
  waiting_->fetch_add(1, std::memory_order_relaxed);
  caf::anon_send(feed_, cells::JobChanged{job});
}

}  // namespace celld::api
