#include "src/cli/worker/worker.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <deque>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "src/cli/text.hpp"
#include "src/cli/url.hpp"
#include "src/cli/worker/deliverer.hpp"
#include "src/cli/worker/leaser.hpp"
#include "src/cli/worker/name_lock.hpp"
#include "src/config/checks.hpp"
#include "src/providers/steady_now.hpp"

namespace celld::cli {
namespace {

using providers::Descriptor;
using providers::steady_now;

/// How long a worker waits for the commands of a killed worker with its name. The supervisor of
/// that worker is ending them.
constexpr milliseconds name_patience{10'000};
/// A heartbeat that waits for a slow celld holds up others.
constexpr milliseconds delivery_timeout_max{5'000};
/// Heartbeats of so many commands go over one connection, one after another: with the default
/// timeout of 30 s they are in time if celld answers each within some 200 ms.
constexpr std::size_t commands_per_delivery = 32;
constexpr std::size_t deliveries_max = 16;

/// SIGTERM and SIGINT as a descriptor. Threads that start later do not receive them either.
Descriptor catch_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  return Descriptor{::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK)};
}

/// Each command takes three descriptors.
void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

template <typename Value>
bool take(const Descriptor& descriptor) {
  Value value{};
  return ::read(descriptor.get(), &value, sizeof value) == sizeof value;
}

int poll_timeout(SteadyTime until) {
  const SteadyTime now = steady_now();
  if (until == SteadyTime::max()) return -1;
  if (until <= now) return 0;
  const auto left = std::chrono::ceil<milliseconds>(until - now).count();
  return static_cast<int>(std::min<milliseconds::rep>(left, INT_MAX));
}

class Worker {
 public:
  explicit Worker(const WorkerSettings& settings)
      : settings_(settings),
        log_(settings.quiet),
        lease_client_(settings.connection, settings.service, settings.runs.worker),
        lock_(lock_name(
            lock_text(settings), name_patience,
            [this] { log_.problem("waiting for another worker with this name to exit"); })),
        signals_(catch_signals()),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        runs_(settings.runs, std::move(lock_), log_, [this] { wake(); }),
        leaser_(lease_client_, runs_, log_),
        deliverer_(runs_, log_) {
    const std::size_t wanted = 1 + settings.runs.concurrency / commands_per_delivery;
    for (std::size_t i = 0; i < std::min(wanted, deliveries_max); ++i) {
      delivery_clients_.emplace_back(for_deliveries(settings.connection), settings.service,
                                     settings.runs.worker);
    }
  }

  ExitCode run() {
    log_.note("worker " + cleaned(settings_.runs.worker) + " runs up to " +
              std::to_string(settings_.runs.concurrency) + " jobs of " +
              cleaned(settings_.service) + " at a time, from " + cleaned(settings_.connection.url));
    std::jthread leasing([this](const std::stop_token& stop) {
      leaser_.run(stop);
      runs_.end_leasing();
    });
    std::vector<std::jthread> delivering;
    try {
      for (auto& client : delivery_clients_) {
        delivering.emplace_back([this, &client] {
          deliverer_.run(client);
          wake();
        });
      }
    } catch (const std::system_error&) {
      // A thread of deliveries ends after that of leases.
      leasing.request_stop();
      leasing.join();
      throw;
    }
    watch(leasing);
    leasing.join();
    delivering.clear();
    return exit_code();
  }

 private:
  static Connection for_deliveries(Connection connection) {
    connection.timeout = std::min(connection.timeout, delivery_timeout_max);
    return connection;
  }

  /// The same for each way to write the URL of a celld, unless they name its machine differently.
  static std::string lock_text(const WorkerSettings& settings) {
    const Url url = parse_url(settings.connection.url);
    std::string host = config::lower_case(url.host);
    if (host == "127.0.0.1" || host == "::1") host = "localhost";
    return host + ':' + std::to_string(url.port) + url.path + '\n' + settings.service + '\n' +
           settings.runs.worker;
  }

  void wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
  }

  /// Until everything is over.
  void watch(std::jthread& leasing) {
    std::array<pollfd, 2> ready{pollfd{signals_.get(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0}};
    while (!runs_.over()) {
      ::poll(ready.data(), ready.size(), poll_timeout(runs_.send_signals()));
      take<std::uint64_t>(wake_);
      while (take<signalfd_siginfo>(signals_)) on_signal(leasing);
    }
  }

  void on_signal(std::jthread& leasing) {
    if (leasing.request_stop()) {
      const auto running = runs_.running();
      log_.note("stopping: " + (running == 0 ? "no command is running"
                                             : std::to_string(running) +
                                                   " running; a second signal ends the commands"));
      return;
    }
    gave_up_ = true;
    runs_.give_up();
  }

  ExitCode exit_code() const {
    if (const auto refusal = leaser_.refusal()) return *refusal;
    if (gave_up_) return ExitCode::job_not_succeeded;
    return runs_.has_abandoned_reports() ? ExitCode::unavailable : ExitCode::ok;
  }

  const WorkerSettings& settings_;
  const WorkerLog log_;
  LeaseClient lease_client_;
  std::deque<LeaseClient> delivery_clients_;
  Descriptor lock_;
  Descriptor signals_;
  Descriptor wake_;
  Runs runs_;
  Leaser leaser_;
  Deliverer deliverer_;
  bool gave_up_ = false;
};

}  // namespace

ExitCode run_worker(const WorkerSettings& settings) {
  raise_open_files();
  return Worker(settings).run();
}

}  // namespace celld::cli
