#include "src/few_wake_ups.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "tests/unit/catch.hpp"

namespace {

using celld::ReadyActors;

struct System {
  explicit System(std::size_t threads) : system(configured(config, threads)) {}

  static caf::actor_system_config& configured(caf::actor_system_config& config,
                                              std::size_t threads) {
    config.load<caf::scheduler::coordinator<celld::FewWakeUps>>();
    config.set("scheduler.max-threads", threads);
    return config;
  }

  /// Waits until no thread that runs actors is awake.
  void sleep() {
    auto& scheduler =
        dynamic_cast<caf::scheduler::coordinator<celld::FewWakeUps>&>(system.scheduler());
    while (scheduler.data().ready.asleep() < scheduler.num_workers()) std::this_thread::yield();
  }

  caf::actor_system_config config;
  caf::actor_system system;
};

/// Spawns an actor that calls `run`, and ends. (The function of an actor has an argument because
/// CAF 0.17 binds a reference to null if there is none, which a sanitizer reports.)
void run_in_actor(System& in, std::function<void()> run) {
  in.system.spawn([](caf::event_based_actor*, const std::function<void()>& call) { call(); },
                  std::move(run));
}

/// An actor that notes the thread on which it runs, and passes the number on, less one, until it
/// is 0.
caf::behavior noting_threads(caf::event_based_actor* self,
                             const std::shared_ptr<std::vector<std::thread::id>>& threads,
                             const std::shared_ptr<std::latch>& ended) {
  return {[=](int hops) {
    threads->push_back(std::this_thread::get_id());
    if (hops > 0) {
      self->send(self->spawn(noting_threads, threads, ended), hops - 1);
    } else {
      ended->count_down();
    }
  }};
}

struct Chain {
  /// Sends the first of `length` actors, each of which spawns the next one, its message.
  void start(caf::actor_system& system, int length) const {
    caf::anon_send(system.spawn(noting_threads, threads, ended), length - 1);
  }
  std::ptrdiff_t runs_here() const {
    return std::count(threads->begin(), threads->end(), std::this_thread::get_id());
  }

  std::shared_ptr<std::vector<std::thread::id>> threads =
      std::make_shared<std::vector<std::thread::id>>();
  std::shared_ptr<std::latch> ended = std::make_shared<std::latch>(1);
};

/// An actor that is never run.
class Idle : public caf::resumable {
 public:
  resume_result resume(caf::execution_unit*, std::size_t) override { return done; }
  void intrusive_ptr_add_ref_impl() override {}
  void intrusive_ptr_release_impl() override {}
};

/// Two threads, of which this one is awake and the other sleeps until it is woken.
class TwoThreads {
 public:
  TwoThreads() {
    ready.join();
    other_ = std::thread([this] {
      ready.join();
      ready.take();
      ready.leave();
    });
    while (ready.asleep() == 0) std::this_thread::yield();
  }
  ~TwoThreads() {
    for (std::size_t i = 0; i <= ReadyActors::waiting_max; ++i) ready.add(&actor, false);
    other_.join();
  }

  ReadyActors ready;
  Idle actor;

 private:
  std::thread other_;
};

}  // namespace

TEST_CASE("an actor that becomes ready wakes no thread while another is awake") {
  TwoThreads threads;
  for (int i = 0; i < 1000; ++i) {
    threads.ready.add(&threads.actor, false);
    REQUIRE(threads.ready.asleep() == 1);
    REQUIRE(threads.ready.take() == &threads.actor);
  }
}

TEST_CASE("another thread is woken when more than two actors wait for each that is awake") {
  TwoThreads threads;
  for (int i = 0; i < 2; ++i) threads.ready.add(&threads.actor, false);
  CHECK(threads.ready.asleep() == 1);
  threads.ready.add(&threads.actor, false);
  CHECK(threads.ready.asleep() == 0);
}

TEST_CASE("another thread is woken when the awake ones take no actor for a while") {
  TwoThreads threads;
  threads.ready.add(&threads.actor, true);
  while (threads.ready.asleep() == 1) std::this_thread::yield();
}

TEST_CASE("another thread is woken when the awake ones take an actor, and then none for a while") {
  TwoThreads threads;
  threads.ready.add(&threads.actor, true);
  threads.ready.add(&threads.actor, false);
  threads.ready.take();
  const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (threads.ready.asleep() == 1 && std::chrono::steady_clock::now() < give_up_at)
    std::this_thread::yield();
  CHECK(threads.ready.asleep() == 0);
}

