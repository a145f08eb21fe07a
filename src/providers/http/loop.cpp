#include "src/providers/http/loop.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "src/providers/steady_now.hpp"

namespace celld::providers {
namespace {

constexpr std::size_t events_at_first = 256;
constexpr int wait_ms_max = 60'000;
constexpr std::size_t calls_per_shard_max = 256;
/// Reading a larger answer would keep this thread from other calls.
constexpr std::size_t small_answer_bytes_max = 16 << 10;
constexpr auto wake_data = std::numeric_limits<std::uint64_t>::max();

/// A socket whose peer has closed, or -1.
int make_ended_socket() {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return -1;
  ::close(pair[1]);
  return pair[0];
}

}  // namespace

HttpLoop::HttpLoop(HttpLimits limits, std::shared_ptr<HttpCallQueue> operations,
                   HelpActors help_actors)
    : limits_(limits),
      operations_(std::move(operations)),
      help_actors_(std::move(help_actors)),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      ended_fd_(make_ended_socket()),
      events_(events_at_first),
      look_ups_([queue = operations_](const std::string& name, HostAddresses found) {
        queue->host_found(name, std::move(found));
      }),
      names_([this](const std::string& name) { look_ups_.start(name); }) {
  epoll_event wake{};
  wake.events = EPOLLIN;
  wake.data.u64 = wake_data;
  if (epoll_fd_ < 0 || ended_fd_ < 0 ||
      epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, operations_->wake_fd(), &wake) != 0) {
    throw std::system_error(errno, std::generic_category(), "HTTP transport");
  }
}

HttpLoop::~HttpLoop() {
  end_all();
  shards_.clear();
  ::close(ended_fd_);
  ::close(epoll_fd_);
}

void HttpLoop::run() {
  while (!operations_->stop_requested()) {
    auto operations = operations_->take();
    carry_out_all<HttpCallQueue::Start>(operations);
    carry_out_all<HttpCallQueue::HostFound>(operations);
    // Events come before timers, because timers start calls, and a call must not reuse a kept
    // connection on which data has arrived. Events also come before aborts, because an answer that
    // has already arrived counts.
    wait_and_dispatch(operations.empty() ? wait_ms() : 0);
    end_finished();
    carry_out_all<HttpCallQueue::Abort>(operations);
    end_waits();
    fire_timers();
    end_finished();
    drop_empty_shards();
  }
  end_all();
  operations_->close();
}

template <class Kind>
void HttpLoop::carry_out_all(std::vector<HttpCallQueue::Operation>& operations) {
  for (auto& operation : operations) {
    if (auto* each = std::get_if<Kind>(&operation)) carry_out(*each);
  }
}

void HttpLoop::carry_out(HttpCallQueue::Start& start) {
  const auto now = steady_now();
  auto call = std::make_unique<HttpCall>(start.lease, std::move(start.request), limits_,
                                         std::move(start.ended));
  if (calls_.contains(start.lease)) return call->end_aborted();
  const auto connected_by = std::min(start.deadline, now + limits_.connect_timeout);
  const auto& host = call->host();
  const auto wait = host ? names_.wait_for(host->name, now, connected_by) : std::nullopt;
  const auto position =
      calls_.emplace(start.lease, Entry{std::move(call), start.deadline, connected_by}).first;
  if (!wait) return begin(position, CURLE_COULDNT_RESOLVE_HOST);
  position->second.waits_until = *wait;
  waiting_.emplace(*wait, start.lease);
}

void HttpLoop::carry_out(HttpCallQueue::HostFound& found) {
  const auto now = steady_now();
  const int shortage = found.found.shortage;
  names_.ended(found.name, std::move(found.found), now);
  const bool is_unable = shortage != 0 && names_.addresses(found.name, now).empty();
  std::vector<cells::Lease> leases;
  for (const auto& [time, lease] : waiting_) {
    if (calls_.at(lease).call->host()->name == found.name) leases.push_back(lease);
  }
  for (const auto& lease : leases) {
    const auto position = calls_.find(lease);
    is_unable ? take_out(position)->end_unable(shortage)
              : begin(position, CURLE_COULDNT_RESOLVE_HOST);
  }
}

