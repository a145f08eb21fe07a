// `cellctl service …`
#include "src/cli/commands.hpp"
#include "src/cli/members.hpp"
#include "src/cli/pages.hpp"
#include "src/cli/service_view.hpp"

namespace celld::cli {
namespace {

ExitCode service_list(Session& session, const Arguments& arguments) {
  return show(session, arguments, [&] {
    const Answer answer = session.ask({.path = "/v1/services"});
    if (session.json()) return View{.text = json_line(session, answer.body)};
    ServiceTable table;
    const json::Value document = document_of(answer);
    for (const json::Value& service : elements_at(document, {"items"})) table.add(service);
    return View{.text = table.text(session.out().look())};
  });
}

}  // namespace

void add_service_verbs(Commands& commands) {
  CLI::App& verb =
      commands.add("service", "list",
                   {"list services", "Shows the calls in flight and the calls ended per second.",
                    "cellctl service list --watch"},
                   service_list);
  add_watch(verb);
}

}  // namespace celld::cli
