// Everything that cellctl can do, as a tree of CLI11. The parser, the help and the shell
// completions all use it. To add a verb, write its function beside the others: it adds the verb,
// its flags, its help and its action.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "src/cli/arguments.hpp"
#include "src/cli/failure.hpp"

namespace celld::cli {

class Session;

using Action = std::function<ExitCode(Session& session, const Arguments& arguments)>;

struct CommandLine {
  Arguments arguments;
  Action action;
};

struct VerbHelp {
  std::string summary;
  std::string details;  ///< More help, in lines of at most 96 columns.
  std::string example;
};

class Commands {
 public:
  Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  const CLI::App& app() const { return app_; }

  /// A verb without a `noun` stands alone.
  CLI::App& add(const std::string& noun, const std::string& name, const VerbHelp& help,
                Action action);

  /// Flags may appear anywhere after the verb; the common flags may also precede it. "--" ends the
  /// flags. Throws a Failure that describes the error. The result refers to this object.
  CommandLine parse(const std::vector<std::string>& words);

 private:
  CLI::App app_;
  const CLI::App* verb_ = nullptr;
  Action action_;
};

/// One or more words.
void add_words(CLI::App& verb, const std::string& name, const std::string& help);
CLI::Option* add_word(CLI::App& verb, const std::string& name, const std::string& help);
/// `type` is the kind of value in the help. DURATION, TIME and KEY=VALUE are checked; completion
/// knows FILE and STATE.
CLI::Option* add_value(CLI::App& verb, const std::string& names, const std::string& type,
                       const std::string& help);
void add_switch(CLI::App& verb, const std::string& names, const std::string& help);
/// A flag with or without a duration.
void add_optional_duration(CLI::App& verb, const std::string& name, const std::string& help);
/// --watch, see `show`.
void add_watch(CLI::App& verb);

bool takes_value(const CLI::Option& option);

/// The verbs of `app`, which may be all commands or a noun.
std::vector<const CLI::App*> verbs_of(const CLI::App& app);

/// "job get"
std::string name_of(const CLI::App& command);

/// `prefix` and the path segments of a cell written as "CUSTOMER/PRODUCT".
std::string cell_path(const std::string& prefix, const std::string& cell);

void add_submit(Commands& commands);
void add_job_verbs(Commands& commands);
void add_batch_verbs(Commands& commands);
void add_schedule_verbs(Commands& commands);
void add_event_verbs(Commands& commands);
void add_cell_verbs(Commands& commands);
void add_quota_verbs(Commands& commands);
void add_service_verbs(Commands& commands);
void add_worker(Commands& commands);
void add_reload(Commands& commands);
void add_backup(Commands& commands);
void add_config_verbs(Commands& commands);
void add_completion_verbs(Commands& commands);

}  // namespace celld::cli
