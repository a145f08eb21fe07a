#include "src/cli/signals.hpp"

#include <array>
#include <csignal>

namespace celld::cli {

void before_death(void (*handler)(int signal)) {
  constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const int signal : signals) ::sigaddset(&action.sa_mask, signal);
  for (const int signal : signals) {
    struct sigaction before{};
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
      ::sigaction(signal, &action, nullptr);
  }
}

void die_of(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace celld::cli
