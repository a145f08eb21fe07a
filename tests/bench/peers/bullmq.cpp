// BullMQ on Redis. Its clients run on Node.js: bullmq/clients.mjs, which scripts/bench installs in
// the directory `bullmq` beside the unpacked packages, with the packages of npm that it needs.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/bench/peers/redis_server.hpp"

namespace celld::bench {
namespace {

class Bullmq : public Peer {
 public:
  explicit Bullmq(const PeerSetup& setup)
      : clients_(std::filesystem::absolute(setup.unpacked / "bullmq" / "clients.mjs")),
        server_(setup) {}

  double measure_idle(double seconds) override { return run("idle", {seconds}).at("us"); }

  double measure_lives(std::size_t connections, double seconds) override {
    return run("run", {static_cast<double>(connections), seconds}).at("rate");
  }

  std::optional<double> measure_queued(double /*seconds*/) override { return std::nullopt; }
  std::optional<ManyFigures> measure_many(double /*seconds*/) override { return std::nullopt; }

  KeptFigures measure_kept(std::size_t connections, double seconds) override {
    const auto figures = run("keep", {static_cast<double>(connections), seconds});
    return {figures.at("rate"), figures.at("us")};
  }

 private:
  nlohmann::json run(const std::string& load, const std::vector<double>& numbers) const {
    auto command =
        "exec node '" + clients_.string() + "' " + load + " " + std::to_string(server_.port());
    for (const auto number : numbers) command += " " + std::to_string(number);
    const auto close = [](std::FILE* file) { ::pclose(file); };
    const std::unique_ptr<std::FILE, decltype(close)> output{::popen(command.c_str(), "re"), close};
    std::string text;
    for (int next = 0; output != nullptr && (next = std::fgetc(output.get())) != EOF;) {
      text.push_back(static_cast<char>(next));
    }
    if (text.empty()) throw std::runtime_error("the clients of BullMQ failed: " + command);
    return nlohmann::json::parse(text);
  }

  const std::filesystem::path clients_;
  const RedisServer server_;
};

}  // namespace

PeerKind bullmq_kind() {
  return {"bullmq", "BullMQ, Redis AOF always", true,
          [](const PeerSetup& setup) -> std::unique_ptr<Peer> {
            return std::make_unique<Bullmq>(setup);
          }};
}

}  // namespace celld::bench
