// `cellctl quota …`
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

#include "src/cli/commands.hpp"
#include "src/cli/members.hpp"
#include "src/cli/session.hpp"
#include "src/cli/table.hpp"
#include "src/cli/text.hpp"

namespace celld::cli {
namespace {

constexpr std::array<std::string_view, 9> limits = {"queue.max_jobs",
                                                    "queue.max_bytes",
                                                    "queue.submissions_per_s",
                                                    "queue.submissions_burst",
                                                    "customers.quota.max_jobs",
                                                    "customers.quota.max_bytes",
                                                    "customers.quota.max_running",
                                                    "customers.quota.submissions_per_s",
                                                    "customers.quota.submissions_burst"};

/// Beyond every limit, and exact as a double.
constexpr double value_max = 1e15;

json::Value::json_pointer pointer_of(std::string_view limit) {
  std::string path = "/";
  for (const char c : limit) path += c == '.' ? '/' : c;
  return json::Value::json_pointer{path};
}

/// One line for each limit: what is in force, and what it masks.
std::string limits_text(const json::Value& cell, const TableLook& look) {
  Table table({{"LIMIT"}, {"VALUE", true}, {"CONFIGURED", true}});
  const auto& overrides = member_at(cell, {"overrides"});
  const auto& configured = member_at(cell, {"quota"});
  for (const auto limit : limits) {
    const std::string name{limit};
    const auto pointer = pointer_of(limit);
    const auto value = configured.contains(pointer) ? configured.at(pointer) : json::Value();
    const bool is_masked = overrides.is_object() && overrides.contains(name);
    table.add(
        {{name},
         {limit_text(is_masked ? overrides.at(name) : value), is_masked ? Tone::busy : Tone::plain},
         {is_masked ? limit_text(value) : ""}});
  }
  return table.text(look);
}

ExitCode show_quota(Session& session, const Answer& answer) {
  if (session.json()) {
    session.out().print_json(answer.body);
  } else {
    session.out().print(limits_text(document_of(answer), session.out().look()));
  }
  return ExitCode::ok;
}

ExitCode quota_show(Session& session, const Arguments& arguments) {
  const auto path = cell_path("/v1/cells/", arguments.words().front());
  return show_quota(session, session.ask({.path = path}, "customer"));
}

json::Value value_of(const std::string& limit, const std::string& text) {
  if (text == "none") return nullptr;
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  if (!is_number || !(std::abs(value) <= value_max)) {
    throw usage_failure(
        "'" + cleaned(text) + "' is not a value of " + limit +
        (limit == "queue.max_jobs" ? ": write a number" : ": write a number, or none"));
  }
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? json::Value(whole) : json::Value(value);
}

/// Adds to the limits that are set already: celld replaces all of them at once.
ExitCode quota_set(Session& session, const Arguments& arguments) {
  const auto words = arguments.words();
  json::Value body = json::Value::object();
  const auto put = [&body](const std::string& limit, json::Value value) {
    body[pointer_of(limit)] = std::move(value);
  };
  const auto cell = session.ask({.path = cell_path("/v1/cells/", words.front())}, "customer");
  const auto document = document_of(cell);
  for (const auto& [name, value] : member_at(document, {"overrides"}).items()) {
    if (std::find(limits.begin(), limits.end(), name) != limits.end()) put(name, value);
  }
  std::set<std::string> named;
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    if (word->find('=') == std::string::npos) {
      throw usage_failure("'" + cleaned(*word) + "' must be LIMIT=VALUE");
    }
    const auto [limit, text] = name_and_value(*word);
    if (std::find(limits.begin(), limits.end(), limit) == limits.end()) {
      throw usage_failure("'" + cleaned(limit) +
                          "' is not a limit: see cellctl quota show CUSTOMER/PRODUCT");
    }
    put(limit, value_of(limit, text));
    if (!named.insert(limit).second) throw usage_failure("'" + limit + "' is named twice");
  }
  const auto path = cell_path("/v1/admin/cells/", words.front()) + "/quota";
  return show_quota(
      session, session.ask({.method = "PUT", .path = path, .body = json::dump(body)}, "customer"));
}

ExitCode quota_reset(Session& session, const Arguments& arguments) {
  const auto path = cell_path("/v1/admin/cells/", arguments.words().front()) + "/quota";
  return show_quota(session, session.ask({.method = "DELETE", .path = path}, "customer"));
}

}  // namespace

void add_quota_verbs(Commands& commands) {
  CLI::App& show = commands.add(
      "quota", "show",
      {"show the limits of a cell", "Also shows the configured limits that an override masks.",
       "cellctl quota show acme/dns"},
      quota_show);
  add_word(show, "CUSTOMER/PRODUCT", "the cell")->required();
  CLI::App& set = commands.add(
      "quota", "set",
      {"change limits of a cell",
       "LIMIT is a name from the configuration. The value `none` removes any limit but\n"
       "queue.max_jobs.\n"
       "A change takes effect at once, survives a restart, and stays until it is reset.",
       "cellctl quota set acme/dns customers.quota.max_running=4 queue.max_jobs=500"},
      quota_set);
  add_word(set, "CUSTOMER/PRODUCT", "the cell")->required();
  add_words(set, "LIMIT=VALUE", "the limits");
  CLI::App& reset = commands.add(
      "quota", "reset",
      {"restore the configured limits of a cell", "", "cellctl quota reset acme/dns"}, quota_reset);
  add_word(reset, "CUSTOMER/PRODUCT", "the cell")->required();
}

}  // namespace celld::cli
