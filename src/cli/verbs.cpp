#include "src/cli/verbs.hpp"

#include <algorithm>

#include "src/cli/verbs_run.hpp"

namespace celld::cli {
namespace {

constexpr Flag watch_flag = {"--watch", "[DURATION]", "show it again every so often (2s)"};

Flags page_flags() {
  return {{"--limit", "N", "so many a page, 1 to 1000 (50)"},
          {"--cursor", "CURSOR", "go on where a page ended"},
          {"--all", "", "all pages; with --json an item a line"},
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
          "Sent again under the same idempotency key when celld does not answer or is busy.",
          {{"-f, --file", "FILE", "the job as JSON, - for standard input; flags win over it"},
           {"--customer", "NAME", "whose job it is"},
           {"--product", "NAME", "for which product"},
           {"--action", "TEXT", "what is to be done"},
           {"--entity", "TYPE/ID", "to what; also as two words"},
           {"--subtype", "TEXT", "of the entity"},
           {"--service", "NAME,...", "the services, in order"},
           {"--parameter", "KEY=VALUE", "VALUE is JSON, or else text; once for each"},
           {"--priority", "1-9", "9 goes first (5)"},
           {"--delay", "DURATION", "not before so much time has passed"},
           {"--at", "TIME", "not before that time"},
           {"--expires", "TIME", "fail if it has not ended by then"},
           {"--timeout", "DURATION", "for one attempt at one service"},
           {"--max-attempts", "N", "at each service"},
           {"--on-failure", "WHAT", "stop"},
           {"--label", "KEY=VALUE", "once for each"},
           {"--key", "KEY", "the idempotency key (random)"},
           {"--retries", "N", "how often it is sent again (3)"},
           {"--wait", "[DURATION]", "until it ends, or for so long; exits as the job did"},
           {"-q, --quiet", "", "print the id and nothing else"}},
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
       "With --watch until they have ended.",
       {watch_flag},
       "cellctl job get 06f3k9v2m8qzr --watch",
       job_get},
      {"job", "list", "", "list jobs, newest first",
       "A TIME is 2026-11-20T22:42:56Z, 2026-11-20, or a duration back from now.",
       Flags{{"--customer", "NAME", "only of this customer"},
             {"--product", "NAME", "only for this product"},
             {"--state", "STATE", "only in this state"},
             {"--service", "NAME", "only with this service"},
             {"--entity", "TYPE/ID", "only for this entity; TYPE alone for all of the type"},
             {"--label", "KEY=VALUE", "only with this label; once for each"},
             {"--since", "TIME", "only created after"},
             {"--until", "TIME", "only created before"}} +
           page_flags(),
       "cellctl job list --customer acme --state failed --since 2h", job_list},
      {"job",
       "cancel",
       "ID...",
       "cancel jobs",
       "A running one ends a moment later.",
       {},
       "cellctl job cancel 06f3k9v2m8qzr",
       job_cancel},
      {"job",
       "retry",
       "ID...",
       "run failed or cancelled jobs again",
       "From the first unfinished service, with fresh attempts.",
       {},
       "cellctl job retry 06f3k9v2m8qzr",
       job_retry},
      {"job",
       "wait",
       "ID...",
       "wait until jobs end",
       "Exits with 0 when all succeeded, 1 when one failed or was cancelled, 6 when the time is "
       "over.",
       {{"--timeout", "DURATION", "for all of them (no limit)"}},
       "cellctl job wait 06f3k9v2m8qzr --timeout 5m",
       job_wait},
      {"job",
       "events",
       "[ID]",
       "follow the changes of a job, or of all",
       "Of one job until it ends. Connects again when the connection breaks. With --json a line "
       "is\n"
       "the job after the change.",
       {{"--customer", "NAME", "only of this customer"},
        {"--product", "NAME", "only for this product"}},
       "cellctl job events --customer acme --json",
       job_events},
  };
}

std::vector<Verb> cell_verbs() {
  constexpr std::string_view cells = "CUSTOMER/PRODUCT...";
  return {
      {"cell", "list", "", "list cells", "A * behind the pool: it was resized.", page_flags(),
       "cellctl cell list --watch 5s", cell_list},
      {"cell",
       "get",
       cells,
       "show cells",
       "* stands for any; quote it for the shell.",
       {watch_flag},
       "cellctl cell get acme/dns '*/*'",
       cell_get},
      {"cell",
       "resize",
       "CUSTOMER/PRODUCT [SIZE]",
       "change how many workers a cell has",
       "Interrupts nothing, and survives a restart.",
       {{"--reset", "", "back to what is configured"}},
       "cellctl cell resize acme/dns 12",
       cell_resize},
      {"cell",
       "pause",
       cells,
       "take jobs, but start none",
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
       "finish what is queued, and take no jobs",
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
       "With what they are at: calls under way, calls ended per second.",
       {watch_flag},
       "cellctl service list --watch",
       service_list},
      {"",
       "reload",
       "",
       "let celld read its configuration file again",
       "While jobs run. Tells what has changed, what stays as it was set by hand, and what\n"
       "only a restart changes; or every fault of the file, and nothing has changed then.\n"
       "Takes a token for `admin`.",
       {},
       "cellctl reload",
       reload},
      {"",
       "backup",
       "FILE",
       "copy celld's database into a file",
       "Of all customers, as it is when the copy begins; - is standard output. The file\n"
       "appears when it is complete and checked; until then it is FILE.partial.\n"
       "Takes a token for `admin`.",
       {{"--force", "", "replace FILE, if it is there"}},
       "cellctl backup celld-$(date +%F).db",
       backup},
      {"config",
       "check",
       "FILE...",
       "check configuration files",
       "With the secrets, certificates and programs they name, in this environment, on this\n"
       "machine. Exits with 2 on faults.",
       {},
       "cellctl config check /etc/celld/celld.json",
       config_check},
      {"config",
       "show",
       "",
       "show the configuration that is in force",
       "With everything filled in, and without secrets. Takes a token for `admin`.",
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
      {"--url", "URL", "where celld is ($CELLD_URL, http://127.0.0.1:8080)"},
      {"--token-file", "FILE", "holds the token ($CELLD_TOKEN)"},
      {"--cacert", "FILE", "PEM: who may vouch for celld ($CELLD_CACERT)"},
      {"--client-cert", "FILE", "PEM: a certificate to show to celld"},
      {"--client-key", "FILE", "PEM: its key"},
      {"--request-timeout", "DURATION", "for one answer (30s)"},
      {"--json", "", "print what celld sends, for scripts"},
      {"-h, --help", "", "of the command before it"},
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
