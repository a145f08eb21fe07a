#include "src/cli/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "src/cli/text.hpp"
#include "src/cli/verbs.hpp"
#include "src/http/api/time_text.hpp"

namespace celld::cli {
namespace {

std::string in_quotes(std::string_view text) {
  return "'" + cleaned(text) + "'";
}

Failure wrong_value(std::string_view flag, const std::string& text, std::string_view rule) {
  return usage_failure(std::string(flag) + " " + in_quotes(text) + " " + std::string(rule));
}

/// Consumes the command line from left to right.
class Parser {
 public:
  explicit Parser(const std::vector<std::string>& words) : words_(words) {}

  CommandLine parse() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (!flags_ended_ && word == "--") {
        flags_ended_ = true;
      } else if (!flags_ended_ && word.size() > 1 && word.front() == '-') {
        take_flag(word);
      } else {
        take_word(word);
      }
    }
    if (!line_.help && !line_.version) check();
    return std::move(line_);
  }

 private:
  void take_word(const std::string& word) {
    if (line_.verb != nullptr) {
      line_.arguments.add_word(word);
    } else if (!line_.noun.empty()) {
      line_.verb = find_verb(line_.noun, word);
      if (line_.verb == nullptr)
        throw usage_failure("'" + line_.noun + "' has no verb " + in_quotes(word) +
                            "; see cellctl " + line_.noun + " --help");
    } else if (const Verb* alone = find_verb("", word)) {
      line_.verb = alone;
    } else {
      const auto known = nouns();
      if (std::find(known.begin(), known.end(), word) == known.end())
        throw usage_failure("unknown command " + in_quotes(word) + "; see cellctl --help");
      line_.noun = word;
    }
  }

  void take_flag(const std::string& word) {
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const std::string name = word.substr(0, equals);
    if (name == "-h" || name == "--help") {
      line_.help = true;
      return;
    }
    if (name == "--version") {
      line_.version = true;
      return;
    }
    const Flag* flag = find_flag(line_.verb, name);
    if (flag == nullptr)
      throw usage_failure("unknown flag " + in_quotes(name) + "; see " + command() + " --help");
    if (equals != std::string::npos) {
      if (!flag->takes_value()) throw usage_failure(name + " takes no value");
      line_.arguments.add_flag(flag->long_name(), word.substr(equals + 1));
    } else {
      line_.arguments.add_flag(flag->long_name(), value_of(*flag));
    }
  }

  std::string value_of(const Flag& flag) {
    if (!flag.takes_value()) return "";
    if (flag.value_is_optional())  // Any word but a duration is the next argument.
      return at_ < words_.size() && parse_duration(words_[at_]) ? words_[at_++] : "";
    if (at_ >= words_.size())
      throw usage_failure(std::string(flag.long_name()) +
                          " needs a value: " + std::string(flag.value));
    std::string value = words_[at_++];
    // "TYPE/ID" may also be given as two words.
    const bool in_two = flag.value == "TYPE/ID" && value.find('/') == std::string::npos;
    if (in_two && at_ < words_.size() && !words_[at_].starts_with('-'))
      value += "/" + words_[at_++];
    return value;
  }

  void check() const {
    if (line_.verb == nullptr)
      throw usage_failure(line_.noun.empty() ? "no command given; see cellctl --help"
                                             : "'" + line_.noun + "' needs a verb; see cellctl " +
                                                   line_.noun + " --help");
    const std::string_view form = line_.verb->words;
    const auto given = line_.arguments.words().size();
    const auto wanted = form.empty() ? 0 : std::count(form.begin(), form.end(), ' ') + 1;
    const auto optional = std::count(form.begin(), form.end(), '[');
    const bool any_number = form.find("...") != std::string_view::npos;
    const auto least = static_cast<std::size_t>(wanted - optional);
    const auto most = any_number ? given : static_cast<std::size_t>(wanted);
    if (given < least) throw usage_failure(command() + " needs " + std::string(form));
    if (given > most)
      throw usage_failure(command() + ": unexpected argument " +
                          in_quotes(line_.arguments.words()[most]));
  }

  std::string command() const {
    std::string command = "cellctl";
    if (!line_.noun.empty()) command += " " + line_.noun;
    if (line_.verb != nullptr) command += " " + std::string(line_.verb->name);
    return command;
  }

  const std::vector<std::string>& words_;
  std::size_t at_ = 0;
  bool flags_ended_ = false;
  CommandLine line_;
};

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& words) {
  return Parser(words).parse();
}

std::optional<std::string> Arguments::text(std::string_view flag) const {
  const auto found = flags_.find(flag);
  if (found == flags_.end()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::texts(std::string_view flag) const {
  const auto found = flags_.find(flag);
  return found == flags_.end() ? std::vector<std::string>{} : found->second;
}

std::vector<std::string> Arguments::list(std::string_view flag) const {
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

std::optional<milliseconds> Arguments::duration(std::string_view flag) const {
  const auto given = text(flag);
  if (!given || given->empty()) return std::nullopt;
  const auto duration = parse_duration(*given);
  if (!duration) throw wrong_value(flag, *given, "is not a duration such as 250ms, 30s, 5m or 2h");
  return duration;
}

std::optional<std::int64_t> Arguments::integer(std::string_view flag) const {
  const auto given = text(flag);
  if (!given) return std::nullopt;
  std::int64_t value = 0;
  const char* end = given->data() + given->size();
  const auto result = std::from_chars(given->data(), end, value);
  if (result.ec != std::errc() || result.ptr != end)
    throw wrong_value(flag, *given, "is not an integer");
  return value;
}

std::optional<std::string> Arguments::moment(std::string_view flag, int direction) const {
  const auto given = text(flag);
  if (!given) return std::nullopt;
  if (const auto time = time_for_api(*given)) return time;
  if (const auto duration = parse_duration(*given)) {
    const WallTime moment = wall_now() + direction * *duration;
    return api::format_time(std::max(moment, WallTime()));
  }
  throw wrong_value(
      flag, *given,
      "is neither a time in UTC such as 2026-11-20T22:42:56Z nor a duration such as 2h");
}

std::pair<std::string, std::string> name_and_value(std::string_view flag, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    throw wrong_value(flag, text, "is not of the form NAME=VALUE");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace celld::cli
