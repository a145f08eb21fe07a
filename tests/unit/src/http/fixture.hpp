// A running server with the endpoints that the tests use.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "src/http/server.hpp"
#include "tests/unit/src/http/client.hpp"

namespace celld::http::test {

/// A queue of values that one thread adds and another waits for.
template <typename T>
class Events {
 public:
  void put(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    changed_.notify_all();
  }

  /// The next value; nothing when none is added for half a minute.
  std::optional<T> take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(30), [&] { return !values_.empty(); })) {
      return std::nullopt;
    }
    auto value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return values_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> values_;
};

/// Whether `condition` becomes true within half a minute. For conditions without an event to wait
/// on.
inline bool eventually(const std::function<bool()>& condition) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > patience) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Reads what arrives, no faster than a mebibyte in each `pace`, until the connection ends or
/// `most` bytes have arrived. Returns their number.
inline std::size_t receive_slowly(Client& client, std::size_t most,
                                  std::chrono::milliseconds pace) {
  std::size_t taken = 0;
  while (taken < most) {
    const auto enough = std::min<std::size_t>(taken + (1 << 20), most);
    while (taken < enough) {
      const auto bytes = client.receive_bytes().size();
      if (bytes == 0) return taken;
      taken += bytes;
    }
    const auto due = std::chrono::steady_clock::now() + pace;
    eventually([&] { return std::chrono::steady_clock::now() >= due; });
  }
  return taken;
}

/// This process has both ends of a thousand connections, which the shell's limit may not allow.
inline void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= 4096) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 4096);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

inline Response plain(int status, std::string body) {
  return Response{status, "text/plain", std::move(body), {}};
}

class TestServer {
 public:
  explicit TestServer(Limits limits = {})
      : server(limits, [](int status, std::string detail, const std::string&) {
          return plain(status, std::move(detail));
        }) {
    allow_many_descriptors();
    server.handle("POST", "/echo", [](const Request& request, const Responder& responder) {
      responder.answer(plain(200, request.body));
    });
    server.handle("GET", "/hello", [](const Request&, const Responder& responder) {
      responder.answer(plain(200, "hello"));
    });
    server.handle("POST", "/parked", [this](const Request&, Responder responder) {
      parked.put(std::move(responder));
    });
    server.handle("GET", "/seen", [this](const Request& request, const Responder& responder) {
      seen.put(request);
      responder.answer(plain(200, "seen"));
    });
  }

  /// Call this once, after adding the test's own endpoints.
  void start() {
    port = server.bind("127.0.0.1", 0).first;
    server.start();
  }

  Client connect() const { return Client(port); }

  /// The answer to `bytes` on a connection of its own.
  std::optional<Answer> ask(std::string_view bytes) const {
    auto client = connect();
    return client.send(bytes) ? client.receive() : std::nullopt;
  }

  /// The responder of a request that this client sends now, and that the test answers.
  Responder park(Client& client) {
    if (!client.send(request_text("POST", "/parked"))) throw std::runtime_error("not sent");
    return parked.take().value();
  }

  // The server is destroyed first, because its handlers add values here.
  Events<Responder> parked;
  Events<Request> seen;
  std::uint16_t port = 0;
  Server server;
};

/// A running server with these endpoints only.
struct RunningServer : TestServer {
  explicit RunningServer(Limits limits = {}) : TestServer(limits) { start(); }
};

/// Destroyed after the server, whose handlers use it.
struct Holding {
  Events<bool> begun;
  Events<bool> released;
};

/// A server, to be started, whose POST /hold is answered once the test has put a value into
/// `released`. A large body makes its handler hold a handler thread.
struct HoldingServer : Holding, TestServer {
  explicit HoldingServer(Limits limits = {}) : TestServer(limits) {
    server.handle("POST", "/hold", [this](const Request&, const Responder& responder) {
      begun.put(true);
      released.take();
      responder.answer(plain(200, "held"));
    });
  }
};

/// Sends until the server has stopped reading, or `most` bytes have been sent. Returns their
/// number.
inline std::size_t send_until_held_back(const TestServer& server, Client& client,
                                        std::size_t most) {
  const std::string piece(64 << 10, 's');
  std::size_t sent = 0;
  for (int refusals = 0; refusals < 20 && sent < most;) {
    const auto part = client.send_some(std::string_view(piece).substr(0, most - sent));
    sent += part;
    refusals = part == 0 ? refusals + 1 : 0;
    // Meanwhile the poller reads what it wants.
    if (part == 0 && !server.ask(request_text("GET", "/hello"))) break;
  }
  return sent;
}

}  // namespace celld::http::test
