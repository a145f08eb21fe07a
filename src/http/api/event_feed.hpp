// Streams of job changes as server-sent events, as the HTML standard defines them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
//
// A separate actor, so that sending to thousands of clients does not delay other answers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cells/actors/protocol.hpp"
#include "src/http/api/bound_customer.hpp"
#include "src/http/server.hpp"

namespace celld::api {

/// Use this reader from now on. Before this message, following one job is answered with a 503.
struct ReadJobsFrom {
  cells::JobReader reader;
};

/// Stream one job to this client: its current state, then each change until it has ended.
struct FollowJob {
  NamedJob job;
  std::optional<std::string> last_event_id{};  ///< The last event that the client received.
  http::Responder responder;
};

/// Stream the changes of all jobs that match every given filter to this client.
struct FollowJobs {
  std::optional<std::string> customer{};
  std::optional<std::string> product{};
  std::optional<std::string> last_event_id{};
  http::Responder responder;
  BoundCustomer only_customer{};
};

/// The tokens have changed: end every stream. Clients that reconnect are checked against the new
/// tokens, and miss nothing.
struct EndStreams {};

/// To itself: this client has taken a piece of the events it missed.
struct MissedTaken {
  std::uint64_t number = 0;
};

/// To itself: forget disconnected clients, and send the others their position.
struct SweepFollowers {};

}  // namespace celld::api

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::ReadJobsFrom)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::FollowJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::FollowJobs)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::EndStreams)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::MissedTaken)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(celld::api::SweepFollowers)

namespace celld::api {

/// Ends every stream when changes are lost. Clients that reconnect learn that they may have missed
/// changes.
using EventFeed =
    cells::JobObserver::extend<caf::reacts_to<ReadJobsFrom>, caf::reacts_to<FollowJob>,
                               caf::reacts_to<FollowJobs>, caf::reacts_to<EndStreams>,
                               caf::reacts_to<MissedTaken>, caf::reacts_to<SweepFollowers>>;

struct FeedLimits {
  std::int64_t waiting_max = 65'536;  ///< Changes in the feed's mailbox.
  /// Missed events are sent in pieces of about this size, as the client takes them, because many
  /// clients may reconnect at once.
  std::size_t piece_bytes = 64 << 10;
};

/// Passes changes on to a feed. Bounds how many may wait in the feed's mailbox, so that its memory
/// is bounded whatever its clients do; drops changes beyond that. For one thread at a time.
class FeedInlet {
 public:
  FeedInlet(caf::actor_system& system, std::string run, const FeedLimits& limits = {});
  ~FeedInlet();
  FeedInlet(const FeedInlet&) = delete;
  FeedInlet& operator=(const FeedInlet&) = delete;

  const EventFeed& feed() const { return feed_; }
  void notify(const cells::JobPtr& job);
  void notify_changes_lost() { caf::anon_send(feed_, cells::ChangesLost{}); }

 private:
  const std::int64_t waiting_max_;
  std::shared_ptr<std::atomic<std::int64_t>> waiting_;
  EventFeed feed_;
  bool losing_ = false;
};

}  // namespace celld::api
