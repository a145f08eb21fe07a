#include "src/providers/http_shard.hpp"

#include <sys/epoll.h>

#include <new>

#include "src/providers/steady_now.hpp"

namespace celld::providers {
namespace {

std::uint32_t to_epoll(int what) {
  std::uint32_t events = 0;
  if ((what & CURL_POLL_IN) != 0) events |= EPOLLIN;
  if ((what & CURL_POLL_OUT) != 0) events |= EPOLLOUT;
  return events;
}

int to_curl(std::uint32_t events) {
  int what = 0;
  if ((events & EPOLLIN) != 0) what |= CURL_CSELECT_IN;
  if ((events & EPOLLOUT) != 0) what |= CURL_CSELECT_OUT;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) what |= CURL_CSELECT_ERR;
  return what;
}

}  // namespace

HttpShard::HttpShard(std::uint32_t index, int epoll_fd, std::size_t idle_connections_max)
    : index_(index),
      epoll_fd_(epoll_fd),
      idle_connections_max_(idle_connections_max),
      multi_(curl_multi_init()) {
  if (multi_ == nullptr) throw std::bad_alloc();
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &HttpShard::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &HttpShard::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

HttpShard::~HttpShard() {
  curl_multi_cleanup(multi_);
}

bool HttpShard::add(HttpCall& call) {
  if (curl_multi_add_handle(multi_, call.easy()) != CURLM_OK) return false;
  ++calls_;
  fit_cache();
  return true;
}

void HttpShard::remove(HttpCall& call) {
  curl_multi_remove_handle(multi_, call.easy());
  --calls_;
  fit_cache();
}

void HttpShard::on_ready(int socket, std::uint32_t epoll_events) {
  int running = 0;
  curl_multi_socket_action(multi_, socket, to_curl(epoll_events), &running);
}

void HttpShard::on_time(cells::SteadyTime now) {
  if (!timer_ || *timer_ > now) return;
  timer_.reset();
  int running = 0;
  curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
}

std::optional<HttpShard::Finished> HttpShard::next_finished() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) {
      return Finished{HttpCall::of(message->easy_handle), message->data.result};
    }
  }
  return std::nullopt;
}

// libcurl's cache counts connections in use, too: a fixed size would allow no reuse above it.
void HttpShard::fit_cache() {
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS,
                    static_cast<long>(calls_ + idle_connections_max_));
}

int HttpShard::on_socket(CURL*, curl_socket_t socket, int what, void* self, void* watched) {
  auto& shard = *static_cast<HttpShard*>(self);
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(shard.epoll_fd_, EPOLL_CTL_DEL, socket, nullptr);
    return 0;
  }
  epoll_event event{};
  event.events = to_epoll(what);
  event.data.u64 = std::uint64_t{shard.index_} << 32 | static_cast<std::uint32_t>(socket);
  if (watched != nullptr && epoll_ctl(shard.epoll_fd_, EPOLL_CTL_MOD, socket, &event) == 0) {
    return 0;
  }
  if (epoll_ctl(shard.epoll_fd_, EPOLL_CTL_ADD, socket, &event) != 0) return -1;
  curl_multi_assign(shard.multi_, socket, self);  // Anything but null: it is watched.
  return 0;
}

int HttpShard::on_timer(CURLM*, long timeout_ms, void* self) {
  auto& timer = static_cast<HttpShard*>(self)->timer_;
  if (timeout_ms < 0) {
    timer.reset();
  } else {
    timer = steady_now() + milliseconds{timeout_ms};
  }
  return 0;
}

}  // namespace celld::providers
