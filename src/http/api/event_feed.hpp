// Streams of what happens to jobs: server-sent events, as the HTML standard describes them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
//
// An actor of its own, so that telling thousands does not delay the answers to anybody else.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cells/actors/protocol.hpp"
#include "src/http/server.hpp"

namespace celld::api {

/// Read jobs here.
struct ReadJobsFrom {
  cells::JobReader reader;
};

/// Tell this client what happens to one job, first how it stands, until it has ended.
struct FollowJob {
  cells::JobId id = 0;
  std::optional<std::string> last_event_id{};  ///< The last one that the client has seen.
  http::Responder responder;
  std::optional<std::string> only_customer{};
};

/// Tell this client what happens to all jobs of which everything given holds.
struct FollowJobs {
  std::optional<std::string> customer{};
  std::optional<std::string> product{};
  std::optional<std::string> last_event_id{};
  http::Responder responder;
  std::optional<std::string> only_customer{};
};

/// Who may hear of what has changed: end every stream. The clients come back, are admitted anew or
/// not, and miss nothing.
struct EndStreams {};

/// To itself: this client has taken a piece of what it had missed.
struct MissedTaken {
  std::uint64_t number = 0;
};

/// To itself: forget the clients that have gone, and tell the others where they are.
struct SweepFollowers {};

}  // namespace celld::api

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::ReadJobsFrom)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::FollowJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::FollowJobs)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::EndStreams)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::MissedTaken)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::SweepFollowers)

namespace celld::api {

/// When changes are lost it ends every stream: the clients come back and are told what they may
/// have missed.
using EventFeed =
    cells::JobObserver::extend<caf::reacts_to<ReadJobsFrom>, caf::reacts_to<FollowJob>,
                               caf::reacts_to<FollowJobs>, caf::reacts_to<EndStreams>,
                               caf::reacts_to<MissedTaken>, caf::reacts_to<SweepFollowers>>;

/// Passes changes on to a feed, at most so many that it has not yet looked at: its memory is
/// bounded whatever its clients do. On one thread at a time.
class FeedInlet {
 public:
  FeedInlet(caf::actor_system& system, std::string run);
  ~FeedInlet();
  FeedInlet(const FeedInlet&) = delete;
  FeedInlet& operator=(const FeedInlet&) = delete;

  const EventFeed& feed() const { return feed_; }
  void tell(const cells::JobPtr& job);
  void tell_changes_lost() { caf::anon_send(feed_, cells::ChangesLost{}); }

 private:
  std::shared_ptr<std::atomic<std::int64_t>> waiting_;
  EventFeed feed_;
  bool losing_ = false;
};

}  // namespace celld::api
