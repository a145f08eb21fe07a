// What every verb works with: where celld is, where the output goes, and how it shall look.
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
  /// Made at the first use, from flags and environment. Throws a Failure when those are at fault.
  Client& client();

  /// The answer, when it is a 2xx; throws the Failure that it is otherwise.
  Answer ask(const Request& request);

 private:
  const Arguments& arguments_;
  const bool json_;
  Output out_;
  std::optional<Client> client_;
};

/// The document of an answer; throws a Failure when it is none.
json::Value document_of(const Answer& answer);

/// Waits, between two looks at something.
void rest(milliseconds duration);

/// Does it for each word, tells about those that fail, and returns the first failure's code. What
/// fails because celld does not answer ends the command.
ExitCode for_each_word(const std::vector<std::string>& words,
                       const std::function<ExitCode(const std::string& word)>& act);

/// Shows what `render` returns; with --watch again and again, until it says that nothing will
/// change any more.
struct View {
  std::string text{};
  bool final = false;
  ExitCode code = ExitCode::ok;
};
ExitCode show(Session& session, const Arguments& arguments, const std::function<View()>& render);

}  // namespace celld::cli
