// A queue in two lists of Redis, with an append-only file that is synced before each answer. A
// worker moves each job to a second list, from which it removes the job at its end. Packages:
// redis-server, redis-tools.
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/bench/peers/peer.hpp"
#include "tests/bench/peers/server.hpp"
#include "tests/bench/peers/text_connection.hpp"
#include "tests/bench/peers/worker_threads.hpp"

namespace celld::bench {
namespace {

std::string command_text(std::initializer_list<std::string_view> words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const auto word : words) {
    text.append("$").append(std::to_string(word.size())).append("\r\n");
    text.append(word).append("\r\n");
  }
  return text;
}

class RedisProducer : public Producer {
 public:
  RedisProducer(std::uint16_t port, std::uint64_t seed) : connection_(port), jobs_("", 0, seed) {}

  void submit() override {
    connection_.send(command_text({"LPUSH", "queued", jobs_.next_body()}));
    connection_.expect(":");
  }

 private:
  TextConnection connection_;
  JobRequests jobs_;
};

class RedisWorker : public Worker {
 public:
  explicit RedisWorker(std::uint16_t port) : connection_(port) {}

  bool take() override {
    connection_.send(command_text({"BLMOVE", "queued", "running", "RIGHT", "LEFT", "1"}));
    const auto answer = connection_.line();
    if (answer == "$-1" || answer == "*-1") return false;
    if (!answer.starts_with("$")) throw std::runtime_error("redis: " + answer);
    job_ = connection_.block(std::stoul(answer.substr(1)));
    return true;
  }

  void end() override {
    connection_.send(command_text({"LREM", "running", "1", job_}));
    connection_.expect(":1");
  }

 private:
  TextConnection connection_;
  std::string job_;
};

class Redis : public Peer {
 public:
  explicit Redis(const PeerSetup& setup)
      : directory_(setup.directory, false), server_(command(setup)) {
    server_.await_port(port_);
  }

  std::unique_ptr<Producer> producer(Purpose /*purpose*/, std::uint64_t seed) override {
    return std::make_unique<RedisProducer>(port_, seed);
  }

  std::unique_ptr<Workers> workers(Purpose /*purpose*/, std::size_t count) override {
    return worker_threads(count, [&] { return std::make_unique<RedisWorker>(port_); });
  }

 private:
  ServerCommand command(const PeerSetup& setup) const {
    ServerCommand command;
    command.name = "redis-server";
    command.directory = directory_.path();
    const auto root = root_of(setup.unpacked, "redis-server");
    command.variables = variables_of(root);
    command.arguments = {(root / "usr/bin/redis-server").string(),
                         "--bind",
                         "127.0.0.1",
                         "--port",
                         std::to_string(port_),
                         "--dir",
                         directory_.path().string(),
                         "--save",
                         "",
                         "--appendonly",
                         "yes",
                         "--appendfsync",
                         "always"};
    return command;
  }

  const std::uint16_t port_ = free_port();
  DataDirectory directory_;
  Server server_;
};

}  // namespace

PeerKind redis_kind() {
  return {"redis", "Redis list, AOF always", true,
          [](const PeerSetup& setup) -> std::unique_ptr<Peer> {
            return std::make_unique<Redis>(setup);
          }};
}

}  // namespace celld::bench
