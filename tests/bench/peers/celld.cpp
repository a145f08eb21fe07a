// celld itself. Its workers run inside the daemon, or pull over HTTP.
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/bench/daemon.hpp"
#include "tests/bench/http_wire.hpp"
#include "tests/bench/leases.hpp"
#include "tests/bench/peers/worker_threads.hpp"
#include "tests/bench/provider_server.hpp"

namespace celld::bench {
namespace {

constexpr std::int64_t an_hour_ms = 3'600'000;
constexpr const char* called_service = "called";
constexpr const char* pull_service = "pulled";

/// Sends a request, and returns the answer, which is valid until the next one.
Message ask(const Descriptor& socket, MessageReader& reader, std::string_view request, int status) {
  send_whole(socket.get(), request);
  auto answer = reader.next();
  while (!answer) {
    if (!reader.fill(socket.get())) throw std::runtime_error("celld did not answer");
    answer = reader.next();
  }
  if (answer->status() != status) {
    throw std::runtime_error("celld answered " + std::string(answer->head));
  }
  return *answer;
}

class CelldProducer : public Producer {
 public:
  CelldProducer(std::uint16_t port, const JobRequests& jobs)
      : port_(port), socket_(connect_to(port)), jobs_(jobs) {}

  void submit() override { ask(socket_, reader_, jobs_.next(), 202); }

  /// As one batch, on a connection of its own.
  bool submit_many(std::size_t count) override {
    submit_batch(port_, jobs_, count);
    return true;
  }

 private:
  const std::uint16_t port_;
  Descriptor socket_;
  MessageReader reader_;
  JobRequests jobs_;
};

class CelldWorkers : public Workers {
 public:
  CelldWorkers(const Daemon& daemon, ProviderServer& provider)
      : daemon_(daemon), provider_(provider) {}

  Clock::time_point await_taken(std::size_t nth) override { return provider_.await_call(nth); }
  /// celld counts a job as ended before the end is on disk, and writes in order: once it
  /// acknowledges one more job, all ends are on disk.
  Clock::time_point await_ended(std::size_t /*count*/) override {
    daemon_.await_all_ended();
    CelldProducer{daemon_.port(), JobRequests{service_name}}.submit();
    return Clock::now();
  }

 private:
  const Daemon& daemon_;
  ProviderServer& provider_;
};

class OutsideWorker : public Worker {
 public:
  OutsideWorker(std::uint16_t port, std::size_t at_once)
      : socket_(connect_to(port)), ask_(lease_request(pull_service, "worker", at_once, wait_ms)) {}

  std::size_t take() override {
    const auto answer = ask(socket_, reader_, ask_, 200);
    const auto leases = leases_of(answer.body);
    if (!leases.empty()) completion_ = completion(leases);
    return leases.size();
  }

  void end() override { ask(socket_, reader_, completion_, 200); }

 private:
  static constexpr std::size_t wait_ms = 1'000;

  Descriptor socket_;
  MessageReader reader_;
  const std::string ask_;
  std::string completion_;
};

class Celld : public ThreadedPeer {
 public:
  explicit Celld(const PeerSetup& setup)
      : provider_(ProviderServer::Mode::answer), daemon_(setup.celld, setup.directory, config()) {}

  std::unique_ptr<Producer> producer(Purpose purpose, std::uint64_t seed) override {
    const auto service = service_of(purpose);
    const auto delay_ms = purpose == Purpose::keep ? an_hour_ms : 0;
    return std::make_unique<CelldProducer>(daemon_.port(), JobRequests{service, delay_ms, seed});
  }

  /// The pool has the workers of the configuration, but for workers outside as many as may hold
  /// leases.
  std::unique_ptr<Workers> workers(Purpose purpose, std::size_t count) override {
    if (service_of(purpose) != pull_service) {
      resize_pool(workers_in_load);
      return std::make_unique<CelldWorkers>(daemon_, provider_);
    }
    const std::size_t at_once = purpose == Purpose::pull_many ? jobs_at_once : 1;
    resize_pool(count * at_once);
    return worker_threads(count,
                          [&] { return std::make_unique<OutsideWorker>(daemon_.port(), at_once); });
  }

 private:
  static std::string_view service_of(Purpose purpose) {
    if (purpose == Purpose::notice) return called_service;
    if (purpose == Purpose::pull || purpose == Purpose::pull_many) return pull_service;
    return service_name;
  }

  void resize_pool(std::size_t size) const {
    ApiClient{daemon_.port()}.ask(202, "PUT", pool_path, nlohmann::json{{"size", size}}.dump());
  }

  nlohmann::json config() const {
    auto config = one_cell_config({{"type", "simulated"}, {"latency_ms", {{"min", 0}, {"max", 0}}}},
                                  workers_in_load);
    config["services"][called_service] = provider_.service();
    config["services"][pull_service] = {{"type", "pull"}};
    return config;
  }

  ProviderServer provider_;
  Daemon daemon_;
};

}  // namespace

PeerKind celld_kind() {
  return {"celld", "celld", true, [](const PeerSetup& setup) -> std::unique_ptr<Peer> {
            return std::make_unique<Celld>(setup);
          }};
}

}  // namespace celld::bench
