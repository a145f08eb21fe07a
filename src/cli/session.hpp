// The context of every verb: the connection to celld, the output and its format.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/arguments.hpp"
#include "src/cli/client.hpp"
#include "src/cli/output.hpp"
#include "src/json/json.hpp"

namespace celld::cli {

class Session {
 public:
  explicit Session(const Arguments& arguments)
      : arguments_(arguments), json_(arguments.has("--json")) {}

  bool json() const { return json_; }
  Output& out() { return out_; }
  /// From flags and environment. Throws a Failure when those are invalid.
  Connection connection() const;
  /// Connects on first use. Throws as `connection` does.
  Client& client();

  /// Sends the request. Returns a 2xx response whose document has this member; throws a Failure for
  /// any other.
  Answer ask(const Request& request, std::string_view member);

 private:
  const Arguments& arguments_;
  const bool json_;
  Output out_;
  std::optional<Client> client_;
};

/// The JSON document in a response; throws a Failure when the body is not JSON.
json::Value document_of(const Answer& answer);

/// Sleeps between two attempts or refreshes.
void rest(milliseconds duration);

/// Between two requests of a command that watches, whatever its user asks for.
inline constexpr milliseconds watch_interval_min{100};

/// Calls `act` for each word, reports failures, and returns the code of the first. A failure that
/// would recur for every word (celld unavailable, output not writable) ends the command.
ExitCode for_each_word(const std::vector<std::string>& words,
                       const std::function<ExitCode(const std::string& word)>& act);

/// Prints what `render` returns; with --watch repeatedly, until the view is final.
struct View {
  std::string text{};
  bool final = false;
  ExitCode code = ExitCode::ok;
};
ExitCode show(Session& session, const Arguments& arguments, const std::function<View()>& render);

}  // namespace celld::cli
