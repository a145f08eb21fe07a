#include "src/cli/pages.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "src/cli/commands.hpp"
#include "src/cli/members.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

constexpr const char* page_size_of_all = "1000";

constexpr std::size_t page_size_default = 50;

bool has_limit(const Listing& listing) {
  for (const auto& [name, value] : listing.query)
    if (name == "limit") return true;
  return false;
}

void set(PageQuery& query, const std::string& name, std::string value) {
  std::erase_if(query, [&](const auto& parameter) { return parameter.first == name; });
  query.emplace_back(name, std::move(value));
}

/// The number of items that the user asks for. celld refuses a limit that is none.
std::size_t wanted(const PageQuery& query) {
  std::size_t limit = page_size_default;
  for (const auto& [name, value] : query) {
    if (name == "limit") std::from_chars(value.data(), value.data() + value.size(), limit);
  }
  return limit;
}

Answer ask_for_page(Session& session, const Listing& listing, const PageQuery& query) {
  return session.ask({.path = listing.path + query_of(query)}, "items");
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
  PageQuery query = listing.query;
  if (all && !has_limit(listing)) set(query, "limit", page_size_of_all);
  std::size_t left = wanted(query);
  std::string cursor;
  for (;;) {
    const json::Value page = document_of(ask_for_page(session, listing, query));
    const auto& items = elements_at(page, {"items"});
    for (const json::Value& item : items) on_item(item);
    std::string next = text_at(page, {"next_cursor"});
    // A cursor that points to its own page would loop endlessly.
    if (next.empty() || next == cursor) return false;
    if (!all) {
      left -= std::min(left, items.size());
      if (left == 0) return true;
      set(query, "limit", std::to_string(left));
    }
    cursor = std::move(next);
    set(query, "cursor", cursor);
  }
}

std::string list_as_json(Session& session, const Arguments& arguments, const Listing& listing) {
  if (!arguments.has("--all"))
    return json_line(session, ask_for_page(session, listing, listing.query).body);
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
