#include "tests/bench/load.hpp"

#include <array>
#include <cerrno>
#include <stdexcept>

#include <sys/epoll.h>

#include <nlohmann/json.hpp>

#include "tests/bench/http_wire.hpp"

namespace celld::bench {
namespace {

constexpr int answer_timeout_ms = 30'000;
constexpr std::string_view id_place = "0000000000000000";

struct Connection {
  Descriptor socket;
  MessageReader reader;
  Clock::time_point sent;
};

class LoadRun {
 public:
  LoadRun(const Load& load, const NextRequest& next_request)
      : load_(load), next_request_(next_request), poll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  LoadResult run() {
    connections_.resize(load_.connections);
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      connections_[i].socket = connect_to(load_.port);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, connections_[i].socket.get(), &event);
    }
    begin_ = Clock::now();
    for (auto& connection : connections_) send_next(connection, begin_);
    while (in_flight_ > 0) take_answers();
    return std::move(result_);
  }

 private:
  void send_next(Connection& connection, Clock::time_point now) {
    if (sent_ == load_.requests_max || now - begin_ >= load_.duration) return;
    connection.sent = now;
    send_whole(connection.socket.get(), next_request_());
    ++sent_;
    ++in_flight_;
  }

  void take_answers() {
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(poll_.get(), events.data(), events.size(), answer_timeout_ms);
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) throw std::runtime_error("no answer arrived");
    for (int i = 0; i < count; ++i) take_answer(connections_[events[i].data.u64]);
  }

  void take_answer(Connection& connection) {
    if (!connection.reader.fill(connection.socket.get())) {
      throw std::runtime_error("celld closed a connection");
    }
    const auto answer = connection.reader.next();
    if (!answer) return;
    if (answer->status() != load_.status) {
      throw std::runtime_error("unexpected answer: " + std::string(answer->head) + "\n" +
                               std::string(answer->body));
    }
    const auto now = Clock::now();
    --in_flight_;
    ++result_.requests;
    result_.seconds = std::chrono::duration<double>(now - begin_).count();
    const auto latency = std::chrono::duration<double, std::micro>(now - connection.sent);
    result_.latencies_us.push_back(latency.count());
    send_next(connection, now);
  }

  const Load& load_;
  const NextRequest& next_request_;
  const Descriptor poll_;
  std::vector<Connection> connections_;
  Clock::time_point begin_;
  std::size_t sent_ = 0;
  std::size_t in_flight_ = 0;
  LoadResult result_;
};

}  // namespace

LoadResult run_load(const Load& load, const NextRequest& next_request) {
  return LoadRun{load, next_request}.run();
}

JobRequests::JobRequests(std::string_view service, std::int64_t delay_ms, std::uint64_t seed)
    : ids_(seed) {
  nlohmann::json job = {{"customer", "acme"},
                        {"product", "dns"},
                        {"action", "create"},
                        {"entity", {{"type", "zone"}, {"id", std::string(id_place) + ".test"}}},
                        {"services", {service}},
                        {"parameters", {{"ttl", 300}, {"primary", "ns1.provider.test"}}}};
  if (delay_ms > 0) job["delay_ms"] = delay_ms;
  const auto body = job.dump();
  text_ = request_text("POST", "/v1/jobs", body);
  id_at_ = text_.find(id_place);
  body_at_ = text_.size() - body.size();
}

std::string_view JobRequests::next() {
  auto rest = ids_();
  for (std::size_t i = 0; i < id_place.size(); ++i, rest >>= 4) {
    text_[id_at_ + i] = "0123456789abcdef"[rest & 15];
  }
  return text_;
}

std::string_view JobRequests::next_body() {
  return next().substr(body_at_);
}

double submit_batch(std::uint16_t port, JobRequests& jobs, std::size_t count) {
  constexpr std::size_t piece_bytes = 64 << 10;
  const Descriptor socket = connect_to(port);
  const auto begin = Clock::now();
  std::string piece =
      "POST /v1/batches HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
      "Content-Length: " +
      std::to_string(count * (jobs.next_body().size() + 1)) + "\r\n\r\n";
  for (std::size_t i = 0; i < count; ++i) {
    piece.append(jobs.next_body()).append("\n");
    if (piece.size() < piece_bytes && i + 1 < count) continue;
    send_whole(socket.get(), piece);
    piece.clear();
  }
  MessageReader reader;
  auto answer = reader.next();
  while (!answer) {
    if (!reader.fill(socket.get())) throw std::runtime_error("celld did not answer");
    answer = reader.next();
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto report =
      answer->status() == 202 ? nlohmann::json::parse(answer->body) : nlohmann::json::object();
  if (report.value("accepted", std::size_t{0}) != count) {
    throw std::runtime_error("a batch was not accepted: " + std::string(answer->body));
  }
  return seconds;
}

}  // namespace celld::bench
