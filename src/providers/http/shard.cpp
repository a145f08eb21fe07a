#include "src/providers/http/shard.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
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

/// During a name look-up, libcurl also watches sockets that are not TCP connections.
bool is_tcp(int socket) {
  int protocol = 0;
  socklen_t bytes = sizeof protocol;
  return ::getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &bytes) == 0 &&
         protocol == IPPROTO_TCP;
}

bool has_input(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) > 0;
}

}  // namespace

HttpShard::HttpShard(std::uint32_t index, int epoll_fd, int ended_fd,
                     std::size_t idle_connections_max)
    : index_(index),
      epoll_fd_(epoll_fd),
      ended_fd_(ended_fd),
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
  curl_easy_setopt(call.easy(), CURLOPT_CLOSESOCKETFUNCTION, &HttpShard::on_close);
  curl_easy_setopt(call.easy(), CURLOPT_CLOSESOCKETDATA, this);
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

// Unsolicited data is not the answer to the next request, but libcurl 7 would take it for one, and
// the step would count as done. celld cannot close the connection, because libcurl owns the
// descriptor. But before libcurl reuses a connection, it checks whether the peer has closed. So a
// socket whose peer has closed replaces the connection at the same descriptor.
void HttpShard::on_idle_ready(int socket) {
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, socket, nullptr);
  ::dup3(ended_fd_, socket, O_CLOEXEC);
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

// libcurl's cache also counts connections in use: above a fixed size, there would be no reuse.
void HttpShard::fit_cache() {
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS,
                    static_cast<long>(calls_ + idle_connections_max_));
}

// A socket that no call uses is either kept for reuse or about to be closed.
int HttpShard::on_socket(CURL*, curl_socket_t socket, int what, void* self, void*) {
  auto& shard = *static_cast<HttpShard*>(self);
  if (what != CURL_POLL_REMOVE) return shard.watch(socket, to_epoll(what), 0) ? 0 : -1;
  if (!is_tcp(socket)) {
    epoll_ctl(shard.epoll_fd_, EPOLL_CTL_DEL, socket, nullptr);
  } else if (has_input(socket)) {
    shard.on_idle_ready(socket);
  } else {
    shard.watch(socket, EPOLLIN | EPOLLRDHUP, idle_bit);
  }
  return 0;
}

// A forked process has a copy of each descriptor until it executes its program. If the connection
// were only closed, it would stay open until then, beside the entity's next call, and stay in the
// epoll set.
int HttpShard::on_close(void* self, curl_socket_t socket) {
  epoll_ctl(static_cast<HttpShard*>(self)->epoll_fd_, EPOLL_CTL_DEL, socket, nullptr);
  ::shutdown(socket, SHUT_RDWR);
  return ::close(socket);
}

bool HttpShard::watch(int socket, std::uint32_t events, std::uint64_t bits) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = std::uint64_t{index_} << 32 | bits | static_cast<std::uint32_t>(socket);
  if (epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, socket, &event) == 0) return true;
  return errno == ENOENT && epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, socket, &event) == 0;
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
