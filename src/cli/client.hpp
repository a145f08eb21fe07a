// An HTTP client for celld, built on cpp-httplib. It sends one request at a time.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/failure.hpp"
#include "src/cli/time_words.hpp"
#include "src/cli/upload_body.hpp"
#include "src/cli/url.hpp"

namespace httplib {
class ClientImpl;
}
struct ssl_st;

namespace celld::cli {

/// celld's address, and the credentials to present.
struct Connection {
  std::string url = "http://127.0.0.1:8080";  ///< http or https; its path prefixes all others.
  std::string token;                          ///< Empty: none is sent.
  std::string ca_path;           ///< PEM: the trusted authorities. Empty: the system's.
  std::string certificate_path;  ///< PEM: the client certificate. Empty: none.
  std::string key_path;          ///< PEM: its private key. Empty: in `certificate_path`.
  milliseconds timeout{30'000};  ///< For one request, from connecting to the last byte.
};

struct Request {
  std::string method = "GET";
  std::string path;  ///< Including the query.
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  milliseconds extra_time{0};  ///< How long celld may hold the response; extends the timeout.
  std::stop_token stop{};      ///< A stop ends the request as its timeout does.
};

struct Answer {
  int status = 0;
  std::string content_type;
  std::string body;
  std::optional<std::chrono::seconds> retry_after;
  std::string repr_digest;  ///< Of the body, in the format of RFC 9530; empty: not sent.
  bool replayed = false;    ///< The idempotency key belongs to an earlier submission.

  bool succeeded() const { return status >= 200 && status < 300; }
};

/// No complete response arrived.
class NoAnswer : public Failure {
 public:
  NoAnswer(const std::string& text, bool may_pass)
      : Failure(ExitCode::unavailable, text), may_pass_(may_pass) {}
  /// Whether the failure may be temporary, so that the same request may succeed later.
  bool may_pass() const { return may_pass_; }

 private:
  bool may_pass_;
};

/// Receives the next bytes of a stream; returns false to stop the stream.
using OnData = std::function<bool(std::string_view data)>;

class Client {
 public:
  /// Throws a Failure when `connection` is invalid or names an unusable certificate.
  explicit Client(Connection connection);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const std::string& url() const { return connection_.url; }

  /// Throws NoAnswer.
  Answer send(const Request& request);

  /// Sends a body of any length as it comes, in place of `request.body`. If celld answers before
  /// the end of the body, the rest is not sent. The timeout restarts with each piece that celld
  /// takes, and with each pause of the body. `on_turn` is called before each piece, during pauses,
  /// and while celld takes nothing or prepares its answer. Throws NoAnswer, and what `body` throws.
  Answer upload(const Request& request, UploadBody& body, const std::function<void()>& on_turn);

  /// Passes the body of a 200 to `on_data` as it arrives, until the body ends, `deadline` passes,
  /// or `on_data` returns false. Returns any other response whole. Throws NoAnswer, also when celld
  /// stops sending.
  Answer stream(const Request& request,
                std::optional<std::chrono::steady_clock::time_point> deadline,
                const OnData& on_data);

 private:
  class Transfer;

  /// The socket of a connection and its TLS state, which cpp-httplib does not expose.
  struct Wire {
    int descriptor = -1;
    ssl_st* tls = nullptr;  ///< Null: not encrypted.
  };

  const Connection connection_;
  const Url url_;
  const std::optional<Proxy> proxy_;
  Wire wire_;  ///< Of the newest connection.
  /// Keeps its connection open for the next request.
  std::unique_ptr<httplib::ClientImpl> http_;
  std::chrono::steady_clock::time_point used_at_;
};

/// `text`, percent-encoded as a path segment or a query component.
std::string url_encoded(std::string_view text);

/// "?a=b&c=d"; empty without parameters.
std::string query_of(const std::vector<std::pair<std::string, std::string>>& parameters);

}  // namespace celld::cli
