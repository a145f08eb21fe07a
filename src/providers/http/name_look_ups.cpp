#include "src/providers/http/name_look_ups.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "src/providers/shortage.hpp"
#include "src/providers/signal_free_thread.hpp"

namespace celld::providers {
namespace {

HostAddresses failure(int code, int error) {
  HostAddresses result;
  if (code == EAI_NONAME || code == EAI_NODATA) result.end = HostAddresses::End::unknown;
  if (code == EAI_MEMORY) result.shortage = ENOMEM;
  if (code == EAI_SYSTEM && is_shortage(error)) result.shortage = error;
  return result;
}

/// An address of version 6 that is valid on one link only, which libcurl cannot be told.
bool is_scoped(const addrinfo& address) {
  return address.ai_family == AF_INET6 &&
         reinterpret_cast<const sockaddr_in6*>(address.ai_addr)->sin6_scope_id != 0;
}

HostAddresses look_up(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (code != 0) return failure(code, errno);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  HostAddresses found;
  found.end = HostAddresses::End::unknown;
  for (const auto* each = list; each != nullptr; each = each->ai_next) {
    if (is_scoped(*each)) continue;
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      found.end = HostAddresses::End::found;
      found.addresses.emplace_back(text.data());
    }
  }
  return found;
}

}  // namespace

struct NameLookUps::State {
  explicit State(Ended on_end) : ended(std::move(on_end)) {}

  const Ended ended;
  std::mutex mutex;
  std::deque<std::string> waiting;
  std::size_t threads = 0;
};

NameLookUps::NameLookUps(Ended ended) : state_(std::make_shared<State>(std::move(ended))) {}

NameLookUps::~NameLookUps() {
  const std::lock_guard lock(state_->mutex);
  state_->waiting.clear();
}

void NameLookUps::start(const std::string& name) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.push_back(name);
    if (state_->threads == threads_max) return;
    try {
      start_without_signals([state = state_] { run(state); }).detach();
      ++state_->threads;
      return;
    } catch (const std::system_error&) {
      if (state_->threads > 0) return;  // Another thread will take it.
      state_->waiting.pop_back();
    }
  }
  state_->ended(name, failure(EAI_SYSTEM, EAGAIN));
}

void NameLookUps::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (!state->waiting.empty()) {
    const auto name = std::move(state->waiting.front());
    state->waiting.pop_front();
    lock.unlock();
    state->ended(name, look_up(name));
    lock.lock();
  }
  --state->threads;
}

}  // namespace celld::providers
