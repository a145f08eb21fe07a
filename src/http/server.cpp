#include "src/http/server.hpp"

#include <utility>

#include "src/http/poller.hpp"
#include "src/http/server_state.hpp"

namespace celld::http {

std::optional<std::string> Request::header(std::string_view name) const {
  std::optional<std::string> joined;
  for (const auto& [field, value] : headers) {
    if (field != name) continue;
    if (joined) {
      joined->append(", ").append(value);
    } else {
      joined = value;
    }
  }
  return joined;
}

class Server::Impl {
 public:
  Impl(Limits limits, Refuse refuse)
      : state(std::make_shared<ServerState>(limits, std::move(refuse))), poller(state) {}

  ~Impl() {
    poller.stop(milliseconds(0));
    // Notifies the sinks of the connections just closed, before the handlers are destroyed.
    state->pool.finish();
    state->endpoints.clear();
  }

  const std::shared_ptr<ServerState> state;
  Poller poller;
};

Server::Server(Limits limits, Refuse refuse)
    : impl_(std::make_unique<Impl>(limits, std::move(refuse))) {}
Server::~Server() = default;

void Server::handle(std::string method, std::string pattern, Handler handler) {
  impl_->state->endpoints.add(std::move(method), std::move(pattern), std::move(handler));
}

void Server::handle_stream(std::string method, std::string path, StreamHandler handler) {
  impl_->state->endpoints.add_stream(std::move(method), std::move(path), std::move(handler));
}

std::pair<std::uint16_t, std::string> Server::bind(const std::string& host, std::uint16_t port) {
  auto listening = listen_on(host, port);
  if (listening.error.empty()) impl_->poller.listen(std::move(listening.socket));
  return {listening.port, std::move(listening.error)};
}

std::pair<std::uint16_t, std::string> Server::adopt(int listening_socket) {
  auto listening = http::adopt(FileDescriptor(listening_socket));
  if (listening.error.empty()) impl_->poller.listen(std::move(listening.socket));
  return {listening.port, std::move(listening.error)};
}

void Server::use_tls(std::shared_ptr<const TlsContext> context) {
  impl_->state->use_tls(std::move(context));
}

void Server::observe(std::shared_ptr<ServerObserver> observer) {
  impl_->state->observer = std::move(observer);
}

void Server::start() {
  impl_->state->endpoints.complete();
  impl_->state->observer->serves(impl_->state->endpoints.endpoints());
  impl_->state->pool.start(impl_->state->limits.threads);
  impl_->poller.start();
}

void Server::stop(milliseconds grace) {
  impl_->poller.stop(grace);
}

void Server::hand_over(milliseconds grace) {
  impl_->poller.hand_over(grace);
}

bool Server::responds(milliseconds within) {
  return impl_->poller.responds(within);
}

std::size_t Server::connections() const {
  return impl_->poller.connections();
}

std::size_t Server::streams() const {
  return impl_->state->streams.load(std::memory_order_relaxed);
}

}  // namespace celld::http
