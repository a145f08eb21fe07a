#include "src/http/api/event_feed.hpp"

#include <caf/scheduler/test_coordinator.hpp>

#include <memory>
#include <optional>

#include "tests/unit/catch.hpp"

namespace celld::api {
namespace {

/// A feed under a scheduler that runs only on request.
class Feed {
 public:
  explicit Feed(const FeedLimits& limits)
      : system_(config_.set("scheduler.policy", caf::atom("testing"))),
        scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())),
        inlet_(std::in_place, system_, "run", limits) {
    take_messages();
  }
  ~Feed() {
    inlet_.reset();
    take_messages();
  }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  void notify(int changes) {
    auto job = std::make_shared<cells::Job>();
    job->spec = std::make_shared<cells::JobSpec>();
    for (int i = 0; i < changes; ++i) inlet_->notify(job);
  }
  /// How many messages the feed had in its mailbox.
  std::size_t take_messages() { return scheduler_.run(); }

 private:
  caf::actor_system_config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  std::optional<FeedInlet> inlet_;
};

}  // namespace

TEST_CASE("a feed that is behind receives one message about all changes that it loses") {
  Feed feed({.waiting_max = 2});
  for (int round = 0; round < 2; ++round) {
    INFO(round);
    feed.notify(2);
    CHECK(feed.take_messages() == 2);
    feed.notify(2 + 100);
    CHECK(feed.take_messages() == 2 + 1);
  }
}

}  // namespace celld::api
