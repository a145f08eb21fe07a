// Runs the handler of one complete request.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "src/http/body_room.hpp"
#include "src/http/exchange.hpp"
#include "src/http/handler_pool.hpp"
#include "src/http/server.hpp"

namespace celld::http {

class RequestTask : public Task {
 public:
  RequestTask(const ServerState& state, Request request, std::string match_path);

  /// The body, to be filled before the request is submitted.
  std::string& body() { return request_.body; }
  /// Keeps the room that the body takes until the task is destroyed.
  void hold_room(std::unique_ptr<BodyRoom::Share> room) { room_ = std::move(room); }
  void set_exchange(std::shared_ptr<Responder::Exchange> exchange);

  /// Finds the endpoint and calls its handler; answers 404, 405, and 500 for a handler that throws.
  void run() noexcept override;
  /// Handlers do not block, so only the length of the body counts.
  bool brief() const override { return request_.body.size() <= BodyRoom::small_bytes_max; }

 private:
  const ServerState& state_;
  std::unique_ptr<BodyRoom::Share> room_;
  Request request_;
  std::string match_path_;
  std::shared_ptr<Responder::Exchange> exchange_;
};

}  // namespace celld::http
