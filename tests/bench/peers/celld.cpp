// celld itself. Its workers run inside the daemon.
#include <stdexcept>
#include <string>

#include "tests/bench/daemon.hpp"
#include "tests/bench/http_wire.hpp"
#include "tests/bench/peers/threaded_peer.hpp"
#include "tests/bench/provider_server.hpp"

namespace celld::bench {
namespace {

constexpr std::int64_t an_hour_ms = 3'600'000;
constexpr const char* called_service = "called";

class CelldProducer : public Producer {
 public:
  CelldProducer(std::uint16_t port, const JobRequests& jobs)
      : socket_(connect_to(port)), jobs_(jobs) {}

  void submit() override {
    send_whole(socket_.get(), jobs_.next());
    auto answer = reader_.next();
    while (!answer) {
      if (!reader_.fill(socket_.get())) throw std::runtime_error("celld did not answer");
      answer = reader_.next();
    }
    if (answer->status() != 202) {
      throw std::runtime_error("celld answered " + std::string(answer->head));
    }
  }

 private:
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

class Celld : public ThreadedPeer {
 public:
  explicit Celld(const PeerSetup& setup)
      : provider_(ProviderServer::Mode::answer), daemon_(setup.celld, setup.directory, config()) {}

  std::unique_ptr<Producer> producer(Purpose purpose, std::uint64_t seed) override {
    const auto* service = purpose == Purpose::notice ? called_service : service_name;
    const auto delay_ms = purpose == Purpose::keep ? an_hour_ms : 0;
    return std::make_unique<CelldProducer>(daemon_.port(), JobRequests{service, delay_ms, seed});
  }

  /// The pool always has the workers of the configuration.
  std::unique_ptr<Workers> workers(Purpose /*purpose*/, std::size_t /*count*/) override {
    return std::make_unique<CelldWorkers>(daemon_, provider_);
  }

 private:
  nlohmann::json config() const {
    auto config = one_cell_config({{"type", "simulated"}, {"latency_ms", {{"min", 0}, {"max", 0}}}},
                                  workers_in_load);
    config["services"][called_service] = provider_.service();
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
