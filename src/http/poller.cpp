#include "src/http/poller.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace celld::http {
namespace {

constexpr std::chrono::milliseconds linger_timeout{2000};
/// Time budget per round for connections that can wait: this much, or as much as urgent connections
/// just used, whichever is longer.
constexpr std::chrono::microseconds deferred_work_min{500};
/// How long clients wait at the listening socket when there is no descriptor even to refuse them.
constexpr std::chrono::milliseconds listening_pause{100};

FileDescriptor spare_descriptor() {
  return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void control(int epoll, int operation, int fd, std::uint32_t events, void* tag) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = tag;
  if (::epoll_ctl(epoll, operation, fd, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

void watch(int epoll, int fd, std::uint32_t events, void* tag) {
  control(epoll, EPOLL_CTL_ADD, fd, events, tag);
}

/// Whether accept() has failed for lack of descriptors or memory.
bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

bool is_past(SteadyTime time) {
  return std::chrono::steady_clock::now() >= time;
}

}  // namespace

Poller::Poller(std::shared_ptr<ServerState> server)
    : server_(std::move(server)),
      loop_{
          server_,
          Deadlines({server_->limits.idle_timeout, server_->limits.head_timeout,
                     server_->limits.body_timeout, server_->limits.write_timeout, linger_timeout}),
          {},                                                       // now
          std::vector<char>(server_->limits.turns.read_bytes_max),  // scratch
          {},                                                       // tasks
          {},                                                       // unread
          {},                                                       // closed
          {},                                                       // large_bodies
          UnsentAnswers(server_->limits.unsent_bytes_max)},
      events_(server_->limits.turns.events_max),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      spare_(spare_descriptor()) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  watch(epoll_.get(), server_->mailbox.wake_fd(), EPOLLIN | EPOLLET, nullptr);
  watch(epoll_.get(), server_->mailbox.timer_fd(), EPOLLIN | EPOLLET, &server_->mailbox);
}

Poller::~Poller() {
  stop(std::chrono::milliseconds(0));
  if (thread_.joinable()) thread_.join();
}

void Poller::listen(FileDescriptor socket) {
  listening_ = std::move(socket);
}

void Poller::start() {
  if (listening_) watch(epoll_.get(), listening_.get(), EPOLLIN, &listening_);
  ended_ = false;
  thread_ = std::thread([this] { run(); });
}

void Poller::hand_over(std::chrono::milliseconds grace) {
  std::unique_lock lock(mutex_);
  if (ended_) {
    listening_.reset();
    return;
  }
  hand_over_at_ = std::chrono::steady_clock::now() + grace;
  server_->shutting_down.store(true);
  server_->mailbox.wake();
  changed_.wait(lock, [&] { return !hand_over_at_ || ended_; });
}

bool Poller::responds(std::chrono::milliseconds within) {
  std::unique_lock lock(mutex_);
  const auto question = ++questions_;
  server_->mailbox.wake();
  return changed_.wait_for(lock, within, [&] { return answers_ >= question || ended_; });
}

void Poller::stop(std::chrono::milliseconds grace) {
  std::unique_lock lock(mutex_);
  if (ended_) {
    listening_.reset();
    return;
  }
  const auto deadline = std::chrono::steady_clock::now() + grace;
  stop_at_ = stop_at_ ? std::min(*stop_at_, deadline) : deadline;
  server_->shutting_down.store(true);
  server_->mailbox.wake();
  changed_.wait(lock, [&] { return ended_; });
}

void Poller::run() {
  for (;;) {
    handle_orders();
    if (has_stopped()) break;
    wait_for_events();
    take_notices();
    continue_reading();
    expire_deadlines();
    listen_again();
    grant_room();
    close_stalled();
    serve_requests();
    free_closed();
  }
  for (const auto& connection : connections_) connection->abandon();
  free_closed();
  server_->mailbox.close();
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void Poller::wait_for_events() {
  const bool sleeps = loop_.unread.empty() && server_->mailbox.fall_asleep();
  const int count = ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()),
                                 sleeps ? timeout_ms() : 0);
  if (sleeps) server_->mailbox.wake_up();
  loop_.now = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const auto& event = events_[static_cast<std::size_t>(i)];
    if (event.data.ptr == &listening_) {
      accept_clients();
    } else if (event.data.ptr == &server_->mailbox) {
      server_->mailbox.timer_expired();
    } else if (event.data.ptr != nullptr) {
      static_cast<Connection*>(event.data.ptr)->on_events(event.events);
    }
  }
}