void HttpLoop::begin(Calls::iterator position, CURLcode without_address) {
  auto& entry = position->second;
  const auto now = steady_now();
  const auto left = [&](cells::SteadyTime end) {
    return std::chrono::ceil<milliseconds>(end - now);
  };
  static const std::vector<std::string> none;
  const auto& host = entry.call->host();
  const auto& addresses = host ? names_.addresses(host->name, now) : none;
  waiting_.erase({entry.waits_until, position->first});
  if (now >= entry.deadline) return take_out(position)->end(CURLE_OPERATION_TIMEDOUT);
  if (host && addresses.empty()) return take_out(position)->end(without_address);
  auto& shard = shard_with_room();
  if (!entry.call->prepare(left(entry.deadline), left(entry.connected_by), addresses) ||
      !shard.add(*entry.call)) {
    return take_out(position)->end(CURLE_FAILED_INIT);
  }
  entry.shard = &shard;
}

void HttpLoop::carry_out(HttpCallQueue::Abort& abort) {
  const auto position = calls_.find(abort.lease);
  if (position != calls_.end()) take_out(position)->end_aborted();
  abort.gone();
}

// The first with room: under light load all calls share the connections of one shard.
HttpShard& HttpLoop::shard_with_room() {
  const auto has_room = [](const auto& shard) {
    return shard == nullptr || shard->calls() < calls_per_shard_max;
  };
  auto place = std::find_if(shards_.begin(), shards_.end(), has_room);
  if (place == shards_.end()) place = shards_.insert(shards_.end(), nullptr);
  if (*place == nullptr) {
    *place = std::make_unique<HttpShard>(static_cast<std::uint32_t>(place - shards_.begin()),
                                         epoll_fd_, ended_fd_, limits_.idle_connections_max);
  }
  return **place;
}

// Returns every ready event: one on a kept connection must not be missed because others were ready
// before it.
std::span<epoll_event> HttpLoop::wait(int timeout_ms) {
  for (;;) {
    const int room = static_cast<int>(events_.size());
    const int ready = std::max(epoll_wait(epoll_fd_, events_.data(), room, timeout_ms), 0);
    if (ready < room) return {events_.data(), static_cast<std::size_t>(ready)};
    events_.resize(2 * events_.size());
  }
}

void HttpLoop::wait_and_dispatch(int timeout_ms) {
  const auto events = wait(timeout_ms);
  const auto first_in_use =
      std::partition(events.begin(), events.end(), [](const epoll_event& event) {
        return event.data.u64 != wake_data && HttpShard::is_idle(event.data.u64);
      });
  for (auto event = events.begin(); event != events.end(); ++event) {
    if (event->data.u64 == wake_data) continue;
    const auto& shard = shards_[HttpShard::shard_of(event->data.u64)];
    const int socket = HttpShard::socket_of(event->data.u64);
    if (event < first_in_use) {
      shard->on_idle_ready(socket);
    } else {
      shard->on_ready(socket, event->events);
    }
  }
}

int HttpLoop::wait_ms() const {
  auto next = steady_now() + milliseconds{wait_ms_max};
  if (!waiting_.empty()) next = std::min(next, waiting_.begin()->first);
  for (const auto& shard : shards_) {
    if (shard) next = std::min(next, shard->next_time().value_or(next));
  }
  const auto left = std::chrono::ceil<milliseconds>(next - steady_now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, wait_ms_max));
}

void HttpLoop::end_waits() {
  const auto now = steady_now();
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    begin(calls_.find(waiting_.begin()->second), CURLE_OPERATION_TIMEDOUT);
  }
}

void HttpLoop::fire_timers() {
  for (const auto& shard : shards_) {
    if (shard) shard->on_time(steady_now());
  }
}

void HttpLoop::end_finished() {
  for (const auto& shard : shards_) {
    while (const auto finished = shard ? shard->next_finished() : std::nullopt) {
      const auto call = take_out(calls_.find(finished->call->lease()));
      const auto end = [&] { call->end(finished->code); };
      help_actors_ && call->answer_bytes() <= small_answer_bytes_max ? help_actors_(end) : end();
    }
  }
}

// Closes the connections that only a peak needed. Must run between two rounds of events, because an
// event names its shard.
void HttpLoop::drop_empty_shards() {
  for (auto shard = shards_.begin(); shard != shards_.end(); ++shard) {
    if (shard != shards_.begin() && *shard && (*shard)->calls() == 0) shard->reset();
  }
  while (!shards_.empty() && !shards_.back()) shards_.pop_back();
}

std::unique_ptr<HttpCall> HttpLoop::take_out(Calls::iterator position) {
  auto entry = std::move(position->second);
  waiting_.erase({entry.waits_until, position->first});
  calls_.erase(position);
  if (entry.shard != nullptr) entry.shard->remove(*entry.call);
  return std::move(entry.call);
}

void HttpLoop::end_all() {
  while (!calls_.empty()) take_out(calls_.begin())->end_aborted();
}

}  // namespace celld::providers
