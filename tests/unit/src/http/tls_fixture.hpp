// A running TLS server, with the means to change its certificate.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "tests/unit/catch.hpp"
#include "tests/unit/src/http/fixture.hpp"
#include "tests/unit/src/http/tls_client.hpp"

namespace celld::http::test {

inline std::shared_ptr<const TlsContext> loaded(const TlsSettings& settings) {
  auto context = TlsContext::load(settings);
  if (auto* fault = std::get_if<std::string>(&context)) FAIL(*fault);
  return std::get<std::shared_ptr<TlsContext>>(context);
}

/// Counts the bytes of the body, and answers with the number.
class CountingSink : public BodySink {
 public:
  explicit CountingSink(Responder responder) : responder_(std::move(responder)) {}
  bool on_data(std::string_view piece) override {
    bytes_ += piece.size();
    return true;
  }
  void on_end() override { responder_.answer(plain(200, std::to_string(bytes_))); }
  void on_abort() override {}

 private:
  Responder responder_;
  std::size_t bytes_ = 0;
};

/// A TLS server with a certificate for "first", its CA, and the files of other certificates.
struct TlsServer : TestServer {
  explicit TlsServer(Limits limits = {}, bool client_certificates = false) : TestServer(limits) {
    server.use_tls(loaded(settings("first", client_certificates)));
    server.handle("GET", "/events", [this](const Request&, const Responder& responder) {
      streams.put(responder.begin_stream(Response{200, "text/event-stream", "first", {}}, options));
    });
    server.handle("GET", "/large", [this](const Request&, const Responder& responder) {
      responder.answer(plain(200, large));
    });
    server.handle_stream("POST", "/count",
                         [](const Request&, Responder responder, const std::shared_ptr<BodyFlow>&) {
                           return std::make_unique<CountingSink>(std::move(responder));
                         });
    start();
  }
  ~TlsServer() { server.stop(milliseconds(0)); }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  TlsSettings settings(const std::string& name, bool client_certificates) const {
    auto made = files.settings_of(name, make_identity(name, authority));
    if (client_certificates) {
      made.client_ca_path = files.write_certificate("clients.crt", client_authority);
    }
    return made;
  }

  /// A client that has completed its handshake.
  std::unique_ptr<TlsClient> connect_tls(TlsClientOptions client_options = {}) const {
    client_options.authority = &authority;
    auto client = std::make_unique<TlsClient>(port, client_options);
    const bool agreed = client->shake_hands();
    INFO(client->fault());
    REQUIRE(agreed);
    return client;
  }

  PemFiles files;
  Identity authority = make_authority("the authority");
  Identity client_authority = make_authority("the clients' authority");
  StreamOptions options;
  std::string large;
  Events<AnswerStream> streams;
};

/// Whether an ordinary request gets its usual answer.
inline bool serves(Client& client) {
  if (!client.send(request_text("GET", "/hello"))) return false;
  const auto answer = client.receive();
  return answer && answer->body == "hello";
}

}  // namespace celld::http::test
