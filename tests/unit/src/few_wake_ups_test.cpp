#include "src/few_wake_ups.hpp"

#include <chrono>
#include <cstddef>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include <caf/all.hpp>

#include "tests/unit/catch.hpp"

namespace {

struct System {
  explicit System(std::size_t threads) : system(configured(config, threads)) {}

  static caf::actor_system_config& configured(caf::actor_system_config& config,
                                              std::size_t threads) {
    config.load<caf::scheduler::coordinator<celld::FewWakeUps>>();
    config.set("scheduler.max-threads", threads);
    return config;
  }

  caf::actor_system_config config;
  caf::actor_system system;
};

struct Chain {
  std::vector<std::thread::id> threads;  ///< Of each hop of the last message.
  std::latch done{2};                    ///< Counts the messages.
};

/// Passes the message on, then works for a while, so that another thread could take the message.
caf::behavior relay(caf::event_based_actor* self, const caf::actor& next,
                    const std::shared_ptr<Chain>& chain) {
  return {[=](int message) {
    if (message == 2) chain->threads.push_back(std::this_thread::get_id());
    if (next) {
      self->send(next, message);
    } else {
      chain->done.count_down();
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds{100};
    while (std::chrono::steady_clock::now() < until) {
    }
  }};
}

}  // namespace

TEST_CASE("a message that passes through many actors stays on one thread") {
  constexpr std::size_t hops = 500;
  System under_test{2};
  const auto chain = std::make_shared<Chain>();
  caf::actor next;
  for (std::size_t i = 0; i < hops; ++i) next = under_test.system.spawn(relay, next, chain);
  caf::anon_send(next, 1);  // By the end of this message, every actor has started.
  caf::anon_send(next, 2);
  chain->done.wait();
  std::size_t hand_overs = 0;
  for (std::size_t i = 1; i < hops; ++i) {
    hand_overs += chain->threads[i] == chain->threads[i - 1] ? 0 : 1;
  }
  CHECK(hand_overs < hops / 100);
}

TEST_CASE("many ready actors run on every thread at once") {
  constexpr int threads = 3;
  System under_test{threads};
  const auto all_run = std::make_shared<std::latch>(threads);
  const auto last = std::make_shared<std::latch>(20);
  for (int i = 0; i < 20; ++i) {
    under_test.system.spawn([=](caf::event_based_actor*) {
      if (i < threads) all_run->count_down();
      all_run->wait();
      last->count_down();
    });
  }
  last->wait();
}

TEST_CASE("a system ends, however its threads were waiting") {
  for (int i = 0; i < 300; ++i) {
    System under_test{3};
    under_test.system.spawn([](caf::event_based_actor*) {});
  }
}
