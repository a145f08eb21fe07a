// What a service manager such as systemd hands celld and is told by it. Without one there is
// nothing to take, and nobody is told anything.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>

namespace celld::service_manager {

using std::chrono::milliseconds;

/// A TCP socket that listens already; its descriptor is not inherited any further.
struct ListeningSocket {
  int descriptor = -1;
  std::string address;  ///< HOST:PORT, as configurations have it.
};

using TakenSocket = std::variant<std::optional<ListeningSocket>, std::string>;

/// The socket that LISTEN_FDS announces, if any, or what is wrong with it. Takes the announcement
/// out of the environment: before there are threads, and once.
TakenSocket take_socket();

/// celld serves; after a reload, too. `status` is for people.
void ready(const std::string& status);
/// From now on, until `ready`, the configuration is read again.
void reloading();
/// celld ends, and may take so long for it.
void stopping(milliseconds longest);
/// To be called at least once per watchdog_interval, as long as all is well.
void alive();
/// Nothing when nobody watches.
std::optional<milliseconds> watchdog_interval();

}  // namespace celld::service_manager
