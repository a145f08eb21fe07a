#include "src/cli/commands.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "src/cli/help_page.hpp"
#include "src/cli/session.hpp"
#include "src/cli/text.hpp"
#include "src/version.hpp"

namespace celld::cli {
namespace {

constexpr const char* type_of_optional_duration = "[DURATION]";
constexpr int words_max = CLI::detail::expected_max_vector_size;
constexpr const char* type_of_entity = "TYPE/ID";

void add_common_flags(CLI::App& app) {
  add_value(app, "--url", "URL", "connect to celld at URL ($CELLD_URL, http://127.0.0.1:8080)")
      ->envname("CELLD_URL");
  add_value(app, "--token-file", "FILE", "read the token from FILE (or set $CELLD_TOKEN)");
  add_value(app, "--cacert", "FILE", "trust the authorities in this PEM file ($CELLD_CACERT)")
      ->envname("CELLD_CACERT");
  add_value(app, "--client-cert", "FILE", "present the certificate in this PEM file");
  add_value(app, "--client-key", "FILE", "use the private key in this PEM file");
  add_value(app, "--request-timeout", "DURATION", "limit the time of one request (30s)");
  add_switch(app, "--json", "print celld's JSON, for scripts");
  // Verbs have no help flag of their own: this one shows the help of the command on the line.
  app.set_help_flag("-h,--help", "show help for cellctl or for the command before it");
  app.set_version_flag("--version", std::string("cellctl ") + version, "print the version");
}

/// Null when no command has such a flag.
const CLI::Option* find_flag(const CLI::App& app, const std::string& name) {
  if (const CLI::Option* own = app.get_option_no_throw(name)) return own;
  for (const CLI::App* command : app.get_subcommands({}))
    if (const CLI::Option* theirs = find_flag(*command, name)) return theirs;
  return nullptr;
}

/// The words as CLI11 expects them. It takes an optional value only after "=", an empty value only
/// as a word, and "TYPE/ID" only as one word.
std::vector<std::string> normalized(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> normal;
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (*word == "--") {
      normal.insert(normal.end(), word, words.end());
      break;
    }
    const auto left = words.end() - word - 1;
    const std::size_t equals = word->starts_with("--") ? word->find('=') : std::string::npos;
    const std::string name = word->substr(0, equals);
    const CLI::Option* flag = name.starts_with("--") ? find_flag(app, name) : nullptr;
    const std::string type = flag == nullptr ? "" : flag->get_type_name();
    normal.push_back(*word);
    if (flag != nullptr && takes_value(*flag) && equals + 1 == word->size()) {
      normal.back() = name;
      normal.emplace_back();
    } else if (equals != std::string::npos) {
      continue;
    } else if (type == type_of_optional_duration && left > 0 && parse_duration(word[1])) {
      normal.back() += "=" + *++word;
    } else if (type == type_of_entity && left > 1 && word[1].find('/') == std::string::npos &&
               !word[2].starts_with('-')) {
      normal.back() += "=" + word[1] + "/" + word[2];
      word += 2;
    }
  }
  return normal;
}

/// The noun, added when it is new; `app` itself for an empty one.
CLI::App& parent_for(CLI::App& app, const std::string& noun) {
  if (noun.empty()) return app;
  const auto known =
      app.get_subcommands([&](const CLI::App* command) { return command->get_name() == noun; });
  return known.empty() ? *app.add_subcommand(noun) : *known.front();
}

/// The last command on the parsed line.
const CLI::App& last_command(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : last_command(*parsed.front());
}

std::string see_help(const CLI::App& command) {
  const std::string name = name_of(command);
  return "; see cellctl " + (name.empty() ? "" : name + " ") + "--help";
}

/// The error for a word that CLI11 could not place.
Failure unexpected(const CLI::App& app, const CLI::App& command) {
  auto words = app.remaining(true);
  std::erase(words, "--");
  const std::string word = words.empty() ? "--" : words.front();
  std::string text = "unexpected argument " + in_quotes(word);
  if (word.starts_with('-')) {
    text = "unknown flag " + in_quotes(word.substr(0, word.find('=')));
  } else if (&command == &app) {
    text = "unknown command " + in_quotes(word);
  } else if (!command.get_subcommands({}).empty()) {
    text = "'" + name_of(command) + "' has no verb " + in_quotes(word);
  }
  return usage_failure(text + see_help(command));
}

std::string no_value_fault(const std::string& text) {
  return text == "true" ? "" : "takes no value";
}

std::string optional_duration_fault(const std::string& text) {
  return text == "true" ? "" : duration_fault(text);
}

}  // namespace

