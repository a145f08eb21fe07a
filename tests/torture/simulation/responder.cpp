// What a Responder is in the simulation: it takes the place of src/http/exchange.cpp.
#include "tests/torture/simulation/responder.hpp"

#include <utility>

namespace celld::http {

class Responder::Exchange {
 public:
  explicit Exchange(std::shared_ptr<simulation::HttpClient> client) : client_(std::move(client)) {}

  void answer(const Response& response) {
    const auto on_answer = std::exchange(client_->on_answer, nullptr);
    if (on_answer) on_answer(response);
  }
  bool is_connected() const { return client_->is_connected; }

 private:
  std::shared_ptr<simulation::HttpClient> client_;
};

void Responder::answer(Response response) const {
  exchange_->answer(response);
}

bool Responder::connected() const {
  return exchange_->is_connected();
}

bool Responder::open_both_ways() const {
  return connected();
}

}  // namespace celld::http

namespace simulation {

celld::http::Responder responder_for(std::shared_ptr<HttpClient> client) {
  using celld::http::Responder;
  return Responder{std::make_shared<Responder::Exchange>(std::move(client))};
}

}  // namespace simulation
