// What the parts of one server share. It outlives the server for as long as a Responder is kept.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "src/http/handler_pool.hpp"
#include "src/http/mailbox.hpp"
#include "src/http/routes.hpp"
#include "src/http/server.hpp"

namespace celld::http {

struct ServerState {
  ServerState(Limits server_limits, Refuse server_refuse)
      : limits(server_limits), refuse(std::move(server_refuse)) {}

  /// The answer that refuses a request; complete and safe whatever `refuse` does.
  Response refusal(int status, std::string detail, std::string allow = {}) const;

  const Limits limits;
  const Refuse refuse;
  Routes routes;
  Mailbox mailbox;
  std::atomic<bool> draining{false};  ///< Every answer from now on closes its connection.
  HandlerPool pool;
};

}  // namespace celld::http
