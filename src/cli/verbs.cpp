#include "src/cli/verbs.hpp"

#include <algorithm>

#include "src/cli/verbs_run.hpp"

namespace celld::cli {
namespace {

constexpr Flag watch_flag = {"--watch", "[DURATION]", "refresh the output at this interval (2s)"};

Flags page_flags() {
  return {{"--limit", "N", "show at most N items per page, 1 to 1000 (50)"},
          {"--cursor", "CURSOR", "continue after an earlier page"},
          {"--all", "", "show all pages; with --json one item per line"},
          watch_flag};
}

Flags operator+(Flags left, const Flags& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Verb submit_verb() {
  return {"",
          "submit",
          "",
          "submit a job",
          "Sends the job again under the same idempotency key if celld does not answer or is busy.",
          {{"-f, --file", "FILE", "read the job as JSON, - for standard input; flags override it"},
           {"--customer", "NAME", "set the customer"},
           {"--product", "NAME", "set the product"},
           {"--action", "TEXT", "set the action"},
           {"--entity", "TYPE/ID", "set the entity; also as two words"},
           {"--subtype", "TEXT", "set the subtype of the entity"},
           {"--service", "NAME,...", "call these services, in this order"},
           {"--parameter", "KEY=VALUE", "set a parameter; VALUE is JSON or text; repeatable"},
           {"--priority", "1-9", "set the priority; 9 runs first (5)"},
           {"--delay", "DURATION", "start no earlier than this long from now"},
           {"--at", "TIME", "start no earlier than this time"},
           {"--expires", "TIME", "fail the job if it has not ended by this time"},
           {"--timeout", "DURATION", "limit each attempt at a service"},
           {"--max-attempts", "N", "limit the attempts at each service"},
           {"--on-failure", "WHAT", "choose what happens after a failure: stop"},
           {"--label", "KEY=VALUE", "set a label; repeatable"},
           {"--key", "KEY", "use this idempotency key (random)"},
           {"--retries", "N", "send the job again at most N times (3)"},
           {"--wait", "[DURATION]",
            "wait until the job ends, or for this long; exit code is the outcome"},
           {"-q, --quiet", "", "print only the id"}},
          "cellctl submit --customer acme --product dns --action create \\\n"
          "      --entity zone/example.com --service dns,billing --parameter ttl=300 --wait",
          submit};
}

std::vector<Verb> job_verbs() {
  return {
      {"job",
       "get",
       "ID...",
       "show jobs",
       "With --watch, exits when all jobs have ended.",
       {watch_flag},
       "cellctl job get 06f3k9v2m8qzr --watch",
       job_get},
      {"job", "list", "", "list jobs, newest first",
       "TIME is 2026-11-20T22:42:56Z, 2026-11-20, or a duration before now.",
       Flags{{"--customer", "NAME", "show only jobs of this customer"},
             {"--product", "NAME", "show only jobs for this product"},
             {"--state", "STATE", "show only jobs in this state"},
             {"--service", "NAME", "show only jobs that use this service"},
             {"--entity", "TYPE/ID", "show only jobs for this entity; TYPE alone matches every ID"},
             {"--label", "KEY=VALUE", "show only jobs with this label; repeatable"},
             {"--since", "TIME", "show only jobs created after this time"},
             {"--until", "TIME", "show only jobs created before this time"}} +
           page_flags(),
       "cellctl job list --customer acme --state failed --since 2h", job_list},
      {"job",
       "cancel",
       "ID...",
       "cancel jobs",
       "A running job ends a moment later.",
       {},
       "cellctl job cancel 06f3k9v2m8qzr",
       job_cancel},
      {"job",
       "retry",
       "ID...",
       "run failed or cancelled jobs again",
       "Each job resumes at its first unfinished service, with a fresh count of attempts.",
       {},
       "cellctl job retry 06f3k9v2m8qzr",
       job_retry},
      {"job",
       "wait",
       "ID...",
       "wait until jobs end",
       "Exits with 0 if all succeeded, 1 if one failed or was cancelled, 6 after the timeout.",
       {{"--timeout", "DURATION", "stop waiting after this long in total (no limit)"}},
       "cellctl job wait 06f3k9v2m8qzr --timeout 5m",
       job_wait},
      {"job",
       "events",
       "[ID]",
       "follow the state changes of one job or of all",
       "With an ID, exits when that job has ended. Reconnects when the connection breaks. With\n"
       "--json each line is the job after the change.",
       {{"--customer", "NAME", "show only jobs of this customer"},
        {"--product", "NAME", "show only jobs for this product"}},
       "cellctl job events --customer acme --json",
       job_events},
  };
}

std::vector<Verb> cell_verbs() {
  constexpr std::string_view cells = "CUSTOMER/PRODUCT...";
  return {
      {"cell", "list", "", "list cells", "A * after the pool size marks an override.", page_flags(),
       "cellctl cell list --watch 5s", cell_list},
      {"cell",
       "get",
       cells,
       "show cells",
       "* stands for any; quote it in the shell.",
       {watch_flag},
       "cellctl cell get acme/dns '*/*'",
       cell_get},
      {"cell",
       "resize",
       "CUSTOMER/PRODUCT [SIZE]",
       "change the pool size of a cell",
       "Interrupts no job. The new size survives a restart.",
       {{"--reset", "", "restore the configured size"}},
       "cellctl cell resize acme/dns 12",
       cell_resize},
      {"cell",
       "pause",
       cells,
       "accept jobs but start none",
       "",
       {},
       "cellctl cell pause acme/dns",
       cell_pause},
      {"cell",
       "resume",
       cells,
       "end a pause or a drain",
       "",
       {},
       "cellctl cell resume acme/dns",
       cell_resume},
      {"cell",
       "drain",
       cells,
       "finish queued jobs but accept none",
       "",
       {},
       "cellctl cell drain acme/dns",
       cell_drain},
  };
}

std::vector<Verb> other_verbs() {
  return {
      {"service",
       "list",
       "",
       "list services",
       "Shows the calls in flight and the calls ended per second.",
       {watch_flag},
       "cellctl service list --watch",
       service_list},
      {"",
       "reload",
       "",
       "reload celld's configuration file",
       "Jobs continue to run. Prints what has changed, what an override masks, and what needs a\n"
       "restart. If the file has faults, prints all of them and changes nothing.\n"
       "Requires the scope `admin`.",
       {},
       "cellctl reload",
       reload},
      {"",
       "backup",
       "FILE",
       "copy celld's database to a file",
       "The copy has all customers' jobs as of the moment it begins; - is standard output. FILE\n"
       "appears once it is complete and verified; until then the data is in FILE.partial.\n"
       "Requires the scope `admin`.",
       {{"--force", "", "replace FILE if it exists"}},
       "cellctl backup celld-$(date +%F).db",
       backup},
      {"config",
       "check",
       "FILE...",
       "check configuration files",
       "Also checks the secrets, certificates and programs that they name, in this environment\n"
       "and on this machine. Exits with 2 if a file has faults.",
       {},
       "cellctl config check /etc/celld/celld.json",
       config_check},
      {"config",
       "show",
       "",
       "show the configuration in force",
       "Includes all defaults and no secrets. Requires the scope `admin`.",
       {},
       "cellctl config show",
       config_show},
      {"completion",
       "bash",
       "",
       "print the completion script for bash",
       "",
       {},
       "cellctl completion bash > /etc/bash_completion.d/cellctl",
       print_completion_bash},
      {"completion",
       "zsh",
       "",
       "print the completion script for zsh",
       "",
       {},
       "cellctl completion zsh > /usr/local/share/zsh/site-functions/_cellctl",
       print_completion_zsh},
      {"completion",
       "fish",
       "",
       "print the completion script for fish",
       "",
       {},
       "cellctl completion fish > ~/.config/fish/completions/cellctl.fish",
       print_completion_fish},
  };
}

std::vector<Verb> make_verbs() {
  std::vector<Verb> all = {submit_verb()};
  for (const auto& group : {job_verbs(), cell_verbs(), other_verbs()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = make_verbs();
  return all;
}

const Flags& common_flags() {
  static const Flags flags = {
      {"--url", "URL", "connect to celld at URL ($CELLD_URL, http://127.0.0.1:8080)"},
      {"--token-file", "FILE", "read the token from FILE (or set $CELLD_TOKEN)"},
      {"--cacert", "FILE", "trust the authorities in this PEM file ($CELLD_CACERT)"},
      {"--client-cert", "FILE", "present the certificate in this PEM file"},
      {"--client-key", "FILE", "use the private key in this PEM file"},
      {"--request-timeout", "DURATION", "limit the time of one request (30s)"},
      {"--json", "", "print celld's JSON, for scripts"},
      {"-h, --help", "", "show help for cellctl or for the command before it"},
      {"--version", "", "print the version"}};
  return flags;
}

std::vector<std::string_view> nouns() {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs()) {
    const bool known = std::find(names.begin(), names.end(), verb.noun) != names.end();
    if (!verb.noun.empty() && !known) names.push_back(verb.noun);
  }
  return names;
}

const Verb* find_verb(std::string_view noun, std::string_view name) {
  const auto found = std::find_if(verbs().begin(), verbs().end(), [&](const Verb& verb) {
    return verb.noun == noun && verb.name == name;
  });
  return found == verbs().end() ? nullptr : &*found;
}

const Flag* find_flag(const Verb* verb, std::string_view name) {
  const auto find_in = [&](const Flags& flags) -> const Flag* {
    const auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) {
      return flag.long_name() == name || flag.letter() == name;
    });
    return found == flags.end() ? nullptr : &*found;
  };
  const Flag* own = verb == nullptr ? nullptr : find_in(verb->flags);
  return own != nullptr ? own : find_in(common_flags());
}

}  // namespace celld::cli