int Poller::timeout_ms() const {
  auto earliest = loop_.deadlines.earliest();
  if (const auto due = next_give_up()) earliest = std::min(earliest.value_or(*due), *due);
  for (const auto& due : {hand_over_until_, shutdown_until_, listens_again_at_}) {
    if (due) earliest = std::min(earliest.value_or(*due), *due);
  }
  if (!earliest) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*earliest - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

void Poller::take_notices() {
  server_->mailbox.take(notices_);
  for (auto& notice : notices_) {
    auto& slot = *notice.slot;
    if (slot.is_current(notice.exchange_number)) {
      slot.connection().on_notice(std::move(notice));
    } else if (notice.stream) {
      notice.stream->close();  // The client left before the stream began: tells its writer.
    }
  }
  notices_.clear();
}

std::optional<SteadyTime> Poller::next_give_up() const {
  if (loop_.large_bodies.empty() || !server_->body_room.waited_for()) return std::nullopt;
  return loop_.large_bodies.front()->room_since() + BodyRoom::patience;
}

/// Gives the free room to the connections that wait for it, and resumes them. Refuses bodies that
/// have held room for too long, as many as the first in the queue needs.
void Poller::grant_room() {
  for (;;) {
    auto [connection, room] = server_->body_room.next();
    if (connection) {
      connection->on_room(std::move(room));
      continue;
    }
    const auto due = next_give_up();
    if (!due || *due > loop_.now) return;
    loop_.large_bodies.front()->make_room();
  }
}

/// While the unsent bytes of all clients together exceed their limit, disconnects the client that
/// has read nothing for the longest time.
void Poller::close_stalled() {
  while (auto* connection = loop_.unsent.excess()) connection->abandon();
}

/// Runs the handlers of the requests that this round has completed: here if they are few and brief,
/// since waking another thread would take longer; otherwise on the handler threads.
void Poller::serve_requests() {
  if (loop_.tasks.size() <= server_->limits.turns.served_max) {
    std::erase_if(loop_.tasks, [](const std::shared_ptr<Task>& task) {
      if (!task->brief()) return false;
      task->run();
      return true;
    });
  }
  server_->pool.submit_all(loop_.tasks);
}

SteadyTime Poller::end_of_deferred_work() const {
  const auto now = std::chrono::steady_clock::now();
  return now + std::max<SteadyTime::duration>(deferred_work_min, now - loop_.now);
}

/// Serves the queue until the time budget is used up. The connections that are left come first in
/// the next round, before those that were queued during this one.
void Poller::continue_reading() {
  const auto until = end_of_deferred_work();
  unread_now_.swap(loop_.unread);
  auto next = unread_now_.begin();
  while (next != unread_now_.end() && !is_past(until)) (*next++)->on_unread();
  loop_.unread.insert(loop_.unread.begin(), next, unread_now_.end());
  unread_now_.clear();
}

void Poller::expire_deadlines() {
  const auto until = end_of_deferred_work();
  while (!is_past(until)) {
    auto* entry = loop_.deadlines.due(loop_.now);
    if (!entry) return;
    static_cast<Connection*>(entry)->on_deadline();
  }
}

void Poller::accept_clients() {
  for (std::size_t i = 0; i < server_->limits.turns.accepts_max && accept_client(); ++i) {
  }
}

/// False when no more clients can be accepted now.
bool Poller::accept_client() {
  if (!listening_) return false;
  auto client = accept_from(listening_.get());
  if (client.socket) {
    add(std::move(client));
    return true;
  }
  if (client.error == ECONNABORTED || client.error == EINTR) return true;
  if (is_shortage(client.error) && !shed_client()) pause_listening();
  return false;
}

/// Accepts a client with the spare descriptor and closes it: a client that is left waiting would
/// wake the poller again and again. False: there is still no descriptor, or no memory.
bool Poller::shed_client() {
  spare_.reset();
  auto shed = accept_from(listening_.get());
  const bool was_shed = shed.socket || shed.error == EAGAIN;
  shed.socket.reset();
  spare_ = spare_descriptor();
  return was_shed && spare_;
}

/// Clients wait until descriptors may have become free.
void Poller::pause_listening() {
  control(epoll_.get(), EPOLL_CTL_MOD, listening_.get(), 0, &listening_);
  listens_again_at_ = loop_.now + listening_pause;
}

void Poller::listen_again() {
  if (!listens_again_at_ || loop_.now < *listens_again_at_) return;
  listens_again_at_.reset();
  if (!listening_) return;
  if (!spare_) spare_ = spare_descriptor();
  control(epoll_.get(), EPOLL_CTL_MOD, listening_.get(), EPOLLIN, &listening_);
}

void Poller::add(Accepted client) {
  const auto connections_max = server_->limits.connections_max;
  const bool full = connections_.size() - over_limit_ >= connections_max;
  // Connections that are only accepted to be refused have a bound too.
  if (full && over_limit_ >= connections_max / 8 + 8) return;

  std::unique_ptr<TlsStream> tls;
  if (const auto context = server_->tls()) {
    tls = TlsStream::accept(*context, client.socket.get());
    if (!tls) return;
  }
  auto connection = std::make_unique<Connection>(
      loop_, Socket(std::move(client.socket), std::move(tls)), std::move(client.peer));
  auto& added = *connection;
  added.index = connections_.size();
  added.over_limit = full;
  over_limit_ += full ? 1 : 0;
  connections_.push_back(std::move(connection));
  open_.store(connections_.size(), std::memory_order_relaxed);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &added;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, added.fd(), &event) != 0) return added.abandon();
  if (full) added.refuse(503, "There are too many connections.");
}

