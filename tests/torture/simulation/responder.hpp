// Answers of the HTTP API without a connection.
#pragma once

#include <functional>
#include <memory>

#include "src/http/server.hpp"

namespace simulation {

/// The client of a request.
struct HttpClient {
  std::function<void(const celld::http::Response&)> on_answer;  ///< Called at most once.
  bool is_connected = true;
};

/// The right to answer this client. If it goes unused, the client gets no answer.
celld::http::Responder responder_for(std::shared_ptr<HttpClient> client);

}  // namespace simulation
