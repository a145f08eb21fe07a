#include "src/cli/follow.hpp"

#include <algorithm>

#include "src/cli/problem.hpp"

namespace celld::cli {
namespace {

using std::chrono::steady_clock;

constexpr int attempts_max = 10;
constexpr milliseconds pause_first{500};
constexpr milliseconds pause_max{10'000};

class Follower {
 public:
  Follower(Session& session, const std::string& path, const Deadline& deadline,
           const OnEvent& on_event)
      : session_(session), path_(path), deadline_(deadline), on_event_(on_event) {}

  FollowEnd run() {
    for (;;) {
      try {
        const Answer answer = connect();
        if (enough_) return FollowEnd::enough;
        if (is_over() && (answer.status == 200 || answer.status == 0)) return FollowEnd::deadline;
        if (answer.status == 204) return FollowEnd::nothing_more;
        if (answer.status != 200) {
          Failure failure = failure_of(answer);
          if (failure.code() != ExitCode::unavailable) throw Failure(failure);
          wait(failure);
        } else {
          wait({ExitCode::unavailable, "celld closed the stream"});
        }
      } catch (const NoAnswer& failure) {
        if (!failure.may_pass()) throw;
        wait(failure);
      }
      if (is_over()) return FollowEnd::deadline;
    }
  }

 private:
  Answer connect() {
    EventStreamParser parser;
    Request request{.path = path_};
    if (!last_id_.empty()) request.headers.emplace_back("Last-Event-ID", last_id_);
    return session_.client().stream(request, deadline_, [&](std::string_view bytes) {
      connected_ = true;
      failures_ = 0;
      parser.feed(bytes, [&](const Event& event) {
        enough_ = !on_event_(event);
        return !enough_;
      });
      if (!parser.last_id().empty()) last_id_ = parser.last_id();
      return !enough_;
    });
  }

  /// Pauses before the next attempt; throws `failure` when there is none.
  void wait(const Failure& failure) {
    if (!connected_ || failures_ >= attempts_max) throw Failure(failure);
    milliseconds pause = std::min(pause_first * (1 << std::min(failures_, 8)), pause_max);
    if (deadline_) {
      const auto left = std::chrono::ceil<milliseconds>(*deadline_ - steady_clock::now());
      pause = std::clamp(left, milliseconds(0), pause);
    }
    ++failures_;
    print_message(std::string(failure.what()) + "; reconnecting in " + duration_text(pause));
    rest(pause);
  }

  bool is_over() const { return deadline_ && steady_clock::now() >= *deadline_; }

  Session& session_;
  const std::string& path_;
  const Deadline deadline_;
  const OnEvent& on_event_;
  std::string last_id_;
  bool enough_ = false;
  bool connected_ = false;
  int failures_ = 0;  ///< In a row, since the last data.
};

}  // namespace

FollowEnd follow(Session& session, const std::string& path, const Deadline& deadline,
                 const OnEvent& on_event) {
  return Follower(session, path, deadline, on_event).run();
}

}  // namespace celld::cli