Commands::Commands() : app_("cellctl: controls celld, the daemon that runs provisioning jobs.") {
  app_.name("cellctl");
  app_.set_help_flag();
  app_.formatter(std::make_shared<HelpPage>());
  app_.fallthrough();
  app_.require_subcommand(0, 1);
  app_.option_defaults()->group("Flags")->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  for (const auto& add_verbs :
       {add_submit, add_job_verbs, add_batch_verbs, add_schedule_verbs, add_event_verbs,
        add_cell_verbs, add_quota_verbs, add_service_verbs, add_worker, add_reload, add_backup,
        add_config_verbs, add_completion_verbs})
    add_verbs(*this);
  add_common_flags(app_);
}

CLI::App& Commands::add(const std::string& noun, const std::string& name, const VerbHelp& help,
                        Action action) {
  CLI::App* verb = parent_for(app_, noun).add_subcommand(name, help.summary);
  verb->footer((help.details.empty() ? "" : help.details + "\n\n") + example_title + help.example);
  verb->callback([this, verb, action = std::move(action)] {
    verb_ = verb;
    action_ = action;
  });
  return *verb;
}

CommandLine Commands::parse(const std::vector<std::string>& words) {
  auto normal = normalized(app_, words);
  std::reverse(normal.begin(), normal.end());
  const auto print = [this](const std::string& text) {
    return CommandLine{Arguments(app_), [text](Session& session, const Arguments&) {
                         session.out().print(text);
                         return ExitCode::ok;
                       }};
  };
  try {
    app_.parse(std::move(normal));
  } catch (const CLI::CallForHelp&) {
    return print(app_.help());
  } catch (const CLI::CallForVersion& version) {
    return print(version.what() + std::string("\n"));
  } catch (const CLI::ParseError& error) {
    if (app_.remaining_size(true) > 0) throw unexpected(app_, last_command(app_));
    throw usage_failure(cleaned(error.what()) + see_help(last_command(app_)));
  }
  if (verb_ != nullptr) return {Arguments(*verb_), action_};
  const CLI::App& command = last_command(app_);
  const std::string noun = name_of(command);
  throw usage_failure((noun.empty() ? "no command given" : "'" + noun + "' needs a verb") +
                      see_help(command));
}

void add_words(CLI::App& verb, const std::string& name, const std::string& help) {
  // Required, so one word is enough. With `allow_extra_args`, CLI11 would split "[a,b]".
  add_word(verb, name, help)->required()->expected(words_max, words_max);
}

CLI::Option* add_word(CLI::App& verb, const std::string& name, const std::string& help) {
  return verb.add_option(name, help);
}

CLI::Option* add_value(CLI::App& verb, const std::string& names, const std::string& type,
                       const std::string& help) {
  CLI::Option* option = verb.add_option(names, help)->type_name(type);
  if (type == "DURATION") option->check(duration_fault);
  if (type == "TIME") option->check(moment_fault);
  if (type == "KEY=VALUE") option->check(pair_fault);
  return option;
}

void add_switch(CLI::App& verb, const std::string& names, const std::string& help) {
  verb.add_flag(names, help)->check(no_value_fault);
}

void add_optional_duration(CLI::App& verb, const std::string& name, const std::string& help) {
  verb.add_flag(name, help)->type_name(type_of_optional_duration)->check(optional_duration_fault);
}

void add_watch(CLI::App& verb) {
  add_optional_duration(verb, "--watch", "refresh the output at this interval (2s)");
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  std::vector<const CLI::App*> verbs;
  for (const CLI::App* command : app.get_subcommands({})) {
    const auto inner = verbs_of(*command);
    if (inner.empty()) verbs.push_back(command);
    verbs.insert(verbs.end(), inner.begin(), inner.end());
  }
  return verbs;
}

std::string name_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  if (parent == nullptr) return "";
  const std::string noun = name_of(*parent);
  return noun.empty() ? command.get_name() : noun + " " + command.get_name();
}

}  // namespace celld::cli
