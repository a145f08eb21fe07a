// Lists of celld: one page, or all of them by their cursors.
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
  std::string what;  ///< "jobs": what a hint about a further page calls them.
};

/// The same as `Output::print_json` would print.
std::string json_line(Session& session, const std::string& document);

/// Asks for one page, or with --all for each, and hands every item over. Returns whether items are
/// left.
bool for_each_item(Session& session, const Arguments& arguments, const Listing& listing,
                   const std::function<void(const json::Value& item)>& on_item);

/// A list as JSON: the page as celld sent it, or with --all each item on a line.
std::string list_as_json(Session& session, const Arguments& arguments, const Listing& listing);

/// On standard error, when a table does not have all of them.
void tell_of_more(const Listing& listing);

/// A list as a table, or as JSON, once or again and again.
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
  if (more) tell_of_more(listing);
  return code;
}

}  // namespace celld::cli