void Poller::free_closed() {
  if (loop_.closed.empty()) return;
  std::erase_if(loop_.unread, [](const Connection* connection) { return connection->closed(); });
  for (const auto* connection : loop_.closed) {
    over_limit_ -= connection->over_limit ? 1 : 0;
    const auto index = connection->index;
    std::swap(connections_[index], connections_.back());
    connections_[index]->index = index;
    connections_.pop_back();
  }
  loop_.closed.clear();
  open_.store(connections_.size(), std::memory_order_relaxed);
}

/// Carries out what other threads have requested.
void Poller::handle_orders() {
  const bool already = shutdown_until_.has_value();
  {
    const std::lock_guard lock(mutex_);
    hand_over_until_ = hand_over_at_;
    shutdown_until_ = stop_at_;
    if (answers_ != questions_) {
      answers_ = questions_;
      changed_.notify_all();
    }
  }
  if (hand_over_until_) stop_accepting();
  if (hand_over_until_ && (connections_.empty() || is_past(*hand_over_until_))) finish_hand_over();
  if (shutdown_until_ && !already) shut_down();
}

/// Removes the listening socket from epoll, then closes its descriptor. Closing alone would not
/// remove the socket while another process has it open.
void Poller::stop_accepting() {
  if (!listening_) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, listening_.get(), nullptr);
  listening_.reset();
}

void Poller::finish_hand_over() {
  loop_.now = std::chrono::steady_clock::now();
  for (const auto& connection : connections_) connection->close_if_idle();
  server_->pool.submit_all(loop_.tasks);
  free_closed();
  hand_over_until_.reset();
  const std::lock_guard lock(mutex_);
  hand_over_at_.reset();
  changed_.notify_all();
}

bool Poller::has_stopped() {
  return shutdown_until_ && (connections_.empty() || is_past(*shutdown_until_));
}

void Poller::shut_down() {
  stop_accepting();
  loop_.closing = true;
  loop_.now = std::chrono::steady_clock::now();
  for (const auto& connection : connections_) connection->on_shutdown();
  server_->pool.submit_all(loop_.tasks);
  free_closed();
}

}  // namespace celld::http
