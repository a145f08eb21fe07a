// `cellctl batch …`
#include <algorithm>
#include <string>

#include "src/cli/batch_view.hpp"
#include "src/cli/commands.hpp"
#include "src/cli/members.hpp"
#include "src/cli/pages.hpp"
#include "src/cli/session.hpp"

namespace celld::cli {
namespace {

constexpr milliseconds watch_interval{1000};

std::string path_of(const std::string& id) {
  return "/v1/batches/" + url_encoded(id);
}

ExitCode batch_list(Session& session, const Arguments& arguments) {
  return show_unfiltered<BatchTable>(session, arguments, "batches");
}

ExitCode batch_show(Session& session, const Arguments& arguments) {
  View view;
  BatchTable table;
  view.code = for_each_word(arguments.words(), [&](const std::string& id) {
    const Answer answer = session.ask({.path = path_of(id)}, "id");
    if (session.json()) {
      view.text += json_line(session, answer.body);
    } else {
      table.add(document_of(answer));
    }
    return ExitCode::ok;
  });
  session.out().print(session.json() ? view.text : table.text(session.out().look()));
  return view.code;
}

/// A temporary failure, such as a restart of celld, does not end the command.
ExitCode batch_watch(Session& session, const Arguments& arguments) {
  const std::string id = arguments.words().front();
  const auto interval =
      std::max(arguments.duration("--interval").value_or(watch_interval), watch_interval_min);
  bool seen = false;
  for (;; rest(interval)) {
    try {
      const Answer answer = session.ask({.path = path_of(id)}, "id");
      const json::Value batch = document_of(answer);
      seen = true;
      if (session.json()) {
        session.out().print_json(answer.body);
      } else {
        BatchTable table;
        table.add(batch);
        session.out().repaint(table.text(session.out().look()));
      }
      if (is_finished(batch)) return outcome_of_batch(batch);
    } catch (const Failure& failure) {
      if (!seen || failure.code() != ExitCode::unavailable) throw;
      print_message(failure.what());
    }
  }
}

ExitCode batch_cancel(Session& session, const Arguments& arguments) {
  return for_each_word(arguments.words(), [&](const std::string& id) {
    const Answer answer = session.ask({.method = "POST", .path = path_of(id) + "/cancel"}, "id");
    if (session.json()) {
      session.out().print_json(answer.body);
    } else {
      const json::Value batch = document_of(answer);
      session.out().print("batch " + text_at(batch, {"id"}) +
                          (is_finished(batch) ? ": all its jobs have ended\n"
                                              : ": its jobs are being cancelled\n"));
    }
    return ExitCode::ok;
  });
}

}  // namespace

void add_batch_verbs(Commands& commands) {
  CLI::App& list =
      commands.add("batch", "list", {"list batches", "", "cellctl batch list"}, batch_list);
  add_page_flags(list);
  CLI::App& show = commands.add(
      "batch", "show",
      {"show batches with their jobs by state", "cellctl job list --batch ID lists the jobs.",
       "cellctl batch show 1m7yhtwye0000"},
      batch_show);
  add_words(show, "ID", "the batches");
  CLI::App& watch =
      commands.add("batch", "watch",
                   {"follow a batch until all its jobs have ended", "The exit code is the outcome.",
                    "cellctl batch watch 1m7yhtwye0000"},
                   batch_watch);
  add_word(watch, "ID", "the batch")->required();
  add_value(watch, "--interval", "DURATION", "refresh the output at this interval (1s)");
  CLI::App& cancel = commands.add(
      "batch", "cancel",
      {"cancel the unfinished jobs of batches", "", "cellctl batch cancel 1m7yhtwye0000"},
      batch_cancel);
  add_words(cancel, "ID", "the batches");
}

}  // namespace celld::cli
