#include "tests/bench/offered_load.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>

#include <sys/epoll.h>

#include "tests/bench/http_wire.hpp"

namespace celld::bench {
namespace {

constexpr int wake_up_ms = 1;
constexpr std::chrono::seconds answer_timeout{30};

struct Connection {
  Descriptor socket;
  MessageReader reader;
  Clock::time_point due;  ///< Of the request in flight.
};

class OfferedRun {
 public:
  OfferedRun(const OfferedLoad& load, const NextRequest& next_request)
      : load_(load), next_request_(next_request), poll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  OfferedResult run() {
    connect();
    begin_ = last_answer_ = Clock::now();
    for (auto now = begin_; now - begin_ < load_.duration; now = Clock::now()) {
      send_due(now);
      take_answers();
    }
    while (free_.size() < connections_.size()) take_answers();
    result_.unsent = due_by(begin_ + load_.duration) - sent_;
    return std::move(result_);
  }

 private:
  void connect() {
    connections_.resize(load_.connections);
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      connections_[i].socket = connect_to(load_.port);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, connections_[i].socket.get(), &event);
      free_.push_back(i);
    }
  }

  std::size_t due_by(Clock::time_point now) const {
    const std::chrono::duration<double> passed = now - begin_;
    return static_cast<std::size_t>(passed.count() * load_.per_s);
  }

  void send_due(Clock::time_point now) {
    for (const auto due = due_by(now); sent_ < due && !free_.empty(); ++sent_) {
      auto& connection = connections_[free_.back()];
      free_.pop_back();
      const std::chrono::duration<double> since_begin{static_cast<double>(sent_) / load_.per_s};
      connection.due = begin_ + std::chrono::duration_cast<Clock::duration>(since_begin);
      send_whole(connection.socket.get(), next_request_());
    }
  }

  void take_answers() {
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(poll_.get(), events.data(), events.size(), wake_up_ms);
    if (count < 0 && errno != EINTR) throw std::runtime_error("epoll_wait failed");
    for (int i = 0; i < count; ++i) take_answer(events[i].data.u64);
    if (free_.size() < connections_.size() && Clock::now() - last_answer_ > answer_timeout) {
      throw std::runtime_error("no answer arrived");
    }
  }

  void take_answer(std::size_t index) {
    auto& connection = connections_[index];
    if (!connection.reader.fill(connection.socket.get())) {
      throw std::runtime_error("celld closed a connection");
    }
    const auto answer = connection.reader.next();
    if (!answer) return;
    last_answer_ = Clock::now();
    if (answer->status() == 202) {
      const std::chrono::duration<double, std::micro> latency = last_answer_ - connection.due;
      result_.latencies_us.push_back(latency.count());
      ++result_.accepted;
    } else if (answer->status() == 429) {
      ++result_.refused;
    } else {
      throw std::runtime_error("unexpected answer: " + std::string(answer->head));
    }
    free_.push_back(index);
  }

  const OfferedLoad& load_;
  const NextRequest& next_request_;
  const Descriptor poll_;
  std::vector<Connection> connections_;
  std::vector<std::size_t> free_;  ///< Indexes of connections without a request.
  Clock::time_point begin_;
  Clock::time_point last_answer_;
  std::size_t sent_ = 0;
  OfferedResult result_;
};

}  // namespace

OfferedResult run_offered_load(const OfferedLoad& load, const NextRequest& next_request) {
  return OfferedRun{load, next_request}.run();
}

}  // namespace celld::bench
