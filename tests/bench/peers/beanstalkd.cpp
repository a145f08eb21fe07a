// beanstalkd with a log that is synced at each write. Package: beanstalkd.
#include <string>

#include "tests/bench/peers/server.hpp"
#include "tests/bench/peers/text_connection.hpp"
#include "tests/bench/peers/worker_threads.hpp"

namespace celld::bench {
namespace {

class BeanstalkdProducer : public Producer {
 public:
  BeanstalkdProducer(std::uint16_t port, std::uint64_t seed)
      : connection_(port), jobs_("", 0, seed) {}

  void submit() override {
    const auto body = jobs_.next_body();
    std::string command = "put 0 0 600 " + std::to_string(body.size()) + "\r\n";
    connection_.send(command.append(body).append("\r\n"));
    connection_.expect("INSERTED ");
  }

 private:
  TextConnection connection_;
  JobRequests jobs_;
};

class BeanstalkdWorker : public Worker {
 public:
  explicit BeanstalkdWorker(std::uint16_t port) : connection_(port) {}

  std::size_t take() override {
    connection_.send("reserve-with-timeout 1\r\n");
    const auto answer = connection_.line();
    if (answer == "TIMED_OUT") return 0;
    const auto size_at = answer.rfind(' ') + 1;
    if (!answer.starts_with("RESERVED ")) throw std::runtime_error("beanstalkd: " + answer);
    const auto id_at = answer.find(' ') + 1;
    id_ = answer.substr(id_at, size_at - 1 - id_at);
    connection_.block(std::stoul(answer.substr(size_at)));
    return 1;
  }

  void end() override {
    connection_.send("delete " + id_ + "\r\n");
    connection_.expect("DELETED");
  }

 private:
  TextConnection connection_;
  std::string id_;
};

class Beanstalkd : public ThreadedPeer {
 public:
  explicit Beanstalkd(const PeerSetup& setup)
      : directory_(setup.directory, false), server_(command(setup)) {
    server_.await_port(port_);
  }

  std::unique_ptr<Producer> producer(Purpose /*purpose*/, std::uint64_t seed) override {
    return std::make_unique<BeanstalkdProducer>(port_, seed);
  }

  std::unique_ptr<Workers> workers(Purpose /*purpose*/, std::size_t count) override {
    return worker_threads(count, [&] { return std::make_unique<BeanstalkdWorker>(port_); });
  }

 private:
  ServerCommand command(const PeerSetup& setup) const {
    ServerCommand command;
    command.name = "beanstalkd";
    command.directory = directory_.path();
    const auto program = root_of(setup.unpacked, "beanstalkd") / "usr/bin/beanstalkd";
    command.arguments = {
        program.string(),           "-l", "127.0.0.1", "-p", std::to_string(port_), "-b",
        directory_.path().string(), "-f", "0"};
    return command;
  }

  const std::uint16_t port_ = free_port();
  DataDirectory directory_;
  Server server_;
};

}  // namespace

PeerKind beanstalkd_kind() {
  return {"beanstalkd", "beanstalkd -f 0", true,
          [](const PeerSetup& setup) -> std::unique_ptr<Peer> {
            return std::make_unique<Beanstalkd>(setup);
          }};
}

}  // namespace celld::bench
