// `cellctl service …`
#include "src/cli/members.hpp"
#include "src/cli/pages.hpp"
#include "src/cli/service_view.hpp"
#include "src/cli/verbs_run.hpp"

namespace celld::cli {

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

}  // namespace celld::cli
