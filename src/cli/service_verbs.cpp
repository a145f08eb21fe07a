// `cellctl service …`
#include "src/cli/commands.hpp"
#include "src/cli/members.hpp"
#include "src/cli/pages.hpp"
#include "src/cli/service_view.hpp"
#include "src/cli/session.hpp"

namespace celld::cli {
namespace {

ExitCode service_list(Session& session, const Arguments& arguments) {
  return show_unfiltered<ServiceTable>(session, arguments, "services");
}

ExitCode service_show(Session& session, const Arguments& arguments) {
  return show(session, arguments, [&] {
    View view;
    view.code = for_each_word(arguments.words(), [&](const std::string& service) {
      const Answer answer =
          session.ask({.path = "/v1/services/" + url_encoded(service)}, "service");
      if (session.json()) {
        view.text += json_line(session, answer.body);
      } else {
        if (!view.text.empty()) view.text += "\n";
        view.text += service_details(document_of(answer), session.out().look());
      }
      return ExitCode::ok;
    });
    return view;
  });
}

ExitCode service_reset(Session& session, const Arguments& arguments) {
  return for_each_word(arguments.words(), [&](const std::string& service) {
    const Answer answer = session.ask(
        {.method = "POST", .path = "/v1/admin/services/" + url_encoded(service) + "/reset"},
        "service");
    if (session.json()) {
      session.out().print_json(answer.body);
    } else {
      session.out().print("service " + text_at(document_of(answer), {"service"}) +
                          ": calls may begin again\n");
    }
    return ExitCode::ok;
  });
}

void add_service_list(Commands& commands) {
  CLI::App& verb =
      commands.add("service", "list",
                   {"list services", "Shows the calls in flight and the calls ended per second.",
                    "cellctl service list --watch"},
                   service_list);
  add_page_flags(verb);
}

void add_service_show(Commands& commands) {
  CLI::App& verb = commands.add(
      "service", "show",
      {"show services", "Shows the limits of each service, and why its circuit is open.",
       "cellctl service show dns"},
      service_show);
  add_words(verb, "SERVICE", "the services");
  add_watch(verb);
}

void add_service_reset(Commands& commands) {
  CLI::App& verb = commands.add(
      "service", "reset",
      {"let calls to services begin again",
       "Closes the circuit of each service, and ends a pause that its provider asked for.",
       "cellctl service reset dns"},
      service_reset);
  add_words(verb, "SERVICE", "the services");
}

}  // namespace

void add_service_verbs(Commands& commands) {
  add_service_list(commands);
  add_service_show(commands);
  add_service_reset(commands);
}

}  // namespace celld::cli
