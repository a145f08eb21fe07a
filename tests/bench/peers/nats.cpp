// NATS JetStream: a work queue in files, which the server syncs every two minutes. Package:
// nats-server. https://docs.nats.io/reference/reference-protocols/nats-protocol
#include <atomic>
#include <sstream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/bench/peers/server.hpp"
#include "tests/bench/peers/text_connection.hpp"
#include "tests/bench/peers/worker_threads.hpp"

namespace celld::bench {
namespace {

struct NatsMessage {
  bool is_status = false;  ///< Carries a header only, such as that of a timeout.
  std::string reply_to;
  std::string payload;
};

/// A connection with one subject of its own, to which answers come.
class NatsConnection {
 public:
  explicit NatsConnection(std::uint16_t port) : connection_(port) {
    static std::atomic<int> count{0};
    inbox_ = "_INBOX." + std::to_string(++count);
    connection_.expect("INFO ");
    connection_.send(
        R"(CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true})"
        "\r\nSUB " +
        inbox_ + " 1\r\nPING\r\n");
    connection_.expect("PONG");
  }

  /// Publishes a message, and waits for the answer to it.
  NatsMessage request(const std::string& subject, std::string_view payload) {
    std::string command = "PUB " + subject + " " + inbox_ + " ";
    command.append(std::to_string(payload.size())).append("\r\n");
    connection_.send(command.append(payload).append("\r\n"));
    return receive();
  }

  /// As request(), for an answer in JSON. Throws if that is an error.
  void ask(const std::string& subject, std::string_view payload) {
    const auto answer = request(subject, payload);
    if (answer.is_status || answer.payload.find("\"error\"") != std::string::npos) {
      throw std::runtime_error("nats: " + subject + " answered " + answer.payload);
    }
  }

 private:
  NatsMessage receive() {
    auto line = connection_.line();
    while (line == "PING") {
      connection_.send("PONG\r\n");
      line = connection_.line();
    }
    // MSG subject sid [reply-to] size, or HMSG subject sid [reply-to] header-size size
    std::istringstream stream{line};
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.size() < 4 || (words[0] != "MSG" && words[0] != "HMSG")) {
      throw std::runtime_error("nats: " + line);
    }
    NatsMessage message;
    message.is_status = words[0] == "HMSG";
    if (!message.is_status && words.size() == 5) message.reply_to = words[3];
    message.payload = connection_.block(std::stoul(words.back()));
    return message;
  }

  TextConnection connection_;
  std::string inbox_;
};

class NatsProducer : public Producer {
 public:
  NatsProducer(std::uint16_t port, std::uint64_t seed) : connection_(port), jobs_("", 0, seed) {}

  void submit() override { connection_.ask("jobs", jobs_.next_body()); }

 private:
  NatsConnection connection_;
  JobRequests jobs_;
};

class NatsWorker : public Worker {
 public:
  explicit NatsWorker(std::uint16_t port) : connection_(port) {}

  std::size_t take() override {
    const auto job = connection_.request("$JS.API.CONSUMER.MSG.NEXT.JOBS.WORKERS",
                                         R"({"batch":1,"expires":1000000000})");
    acknowledge_to_ = job.reply_to;
    return job.is_status ? 0 : 1;
  }

  void end() override { connection_.request(acknowledge_to_, "+ACK"); }

 private:
  NatsConnection connection_;
  std::string acknowledge_to_;
};

class Nats : public ThreadedPeer {
 public:
  explicit Nats(const PeerSetup& setup)
      : directory_(setup.directory, false), server_(command(setup)) {
    server_.await_port(port_);
    NatsConnection connection{port_};
    connection.ask("$JS.API.STREAM.CREATE.JOBS", nlohmann::json{{"name", "JOBS"},
                                                                {"subjects", {"jobs"}},
                                                                {"retention", "workqueue"},
                                                                {"storage", "file"},
                                                                {"num_replicas", 1}}
                                                     .dump());
    connection.ask("$JS.API.CONSUMER.DURABLE.CREATE.JOBS.WORKERS",
                   nlohmann::json{{"stream_name", "JOBS"},
                                  {"config",
                                   {{"durable_name", "WORKERS"},
                                    {"ack_policy", "explicit"},
                                    {"ack_wait", 600'000'000'000}}}}
                       .dump());
  }

  std::unique_ptr<Producer> producer(Purpose /*purpose*/, std::uint64_t seed) override {
    return std::make_unique<NatsProducer>(port_, seed);
  }

  std::unique_ptr<Workers> workers(Purpose /*purpose*/, std::size_t count) override {
    return worker_threads(count, [&] { return std::make_unique<NatsWorker>(port_); });
  }

 private:
  ServerCommand command(const PeerSetup& setup) const {
    ServerCommand command;
    command.name = "nats-server";
    command.directory = directory_.path();
    const auto program = root_of(setup.unpacked, "nats-server") / "usr/sbin/nats-server";
    command.arguments = {program.string(),      "-a",  "127.0.0.1", "-p",
                         std::to_string(port_), "-js", "-sd",       directory_.path().string()};
    return command;
  }

  const std::uint16_t port_ = free_port();
  DataDirectory directory_;
  Server server_;
};

}  // namespace

PeerKind nats_kind() {
  return {"nats", "NATS JetStream, in files", false,
          [](const PeerSetup& setup) -> std::unique_ptr<Peer> {
            return std::make_unique<Nats>(setup);
          }};
}

}  // namespace celld::bench
