#include "src/service_manager.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <system_error>

#include <systemd/sd-daemon.h>

namespace celld::service_manager {
namespace {

std::optional<std::string> address_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  std::array<char, INET6_ADDRSTRLEN> host{};
  std::array<char, 8> port{};
  if (::getsockname(descriptor, generic, &size) != 0 ||
      ::getnameinfo(generic, size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return std::nullopt;
  }
  const std::string text = host.data();
  return (address.ss_family == AF_INET6 ? "[" + text + "]" : text) + ":" + port.data();
}

/// CLOCK_MONOTONIC in microseconds, for MONOTONIC_USEC.
std::string monotonic_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::to_string(static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000);
}

/// How long the service manager may leave its queue of messages full. sd_notify() would wait
/// without end, on the thread that handles signals.
constexpr int notify_patience_ms = 1000;

/// Sends a message as sd_notify(3) describes, or drops it if the queue stays full.
void notify(const std::string& message) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string_view name = path == nullptr ? "" : path;
  if (name.size() < 2 || name.size() >= sizeof address.sun_path) return;
  name.copy(address.sun_path, name.size());
  if (name.front() == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  pollfd room{descriptor, POLLOUT, 0};
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
      ::poll(&room, 1, notify_patience_ms) > 0) {
    ::send(descriptor, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  ::close(descriptor);
}

}  // namespace

TakenSocket take_socket() {
  const int count = ::sd_listen_fds(1);
  if (count < 0) return "LISTEN_FDS: " + std::generic_category().message(-count);
  if (count == 0) return std::nullopt;
  if (count > 1) {
    return "LISTEN_FDS: celld serves one socket but was passed " + std::to_string(count);
  }
  const int descriptor = SD_LISTEN_FDS_START;
  const std::string name = "LISTEN_FDS: descriptor " + std::to_string(descriptor);
  if (::sd_is_socket_inet(descriptor, AF_UNSPEC, SOCK_STREAM, 1, 0) <= 0)
    return name + " is not a listening TCP socket";
  auto address = address_of(descriptor);
  if (!address) return name + " has no address";
  return ListeningSocket{descriptor, std::move(*address)};
}

void ready(const std::string& status) {
  notify("READY=1\nSTATUS=" + status);
}

void reloading() {
  notify("RELOADING=1\nMONOTONIC_USEC=" + monotonic_us() + "\nSTATUS=reloading the configuration");
}

void stopping(milliseconds longest) {
  notify("STOPPING=1\nSTATUS=waiting for running jobs\nEXTEND_TIMEOUT_USEC=" +
         std::to_string(std::chrono::microseconds(longest).count()));
}

void alive() {
  notify("WATCHDOG=1");
}

std::optional<milliseconds> watchdog_interval() {
  std::uint64_t interval_us = 0;
  if (::sd_watchdog_enabled(0, &interval_us) <= 0) return std::nullopt;
  return std::chrono::duration_cast<milliseconds>(std::chrono::microseconds(interval_us));
}

}  // namespace celld::service_manager