TEST_CASE("many ready actors run on every thread at once") {
  constexpr int threads = 3;
  System under_test{threads};
  const auto all_run = std::make_shared<std::latch>(threads);
  const auto last = std::make_shared<std::latch>(20);
  for (int i = 0; i < 20; ++i) {
    run_in_actor(under_test, [=] {
      if (i < threads) all_run->count_down();
      all_run->wait();
      last->count_down();
    });
  }
  last->wait();
}

TEST_CASE("a ready actor does not wait for a slow handler while another thread sleeps") {
  System under_test{2};
  const auto slow_runs = std::make_shared<std::latch>(1);
  const auto other_ran = std::make_shared<std::latch>(1);
  for (int round = 0; round < 2; ++round) {  // In the second, the system has started.
    run_in_actor(under_test, [=] {
      if (round == 0) return;
      slow_runs->count_down();
      other_ran->wait();
    });
  }
  slow_runs->wait();
  run_in_actor(under_test, [=] { other_ran->count_down(); });
  other_ran->wait();
}

TEST_CASE("while no thread is awake, a helper runs the actors that are sent to, and their chain") {
  System under_test{2};
  int rounds_here = 0;
  for (int round = 0; round < 100; ++round) {
    under_test.sleep();
    const Chain chain;
    celld::help_actors(under_test.system, [&] { chain.start(under_test.system, 20); });
    chain.ended->wait();
    if (chain.runs_here() == 20) ++rounds_here;
  }
  CHECK(rounds_here > 90);  // A timer from the start of the system may wake a thread.
}

TEST_CASE("a helper leaves the rest of a long chain to the others") {
  System under_test{2};
  std::ptrdiff_t runs_here = 0;
  // A timer from the start of the system may wake a thread. This one then does not help.
  for (int round = 0; round < 100 && runs_here == 0; ++round) {
    under_test.sleep();
    const Chain chain;
    celld::help_actors(under_test.system, [&] { chain.start(under_test.system, 1000); });
    chain.ended->wait();
    runs_here = chain.runs_here();
  }
  CHECK(runs_here > 0);
  CHECK(runs_here <= celld::helper_runs_max);
}

TEST_CASE("a thread does not help while another runs actors") {
  System under_test{2};
  under_test.sleep();
  const auto runs = std::make_shared<std::latch>(1);
  const auto ends = std::make_shared<std::latch>(1);
  run_in_actor(under_test, [=] {
    runs->count_down();
    ends->wait();
  });
  runs->wait();
  const Chain chain;
  celld::help_actors(under_test.system, [&] { chain.start(under_test.system, 1); });
  chain.ended->wait();
  CHECK(chain.runs_here() == 0);
  ends->count_down();
}

TEST_CASE("what others make ready while a thread helps runs elsewhere, and ends the help") {
  System under_test{2};
  under_test.sleep();
  const auto runs = std::make_shared<std::latch>(1);
  const auto ends = std::make_shared<std::latch>(1);
  const auto run = [=] {
    runs->count_down();
    ends->wait();
  };
  const Chain chain;
  celld::help_actors(under_test.system, [&] {
    std::thread{[&] { run_in_actor(under_test, run); }}.join();
    runs->wait();  // For ever, if it waited for this thread.
    chain.start(under_test.system, 1);
  });
  chain.ended->wait();
  CHECK(chain.runs_here() == 0);
  ends->count_down();
}

TEST_CASE("a system ends, however its threads were waiting") {
  for (int i = 0; i < 300; ++i) {
    System under_test{3};
    run_in_actor(under_test, [] {});
  }
}

TEST_CASE("up to four actors wait for a helper") {
  TwoThreads threads;
  threads.ready.leave();
  REQUIRE(threads.ready.help());
  for (int i = 0; i < 4; ++i) threads.ready.add(&threads.actor, false);
  CHECK(threads.ready.asleep() == 1);
  threads.ready.add(&threads.actor, false);
  CHECK(threads.ready.asleep() == 0);
}

TEST_CASE("once a helper has stopped, it does not count as a thread that is awake") {
  TwoThreads threads;
  threads.ready.leave();
  REQUIRE(threads.ready.help());
  threads.ready.stop_helping();
  threads.ready.join();
  for (int i = 0; i < 3; ++i) threads.ready.add(&threads.actor, false);
  CHECK(threads.ready.asleep() == 0);
}
