#include "src/providers/command/supervisor.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "src/providers/command/supervise.hpp"

namespace celld::providers {
namespace {

using Kind = CommandFrame::Kind;

constexpr std::uint64_t orphans_poll_ms = 5;
constexpr std::uint64_t resend_ms = 5;

CommandEnd end_of(const CommandFrame& frame) {
  if (frame.kind == Kind::exited) return {CommandEnd::Kind::exited, frame.value};
  if (frame.kind == Kind::killed) return {CommandEnd::Kind::killed, frame.value};
  return {CommandEnd::Kind::not_started, frame.value};
}

/// Kills an adopted process group and reaps those of its processes that have ended; returns whether
/// any are left. Leaves a group without a child of this process alone: its number may belong to
/// another group by now.
bool end_orphans(pid_t group) {
  siginfo_t info{};
  const auto is_ours = [&] {
    info = {};
    return ::waitid(P_PGID, static_cast<id_t>(group), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  };
  if (!is_ours()) return false;
  ::kill(-group, SIGKILL);
  while (is_ours() && info.si_pid != 0) {
    ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
  }
  return is_ours();
}

}  // namespace

CommandSupervisor::CommandSupervisor(uv_loop_t& loop, int lock, Ended ended)
    : loop_(loop),
      lock_(lock),
      ended_(std::move(ended)),
      orphans_timer_(this, [&](uv_timer_t* timer) { uv_timer_init(&loop, timer); }),
      ends_timer_(this, [&](uv_timer_t* timer) { uv_timer_init(&loop, timer); }),
      again_timer_(this, [&](uv_timer_t* timer) { uv_timer_init(&loop, timer); }) {}

// --- The process -------------------------------------------------------------------------------

int CommandSupervisor::prepare() {
  if (process_) return 0;
  // celld adopts what a killed supervisor leaves behind, to kill and reap it.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) return errno;
  const Descriptor theirs{sockets[1]};
  Descriptor ours{sockets[0]};
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  if (const int failure = spawn(theirs.get()); failure != 0) return failure;
  socket_ = std::move(ours);
  poll_ =
      Uv<uv_poll_t>(this, [this](uv_poll_t* poll) { uv_poll_init(&loop_, poll, socket_.get()); });
  watch();
  return 0;
}

int CommandSupervisor::spawn(int socket) {
  std::array<char*, 3> arguments{const_cast<char*>("celld"), const_cast<char*>(supervise_argument),
                                 nullptr};
  std::array<uv_stdio_container_t, supervisor_lock + 1> stdio{};
  for (auto& each : stdio) each.flags = UV_IGNORE;
  stdio[supervisor_socket].flags = UV_INHERIT_FD;
  stdio[supervisor_socket].data.fd = socket;
  if (lock_ >= 0) {
    stdio[supervisor_lock].flags = UV_INHERIT_FD;
    stdio[supervisor_lock].data.fd = lock_;
  }
  uv_process_options_t options{};
  options.file = "/proc/self/exe";  // This program, even if a newer one has been installed since.
  options.args = arguments.data();
  options.flags = UV_PROCESS_DETACHED;  // No signal to celld's group reaches it.
  options.stdio = stdio.data();
  options.stdio_count = static_cast<int>(stdio.size());
  options.exit_cb = [](uv_process_t* process, std::int64_t, int) {
    if (process->data != nullptr) {
      static_cast<CommandSupervisor*>(process->data)->on_supervisor_gone();
    }
  };
  int failure = 0;
  Uv<uv_process_t> process(
      this, [&](uv_process_t* handle) { failure = -uv_spawn(&loop_, handle, &options); });
  if (failure == 0) process_ = std::move(process);
  return failure;
}

// --- Orders ------------------------------------------------------------------------------------

void CommandSupervisor::start(std::uint64_t id, CommandDescriptors descriptors) {
  groups_.emplace(id, 0);
  if (const int failure = prepare(); failure != 0) {
    return end(id, {CommandEnd::Kind::not_started, failure});
  }
  Outgoing outgoing{{Kind::start, 0, id}, {}};
  for (auto& descriptor : descriptors) outgoing.descriptors.push_back(std::move(descriptor));
  send_later(std::move(outgoing));
}

void CommandSupervisor::signal(std::uint64_t id, int signal) {
  if (groups_.contains(id) && process_) send_later({{Kind::signal, signal, id}, {}});
}

void CommandSupervisor::send_later(Outgoing outgoing) {
  outgoing_.push_back(std::move(outgoing));
  flush();
  watch();
}

void CommandSupervisor::flush() {
  while (!outgoing_.empty() && socket_) {
    const auto& next = outgoing_.front();
    const int failure = send_frame(socket_.get(), next.frame, next.descriptors);
    if (failure == EAGAIN || failure == EWOULDBLOCK) return;
    // on_supervisor_gone() deals with a dead supervisor. If the kernel has no room for the
    // descriptors or the message, a start fails; but a signal is sent again.
    if (failure != 0 && failure != EPIPE && failure != ECONNRESET) {
      if (next.frame.kind == Kind::signal) return send_again_soon();
      end(next.frame.id, {CommandEnd::Kind::not_started, failure});
    }
    outgoing_.pop_front();
  }
}

/// Sends a signal again after a while: the socket counts as writable even when the kernel has no
/// memory for the message.
void CommandSupervisor::send_again_soon() {
  uv_timer_start(
      again_timer_.get(),
      [](uv_timer_t* timer) {
        auto& self = *static_cast<CommandSupervisor*>(timer->data);
        self.flush();
        self.watch();
      },
      resend_ms, 0);
}

void CommandSupervisor::watch() {
  if (!poll_) return;
  const auto* again = reinterpret_cast<const uv_handle_t*>(again_timer_.get());
  const bool can_send = !outgoing_.empty() && uv_is_active(again) == 0;
  const int wanted = can_send ? UV_READABLE | UV_WRITABLE : UV_READABLE;
  uv_poll_start(poll_.get(), wanted, [](uv_poll_t* poll, int status, int events) {
    static_cast<CommandSupervisor*>(poll->data)->on_socket(status, events);
  });
}

// --- Reports -----------------------------------------------------------------------------------

void CommandSupervisor::on_socket(int status, int events) {
  auto received = receive_frame(socket_.get(), false);
  while (received.end == ReceivedFrame::End::frame) {
    on_frame(received.frame);
    received = receive_frame(socket_.get(), false);
  }
  if (status < 0 || received.end == ReceivedFrame::End::closed) {
    // The supervisor closes its socket only by ending, so after any error it is useless.
    poll_.reset();
    if (process_) uv_process_kill(process_.get(), SIGKILL);
  } else if ((events & UV_WRITABLE) != 0) {
    flush();
    watch();
  }
  report_ends();
}

void CommandSupervisor::on_frame(const CommandFrame& frame) {
  if (frame.kind != Kind::started) return end(frame.id, end_of(frame));
  const auto group = groups_.find(frame.id);
  if (group != groups_.end()) group->second = frame.value;
}

void CommandSupervisor::end(std::uint64_t id, CommandEnd end) {
  if (groups_.erase(id) + orphans_.erase(id) == 0) return;
  ends_.emplace_back(id, end);
  uv_timer_start(
      ends_timer_.get(),
      [](uv_timer_t* timer) { static_cast<CommandSupervisor*>(timer->data)->report_ends(); }, 0, 0);
}

void CommandSupervisor::report_ends() {
  wait_for_strays();
  for (const auto& [id, end] : std::exchange(ends_, {})) ended_(id, end);
}

// --- Death and shutdown ------------------------------------------------------------------------

void CommandSupervisor::on_supervisor_gone() {
  process_.reset();
  // The supervisor's last frames tell which groups exist and which have ended.
  for (auto last = receive_frame(socket_.get(), false); last.end == ReceivedFrame::End::frame;
       last = receive_frame(socket_.get(), false)) {
    on_frame(last.frame);
  }
  poll_.reset();
  socket_ = Descriptor{};
  outgoing_.clear();
  orphans_.merge(std::exchange(groups_, {}));
  has_adopted_ = true;
  kill_orphans();
}

/// Reaps adopted processes that are in no known group: a child that was never released, or one that
/// left its group.
void CommandSupervisor::wait_for_strays() {
  siginfo_t info{};
  while (has_adopted_ && ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
    const bool is_supervisor = process_ && info.si_pid == process_.get()->pid;
    if (info.si_pid == 0 || is_supervisor) return;
    ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
    info = {};
  }
}

void CommandSupervisor::kill_orphans() {
  std::vector<std::uint64_t> gone;
  for (const auto& [id, group] : orphans_) {
    // Without a group, the child was never released to execute its program.
    if (group == 0 || !end_orphans(group)) gone.push_back(id);
  }
  for (const auto id : gone) end(id, {CommandEnd::Kind::lost, 0});
  if (!orphans_.empty()) {
    uv_timer_start(
        orphans_timer_.get(),
        [](uv_timer_t* timer) { static_cast<CommandSupervisor*>(timer->data)->kill_orphans(); },
        orphans_poll_ms, 0);
  }
  report_ends();
  report_when_quiet();
}

void CommandSupervisor::stop(Quiet quiet) {
  quiet_ = std::move(quiet);
  poll_.reset();
  socket_ = Descriptor{};
  outgoing_.clear();
  uv_timer_start(
      orphans_timer_.get(),
      [](uv_timer_t* timer) { static_cast<CommandSupervisor*>(timer->data)->kill_orphans(); }, 0,
      0);
}

void CommandSupervisor::report_when_quiet() {
  if (quiet_ && !process_ && orphans_.empty()) std::exchange(quiet_, nullptr)();
}

}  // namespace celld::providers
