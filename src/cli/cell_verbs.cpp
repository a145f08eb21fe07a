// `cellctl cell …`
#include <string>

#include "src/cli/cell_view.hpp"
#include "src/cli/commands.hpp"
#include "src/cli/members.hpp"
#include "src/cli/pages.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {

std::string cell_path(const std::string& prefix, const std::string& cell) {
  const std::size_t slash = cell.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == cell.size())
    throw usage_failure("'" + cleaned(cell) +
                        "' is not a cell: write CUSTOMER/PRODUCT, "
                        "with * for any, such as acme/dns or '*/*'");
  return prefix + url_encoded(cell.substr(0, slash)) + "/" + url_encoded(cell.substr(slash + 1));
}

namespace {

std::string admin_path(const std::string& cell) {
  return cell_path("/v1/admin/cells/", cell);
}

ExitCode change(Session& session, const Request& request) {
  const Answer answer = session.ask(request, "customer");
  if (session.json()) {
    session.out().print_json(answer.body);
  } else {
    session.out().print(cell_sentence(document_of(answer)) + "\n");
  }
  return ExitCode::ok;
}

ExitCode cell_list(Session& session, const Arguments& arguments) {
  return show_unfiltered<CellTable>(session, arguments, "cells");
}

ExitCode cell_get(Session& session, const Arguments& arguments) {
  return show(session, arguments, [&] {
    View view;
    CellTable table;
    view.code = for_each_word(arguments.words(), [&](const std::string& cell) {
      const Answer answer = session.ask({.path = cell_path("/v1/cells/", cell)}, "customer");
      if (session.json()) {
        view.text += json_line(session, answer.body);
      } else {
        table.add(document_of(answer));
      }
      return ExitCode::ok;
    });
    if (!session.json()) view.text = table.text(session.out().look());
    return view;
  });
}

std::int64_t number_of(const std::string& argument, const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 9)
    throw usage_failure(argument + " must be a whole number of at most 9 digits");
  return std::stoll(text);
}

ExitCode cell_resize(Session& session, const Arguments& arguments) {
  const auto words = arguments.words();
  json::Value pool = json::Value::object();
  if (words.size() > 1) pool["size"] = number_of("SIZE", words[1]);
  if (const auto burst = arguments.text("--burst")) pool["burst"] = number_of("--burst", *burst);
  if (const auto weight = arguments.text("--weight"))
    pool["weight"] = number_of("--weight", *weight);
  const bool reset = arguments.has("--reset");
  if (reset != pool.empty()) {
    throw usage_failure(
        "cell resize needs a cell and either SIZE, --burst or --weight, or --reset");
  }
  const std::string path = admin_path(words.front()) + "/pool";
  if (reset) return change(session, {.method = "DELETE", .path = path});
  return change(session, {.method = "PUT", .path = path, .body = json::dump(pool)});
}

/// `name` is also the last segment of the path: celld takes the action without a body.
void add_cell_action(Commands& commands, const std::string& name, const std::string& summary) {
  const auto post = [name](Session& session, const Arguments& arguments) {
    return for_each_word(arguments.words(), [&](const std::string& cell) {
      return change(session, {.method = "POST", .path = admin_path(cell) + "/" + name});
    });
  };
  CLI::App& verb =
      commands.add("cell", name, {summary, "", "cellctl cell " + name + " acme/dns"}, post);
  add_words(verb, "CUSTOMER/PRODUCT", "the cells");
}

void add_cell_list(Commands& commands) {
  CLI::App& verb = commands.add("cell", "list",
                                {"list cells",
                                 "A * after the pool size marks an override. BORROWED: slots of "
                                 "other cells that\nthe cell uses. LENT: slots of its own that "
                                 "other cells use.",
                                 "cellctl cell list --watch 5s"},
                                cell_list);
  add_page_flags(verb);
}

void add_cell_get(Commands& commands) {
  CLI::App& verb = commands.add(
      "cell", "get",
      {"show cells", "* stands for any; quote it in the shell.", "cellctl cell get acme/dns '*/*'"},
      cell_get);
  add_words(verb, "CUSTOMER/PRODUCT", "the cells");
  add_watch(verb);
}

void add_cell_resize(Commands& commands) {
  CLI::App& verb = commands.add(
      "cell", "resize",
      {"change the pool of a cell", "Interrupts no job. The change survives a restart.",
       "cellctl cell resize acme/dns 12 --burst 32"},
      cell_resize);
  add_word(verb, "CUSTOMER/PRODUCT", "the cell")->required();
  add_word(verb, "SIZE", "how many jobs the cell can always run at once");
  add_value(verb, "--burst", "N",
            "how many jobs the cell may run while others leave their pools idle");
  add_value(verb, "--weight", "N", "the cell's weight when idle slots of other cells are divided");
  add_switch(verb, "--reset", "restore the configured pool");
}

}  // namespace

void add_cell_verbs(Commands& commands) {
  add_cell_list(commands);
  add_cell_get(commands);
  add_cell_resize(commands);
  add_cell_action(commands, "pause", "accept jobs but start none");
  add_cell_action(commands, "resume", "end a pause or a drain");
  add_cell_action(commands, "drain", "refuse new jobs and finish the others");
}

}  // namespace celld::cli
