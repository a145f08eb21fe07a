#include "src/cli/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <thread>

#include "src/cli/input.hpp"
#include "src/cli/members.hpp"
#include "src/cli/problem.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

constexpr milliseconds watch_interval{2000};
constexpr std::size_t token_bytes_max = 4096;

/// There is no flag for the token itself: every user of the machine can read command lines.
std::string read_token(const Arguments& arguments) {
  const auto path = arguments.text("--token-file");
  if (!path) {
    const char* token = std::getenv("CELLD_TOKEN");
    return token == nullptr ? "" : token;
  }
  std::string token = read_input(*path, token_bytes_max);
  const auto last = token.find_last_not_of(" \t\r\n");
  token.resize(last == std::string::npos ? 0 : last + 1);
  if (token.empty()) throw usage_failure(cleaned(*path) + " contains no token");
  if (token.find('\n') != std::string::npos) {
    throw usage_failure(cleaned(*path) + " has several lines; it must contain the token alone");
  }
  return token;
}

/// The value of a flag that names a file; empty: none.
std::string read_path(const Arguments& arguments, const char* flag) {
  std::string path = arguments.text(flag).value_or("");
  if (!path.empty() && ::access(path.c_str(), R_OK) != 0) {
    throw usage_failure(std::string(flag) + " or its variable: cannot read " + cleaned(path) +
                        ": " + std::generic_category().message(errno));
  }
  return path;
}

Connection read_connection(const Arguments& arguments) {
  Connection connection;
  if (const auto url = arguments.text("--url").value_or(""); !url.empty()) connection.url = url;
  connection.token = read_token(arguments);
  connection.ca_path = read_path(arguments, "--cacert");
  connection.certificate_path = read_path(arguments, "--client-cert");
  connection.key_path = read_path(arguments, "--client-key");
  if (connection.certificate_path.empty() && !connection.key_path.empty())
    throw usage_failure("--client-key needs --client-cert");
  if (const auto timeout = arguments.duration("--request-timeout")) connection.timeout = *timeout;
  if (connection.timeout < milliseconds(1))
    throw usage_failure("--request-timeout must be at least 1ms");
  return connection;
}

/// Repaints tables. JSON is for programs and is appended.
void paint(Session& session, const std::string& text) {
  if (session.json()) {
    session.out().print(text);
  } else {
    session.out().repaint(text);
  }
}

void report_while_watching(Session& session, const Failure& failure) {
  const std::size_t width = session.out().look().width;
  if (session.json() || width == 0) return print_message(failure.what());
  const std::string_view text = failure.what();
  session.out().repaint(fitted(text.substr(0, text.find('\n')), width) + "\n");
}

}  // namespace

Connection Session::connection() const {
  return read_connection(arguments_);
}

Client& Session::client() {
  if (!client_) client_.emplace(connection());
  return *client_;
}

Answer Session::ask(const Request& request, std::string_view member) {
  Answer answer = client().send(request);
  if (!answer.succeeded()) throw failure_of(answer);
  check_member(answer, member);
  return answer;
}

json::Value document_of(const Answer& answer) {
  auto document = parse_answer(answer.body);
  if (!document) throw failure_of(answer);
  return std::move(*document);
}

void rest(milliseconds duration) {
  std::this_thread::sleep_for(duration);
}

ExitCode for_each_word(const std::vector<std::string>& words,
                       const std::function<ExitCode(const std::string& word)>& act) {
  ExitCode code = ExitCode::ok;
  for (const std::string& word : words) {
    ExitCode its_code = ExitCode::ok;
    try {
      its_code = act(word);
    } catch (const Failure& failure) {
      const bool of_this_word =
          failure.code() != ExitCode::unavailable && failure.code() != ExitCode::output_failed;
      if (!of_this_word || words.size() == 1) throw;
      print_message(cleaned(word) + ": " + failure.what());
      its_code = failure.code();
    }
    if (code == ExitCode::ok) code = its_code;
  }
  return code;
}

ExitCode show(Session& session, const Arguments& arguments, const std::function<View()>& render) {
  if (!arguments.has("--watch")) {
    const View view = render();
    session.out().print(view.text);
    return view.code;
  }
  const milliseconds interval =
      std::max(arguments.duration("--watch").value_or(watch_interval), watch_interval_min);
  bool seen = false;
  for (;;) {
    try {
      const View view = render();
      paint(session, view.text);
      seen = true;
      if (view.final) return view.code;
    } catch (const Failure& failure) {
      // A failure before the first success is probably a mistake; a later one may pass.
      if (!seen || failure.code() != ExitCode::unavailable) throw;
      report_while_watching(session, failure);
    }
    rest(interval);
  }
}

}  // namespace celld::cli
