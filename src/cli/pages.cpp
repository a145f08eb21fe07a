#include "src/cli/pages.hpp"

#include <utility>

#include "src/cli/commands.hpp"
#include "src/cli/members.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

constexpr const char* page_size_of_all = "1000";

bool has_limit(const Listing& listing) {
  for (const auto& [name, value] : listing.query)
    if (name == "limit") return true;
  return false;
}

Answer ask_for_page(Session& session, const Listing& listing, const std::string& cursor, bool all) {
  PageQuery query = listing.query;
  if (!cursor.empty()) {
    std::erase_if(query, [](const auto& parameter) { return parameter.first == "cursor"; });
    query.emplace_back("cursor", cursor);
  }
  if (all && !has_limit(listing)) query.emplace_back("limit", page_size_of_all);
  return session.ask({.path = listing.path + query_of(query)});
}

}  // namespace

void add_page_flags(CLI::App& verb) {
  add_value(verb, "--limit", "N", "show at most N items per page, 1 to 1000 (50)");
  add_value(verb, "--cursor", "CURSOR", "continue after an earlier page");
  add_switch(verb, "--all", "show all pages; with --json one item per line");
  add_watch(verb);
}

std::string json_line(Session& session, const std::string& document) {
  return (session.out().is_terminal() ? json_for_terminal(document) : document) + "\n";
}

bool for_each_item(Session& session, const Arguments& arguments, const Listing& listing,
                   const std::function<void(const json::Value& item)>& on_item) {
  const bool all = arguments.has("--all");
  std::string cursor;
  for (;;) {
    const json::Value page = document_of(ask_for_page(session, listing, cursor, all));
    for (const json::Value& item : elements_at(page, {"items"})) on_item(item);
    std::string next = text_at(page, {"next_cursor"});
    // A cursor that points to its own page would loop endlessly.
    if (next.empty() || next == cursor) return false;
    if (!all) return true;
    cursor = std::move(next);
  }
}

std::string list_as_json(Session& session, const Arguments& arguments, const Listing& listing) {
  if (!arguments.has("--all"))
    return json_line(session, ask_for_page(session, listing, "", false).body);
  const bool at_once = !arguments.has("--watch");
  std::string lines;
  for_each_item(session, arguments, listing, [&](const json::Value& item) {
    lines += json_line(session, json::dump(item));
    if (at_once && lines.size() > (64 << 10)) {
      session.out().print(lines);
      lines.clear();
    }
  });
  return lines;
}

void report_incomplete(const Listing& listing) {
  print_message("there are more " + listing.what + "; use --all or --limit");
}

}  // namespace celld::cli
