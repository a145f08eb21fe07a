#include "src/cli/arguments.hpp"

#include <algorithm>
#include <charconv>

#include "src/cli/text.hpp"
#include "src/json/time_text.hpp"

namespace celld::cli {
namespace {

std::optional<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

}  // namespace

const CLI::Option& Arguments::option(const std::string& flag) const {
  const CLI::App* app = verb_;
  while (app->get_parent() != nullptr && app->get_option_no_throw(flag) == nullptr)
    app = app->get_parent();
  return *app->get_option(flag);
}

std::optional<std::string> Arguments::text(const std::string& flag) const {
  const auto& results = option(flag).results();
  if (results.empty()) return std::nullopt;
  return results.back();
}

std::vector<std::string> Arguments::list(const std::string& flag) const {
  std::vector<std::string> parts;
  for (const std::string& text : texts(flag)) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      parts.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return parts;
}

std::optional<milliseconds> Arguments::duration(const std::string& flag) const {
  const auto given = text(flag);
  return given ? parse_duration(*given) : std::nullopt;
}

std::optional<std::int64_t> Arguments::integer(const std::string& flag) const {
  const auto given = text(flag);
  return given ? parse_integer(*given) : std::nullopt;
}

std::optional<std::string> Arguments::moment(const std::string& flag, int direction) const {
  const auto given = text(flag);
  if (!given) return std::nullopt;
  if (const auto duration = parse_duration(*given)) {
    const WallTime moment = wall_now() + direction * *duration;
    return json::format_time(std::max(moment, WallTime()));
  }
  return time_for_api(*given);
}

std::vector<std::string> Arguments::words() const {
  std::vector<std::string> words;
  for (const CLI::Option* option : verb_->get_options())
    if (option->get_positional())
      words.insert(words.end(), option->results().begin(), option->results().end());
  return words;
}

std::string duration_fault(const std::string& text) {
  return parse_duration(text) ? ""
                              : in_quotes(text) + " is not a duration such as 250ms, 30s, 5m or 2h";
}

std::string empty_fault(const std::string& text) {
  return text.empty() ? "the value is empty" : "";
}

std::string integer_fault(const std::string& text) {
  return parse_integer(text) ? "" : in_quotes(text) + " is not an integer";
}

std::string moment_fault(const std::string& text) {
  return time_for_api(text) || parse_duration(text)
             ? ""
             : in_quotes(text) +
                   " is neither a time in UTC such as 2026-11-20T22:42:56Z nor a duration such as "
                   "2h";
}

std::string pair_fault(const std::string& text) {
  const std::size_t equals = text.find('=');
  const bool valid = equals != 0 && equals != std::string::npos;
  return valid ? "" : in_quotes(text) + " is not of the form KEY=VALUE";
}

std::pair<std::string, std::string> name_and_value(const std::string& text) {
  const std::size_t equals = text.find('=');
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string in_quotes(std::string_view text) {
  return "'" + cleaned(text) + "'";
}

}  // namespace celld::cli
