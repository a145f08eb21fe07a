// `cellctl reload`: makes celld reload its configuration file.
#include "src/cli/reload_view.hpp"
#include "src/cli/verbs_run.hpp"

namespace celld::cli {
namespace {

/// celld answers once the jobs of removed cells have moved.
constexpr milliseconds moving_time = std::chrono::minutes(10);

}  // namespace

ExitCode reload(Session& session, const Arguments&) {
  const Answer answer =
      session.ask({.method = "POST", .path = "/v1/admin/reload", .extra_time = moving_time});
  if (session.json()) {
    session.out().print_json(answer.body);
  } else {
    session.out().print(reload_text(document_of(answer)));
  }
  return ExitCode::ok;
}

}  // namespace celld::cli
