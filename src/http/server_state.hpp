// State shared by the parts of one server. It outlives the server while a Responder exists.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "src/http/body_room.hpp"
#include "src/http/endpoints.hpp"
#include "src/http/handler_pool.hpp"
#include "src/http/mailbox.hpp"
#include "src/http/server.hpp"
#include "src/http/server_observer.hpp"
#include "src/http/tls.hpp"

namespace celld::http {

struct ServerState {
  ServerState(Limits server_limits, Refuse server_refuse)
      : limits(server_limits),
        refuse(std::move(server_refuse)),
        body_room(limits.body_bytes_max, mailbox) {}

  /// The answer that refuses a request; complete even if `refuse` throws.
  Response refusal(int status, std::string detail, std::string allow = {}) const;

  /// Sets the TLS context of connections accepted from now on; null: no TLS. Thread-safe.
  void use_tls(std::shared_ptr<const TlsContext> context);
  std::shared_ptr<const TlsContext> tls() const;

  const Limits limits;
  const Refuse refuse;
  std::shared_ptr<ServerObserver> observer = std::make_shared<ServerObserver>();
  Endpoints endpoints;
  Mailbox mailbox;
  BodyRoom body_room;
  std::atomic<std::size_t> streams{0};     ///< Open AnswerStreams.
  std::atomic<bool> shutting_down{false};  ///< Every answer from now on closes its connection.
  HandlerPool pool;

 private:
  std::atomic<bool> tls_used_{false};
  mutable std::mutex tls_mutex_;
  std::shared_ptr<const TlsContext> tls_;
};

}  // namespace celld::http
