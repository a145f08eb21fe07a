#include "tests/unit/src/providers/http/look_ups.hpp"

#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string_view>

namespace celld::test {
namespace {

using LookUp = decltype(&::getaddrinfo);
constexpr std::chrono::seconds patience{20};

std::mutex current_mutex;
std::shared_ptr<LookUps::State> current;

std::shared_ptr<LookUps::State> current_state() {
  const std::lock_guard lock(current_mutex);
  return current;
}

/// The C library's own.
LookUp real() {
  static const auto look_up = reinterpret_cast<LookUp>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return look_up;
}

int answer(LookUps::State& state, const std::string& name, const char* service,
           const addrinfo* hints, addrinfo** found) {
  std::unique_lock lock(state.mutex);
  ++state.begun[name];
  state.changed.notify_all();
  if (!state.answers.contains(name)) return EAI_NONAME;
  if (state.answers[name] == LookUps::Answer::silent) {
    const auto woken = state.woken;
    state.changed.wait(lock, [&] { return state.over || state.woken != woken; });
    if (state.over) return EAI_AGAIN;
  }
  const char* first = "::1";
  switch (state.answers[name]) {
    case LookUps::Answer::failed:
    case LookUps::Answer::silent:
      return EAI_AGAIN;
    case LookUps::Answer::shortage:
      errno = EMFILE;
      return EAI_SYSTEM;
    case LookUps::Answer::loopback:
      return real()("127.0.0.1", service, hints, found);
    case LookUps::Answer::scoped:
      first = "fe80::1%1";
      break;
    case LookUps::Answer::both:
      break;
  }
  addrinfo* last = nullptr;
  if (const int code = real()("127.0.0.1", service, hints, &last); code != 0) return code;
  const int code = real()(first, service, hints, found);
  if (code != 0) {
    ::freeaddrinfo(last);
    return code;
  }
  (*found)->ai_next = last;
  return 0;
}

}  // namespace

LookUps::LookUps() : state_(std::make_shared<State>()) {
  const std::lock_guard lock(current_mutex);
  current = state_;
}

LookUps::~LookUps() {
  {
    const std::lock_guard lock(current_mutex);
    current.reset();
  }
  const std::lock_guard lock(state_->mutex);
  state_->over = true;
  state_->changed.notify_all();
}

void LookUps::set(const std::string& name, Answer answer) {
  const std::lock_guard lock(state_->mutex);
  state_->answers[name] = answer;
}

void LookUps::wake() {
  const std::lock_guard lock(state_->mutex);
  ++state_->woken;
  state_->changed.notify_all();
}

std::size_t LookUps::begun(const std::string& name) const {
  const std::lock_guard lock(state_->mutex);
  return state_->begun[name];
}

bool LookUps::await_begun(const std::string& name, std::size_t count) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, patience, [&] { return state_->begun[name] >= count; });
}

}  // namespace celld::test

/// Replaces the C library's function for this program.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  const auto state = celld::test::current_state();
  if (state && name != nullptr && std::string_view(name).ends_with(".invalid")) {
    return celld::test::answer(*state, name, service, hints, found);
  }
  return celld::test::real()(name, service, hints, found);
}
