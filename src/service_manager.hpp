// Socket activation and notifications, for a service manager such as systemd. Without one,
// take_socket() finds nothing and notifications have no effect.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>

namespace celld::service_manager {

using std::chrono::milliseconds;

/// A listening TCP socket. Child processes do not inherit its descriptor.
struct ListeningSocket {
  int descriptor = -1;
  std::string address;  ///< HOST:PORT, as in a configuration.
};

using TakenSocket = std::variant<std::optional<ListeningSocket>, std::string>;

/// The socket announced by LISTEN_FDS, if any, or what is wrong with it. Removes the announcement
/// from the environment: call once, before there are threads.
TakenSocket take_socket();

/// Reports that celld serves, at the start and after a reload. `status` is human-readable.
void ready(const std::string& status);
/// Reports a reload, which lasts until ready().
void reloading();
/// Reports the shutdown, which may take this long.
void stopping(milliseconds longest);
/// Feeds the watchdog. Call at least once per watchdog_interval(), while celld is healthy.
void alive();
/// Nothing without a watchdog.
std::optional<milliseconds> watchdog_interval();

}  // namespace celld::service_manager
