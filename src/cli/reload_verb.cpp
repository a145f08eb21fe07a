// `cellctl reload`: makes celld reload its configuration file.
#include "src/cli/commands.hpp"
#include "src/cli/reload_view.hpp"
#include "src/cli/session.hpp"

namespace celld::cli {
namespace {

/// celld answers once the jobs of removed cells have moved.
constexpr milliseconds moving_time = std::chrono::minutes(10);

ExitCode reload(Session& session, const Arguments&) {
  const Answer answer = session.ask(
      {.method = "POST", .path = "/v1/admin/reload", .extra_time = moving_time}, "changed");
  if (session.json()) {
    session.out().print_json(answer.body);
  } else {
    session.out().print(reload_text(document_of(answer)));
  }
  return ExitCode::ok;
}

}  // namespace

void add_reload(Commands& commands) {
  commands.add(
      "", "reload",
      {"reload celld's configuration file",
       "Jobs continue to run. Prints what has changed, what an override masks, and what needs a\n"
       "restart. If the file has faults, prints all of them and changes nothing.\n"
       "Requires the scope `admin`.",
       "cellctl reload"},
      reload);
}

}  // namespace celld::cli
