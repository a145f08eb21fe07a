// celld over HTTP: one request at a time, by libcurl.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/failure.hpp"
#include "src/cli/time_words.hpp"

namespace celld::cli {

/// Where celld is, and how it knows us.
struct Connection {
  std::string url = "http://127.0.0.1:8080";  ///< http or https; a path goes in front of all paths.
  std::string token;                          ///< Empty: none is shown.
  std::string ca_path;           ///< PEM, instead of the system's authorities. Empty: those.
  std::string certificate_path;  ///< PEM, our own; empty: none.
  std::string key_path;          ///< PEM, of our own certificate; empty: it is in the same file.
  milliseconds timeout{30'000};  ///< For one answer, from the first packet to the last.
};

struct Request {
  std::string method = "GET";
  std::string path;  ///< With its query.
  std::string body{};
  std::vector<std::string> headers{};  ///< "Name: value"
  milliseconds extra_time{0};          ///< What celld was asked to hold the answer for.
};

struct Answer {
  int status = 0;
  std::string content_type;
  std::string body;
  std::optional<std::chrono::seconds> retry_after;
  std::string repr_digest;  ///< Of the body, as RFC 9530 writes it; empty: not told.
  bool replayed = false;    ///< The job of an idempotency key that was there before.

  bool succeeded() const { return status >= 200 && status < 300; }
};

/// There was no answer.
class NoAnswer : public Failure {
 public:
  NoAnswer(const std::string& text, bool may_pass)
      : Failure(ExitCode::unavailable, text), may_pass_(may_pass) {}
  /// True when the same request may be answered a moment later.
  bool may_pass() const { return may_pass_; }

 private:
  bool may_pass_;
};

/// Takes the next bytes of a stream; false: enough was read.
using OnData = std::function<bool(std::string_view data)>;

class Client {
 public:
  /// Throws a Failure when the connection is described wrongly.
  explicit Client(Connection connection);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const std::string& url() const { return connection_.url; }

  /// Throws NoAnswer.
  Answer send(const Request& request);

  /// Hands the body of a 200 over as it comes, until its end, `deadline`, or `on_data` has enough;
  /// any other answer is returned whole. Throws NoAnswer, also when celld falls silent.
  Answer stream(const Request& request,
                std::optional<std::chrono::steady_clock::time_point> deadline,
                const OnData& on_data);

 private:
  class Transfer;

  Connection connection_;
  std::shared_ptr<void> easy_;  ///< Keeps its connection for the next request.
};

/// `text` as a part of a path, or of a query.
std::string url_encoded(std::string_view text);

/// "?a=b&c=d", or an empty text.
std::string query_of(const std::vector<std::pair<std::string, std::string>>& parameters);

}  // namespace celld::cli
