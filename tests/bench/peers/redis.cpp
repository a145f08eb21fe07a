// A queue in two lists of Redis. A worker moves each job to a second list, from which it removes
// the job at its end.
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/bench/peers/redis_server.hpp"
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

  std::size_t take() override {
    connection_.send(command_text({"BLMOVE", "queued", "running", "RIGHT", "LEFT", "1"}));
    const auto answer = connection_.line();
    if (answer == "$-1" || answer == "*-1") return 0;
    if (!answer.starts_with("$")) throw std::runtime_error("redis: " + answer);
    job_ = connection_.block(std::stoul(answer.substr(1)));
    return 1;
  }

  void end() override {
    connection_.send(command_text({"LREM", "running", "1", job_}));
    connection_.expect(":1");
  }

 private:
  TextConnection connection_;
  std::string job_;
};

class Redis : public ThreadedPeer {
 public:
  explicit Redis(const PeerSetup& setup) : server_(setup) {}

  std::unique_ptr<Producer> producer(Purpose /*purpose*/, std::uint64_t seed) override {
    return std::make_unique<RedisProducer>(server_.port(), seed);
  }

  std::unique_ptr<Workers> workers(Purpose /*purpose*/, std::size_t count) override {
    return worker_threads(count, [&] { return std::make_unique<RedisWorker>(server_.port()); });
  }

 private:
  RedisServer server_;
};

}  // namespace

PeerKind redis_kind() {
  return {"redis", "Redis list, AOF always", true,
          [](const PeerSetup& setup) -> std::unique_ptr<Peer> {
            return std::make_unique<Redis>(setup);
          }};
}

}  // namespace celld::bench
