// Paginated lists: one page, or all pages by following their cursors.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/session.hpp"

namespace celld::cli {

using PageQuery = std::vector<std::pair<std::string, std::string>>;

struct Listing {
  std::string path;
  PageQuery query;
  std::string what;  ///< What messages call the items, such as "jobs".
};

/// The flags of a list, except its filters.
void add_page_flags(CLI::App& verb);

/// The text that `Output::print_json` would print.
std::string json_line(Session& session, const std::string& document);

/// Fetches as many items as a page has, or with --all every item, and passes each to `on_item`.
/// celld may end a page early, even without an item: then the list goes on with the next page.
/// Returns whether more items exist.
bool for_each_item(Session& session, const Arguments& arguments, const Listing& listing,
                   const std::function<void(const json::Value& item)>& on_item);

/// The page as celld sent it, or with --all one item per line.
std::string list_as_json(Session& session, const Arguments& arguments, const Listing& listing);

/// Reports on standard error that a table is incomplete.
void report_incomplete(const Listing& listing);

/// Prints a list as a table or as JSON, with --watch repeatedly.
template <class ItemTable>
ExitCode show_listing(Session& session, const Arguments& arguments, const Listing& listing,
                      const std::function<ItemTable()>& make_table) {
  bool more = false;
  const ExitCode code = show(session, arguments, [&] {
    if (session.json()) return View{.text = list_as_json(session, arguments, listing)};
    ItemTable table = make_table();
    more = for_each_item(session, arguments, listing,
                         [&](const json::Value& item) { table.add(item); });
    return View{.text = table.text(session.out().look())};
  });
  if (more) report_incomplete(listing);
  return code;
}

/// The same for a list without filters, whose path is /v1/ and what its items are.
template <class ItemTable>
ExitCode show_unfiltered(Session& session, const Arguments& arguments, const std::string& what) {
  Listing listing{.path = "/v1/" + what, .query = {}, .what = what};
  for (const auto* name : {"limit", "cursor"}) {
    if (auto value = arguments.text("--" + std::string(name))) {
      listing.query.emplace_back(name, *value);
    }
  }
  return show_listing<ItemTable>(session, arguments, listing, [] { return ItemTable(); });
}

}  // namespace celld::cli
