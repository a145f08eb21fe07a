// A configuration file: a configuration within every documented bound, or faults that reveal no
// secret.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cells/model/routing.hpp"
#include "src/config/checks.hpp"
#include "src/config/config.hpp"
#include "src/providers/command/settings.hpp"
#include "src/providers/http/settings.hpp"
#include "src/providers/kinds.hpp"
#include "src/providers/simulated/settings.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;

namespace {

constexpr std::string_view secret = "hunter2-AbCdEf";

/// Variables and files. Some have a secret, some nothing, and some a value that no header may have.
config::Environment environment() {
  const auto read = [](const std::string& name) -> std::optional<std::string> {
    if (name.find("KEY") != std::string::npos) return std::string(secret) + "\r\n";
    if (name.find("BAD") != std::string::npos) return std::string(secret) + "\ninjected: yes";
    if (name.find("LONG") != std::string::npos)
      return std::string(10'000, 'x') + std::string(secret);
    if (name.find("EMPTY") != std::string::npos) return "\n";
    return std::nullopt;
  };
  const auto read_file = [read](const std::string& path) -> config::FileText {
    if (auto content = read(path)) return {.content = std::move(*content)};
    return {.fault = "cannot be read"};
  };
  return {.variable = read, .file = read_file};
}

bool in(std::int64_t value, std::int64_t min, std::int64_t max) {
  return value >= min && value <= max;
}

void check_poll(const providers::mappings::Poll& poll) {
  must(in(poll.interval.count(), 100, 3'600'000), "polls have an interval");
  must(!poll.request.body && poll.request.form.empty() && !poll.request.poll,
       "a poll is a GET without a content");
  must(!poll.url || (poll.request.path.empty() && poll.request.query.empty()),
       "a poll has one place for its URL");
  if (!poll.until) return;
  must(in(static_cast<std::int64_t>(poll.until->done.size()), 1, 64), "an operation has an end");
}

void check_requests(
    const std::map<std::string, std::vector<providers::mappings::Request>>& actions) {
  for (const auto& [action, requests] : actions) {
    must(in(static_cast<std::int64_t>(action.size()), 1, 63), "an action has a name");
    must(requests.size() <= 16, "an action has at most 16 requests");
    for (const auto& request : requests) {
      must(request.headers.size() <= 32 && request.query.size() <= 64 && request.form.size() <= 64,
           "a request has bounded parts");
      must(!request.body || request.form.empty(), "a request has one content at most");
      if (request.poll) check_poll(*request.poll);
    }
  }
}

void check_mapping(const providers::mappings::Mapping& mapping, const std::string& url) {
  must(url.find('?') == std::string::npos, "the URL of a mapping has no query");
  must(in(static_cast<std::int64_t>(mapping.actions.size()), 1, 100), "a mapping has actions");
  check_requests(mapping.actions);
  check_requests(mapping.undo);
  for (const auto& [action, requests] : mapping.undo) {
    must(mapping.actions.contains(action), "an undo belongs to an action");
  }
  must(json::dump(mapping.shown).find(secret) == std::string::npos || mapping.secrets.empty(),
       "a mapping shows no secret");
}

void check_service(const config::Service& service) {
  must(config::is_name(service.name), "a service has a name");
  must(in(service.settle.count(), 0, 86'400'000), "a service settles within a day");
  const std::string_view type = service.settings->kind().type();
  if (type == "http") {
    const auto& http = providers::KindOf<providers::HttpService>::get(*service.settings);
    must(config::url_fault(http.url).empty() && http.url.size() <= 2048, "a URL is valid");
    must(http.headers.size() <= 32, "a service has at most 32 headers");
    if (http.mapping) check_mapping(*http.mapping, http.url);
    must(!http.mapping || !http.undo_url, "the undo of a mapping is a part of it");
    must(!http.undo_url || config::url_fault(*http.undo_url).empty(), "an undo has a valid URL");
    std::set<std::string> names;
    for (const auto& [name, value] : http.headers) {
      must(config::header_name_fault(name).empty(), "a header has a valid name");
      must(names.insert(config::lower_case(name)).second, "no two headers have the same name");
      must(in(static_cast<std::int64_t>(value.value.size()), 1, 8192), "a header has a value");
      must(value.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos,
           "a header is one line");
    }
  } else if (type == "command") {
    const auto& command = providers::KindOf<providers::CommandService>::get(*service.settings);
    must(in(static_cast<std::int64_t>(command.arguments.size()), 1, 64), "a command has a program");
    must(command.arguments.front().starts_with('/'), "a program has an absolute path");
    for (const std::string& argument : command.arguments)
      must(argument.find('\0') == std::string::npos, "an argument has no NUL");
  } else if (type == "simulated") {
    const auto& simulated = providers::KindOf<providers::SimulatedService>::get(*service.settings);
    must(in(simulated.latency_min.count(), 0, simulated.latency_max.count()) &&
             simulated.latency_max.count() <= 3'600'000,
         "a latency is a bounded range");
    must(simulated.failure_rate >= 0 && simulated.failure_rate <= 1, "a rate is from 0 to 1");
  }
}

void check_cell(const cells::CellRule& rule) {
  for (const std::string& part : {rule.customer, rule.product})
    must(part == "*" || config::is_name(part), "a cell's keys are names");
  must(!rule.per_customer || rule.customer == "*", "a template is for any customer");
  must(!rule.per_product || rule.product == "*", "a template is for any product");
  const cells::CellSettings& settings = rule.settings;
  must(in(settings.pool_size, 1, 100'000), "a pool size is within its bounds");
  must(in(settings.pool_burst.value_or(settings.pool_size), settings.pool_size, 100'000),
       "a burst is not less than the size");
  must(in(settings.pool_weight, 1, 1000), "a weight is within its bounds");
  must(in(settings.timeout.count(), 1, settings.timeout_max.count()),
       "a timeout is below its maximum");
  must(settings.timeout_max.count() <= 604'800'000, "a timeout is at most a week");
  must(in(static_cast<std::int64_t>(settings.jobs_max), 1, 100'000'000), "a queue has a bound");
  const cells::CustomerQuota& customer = settings.customer;
  must(customer.jobs_max <= 100'000'000 && customer.running_max <= 100'000, "a quota has a bound");
  for (const auto bytes : {settings.bytes_max, customer.bytes_max})
    must(bytes == 0 || bytes >= 65536, "a quota of bytes is worth having");
  for (const auto& rate : {settings.submissions, customer.submissions})
    must(rate.per_s == 0 || (rate.per_s >= 0.001 && rate.per_s <= 1e6), "a rate has bounds");
  must(settings.weights.named().size() <= 10'000, "there are at most 10000 weights");
  for (const auto& [name, weight] : settings.weights.named())
    must(config::is_name(name) && in(weight, 1, 100), "a weight is of a customer");
  must(in(settings.weights.others(), 1, 100), "all customers have a weight");
  must(in(settings.priority_step.count(), 0, 604'800'000), "a step is at most a week");
  must(in(settings.retry.max_attempts, 1, 1000), "there are at most 1000 attempts");
  must(in(settings.retry.backoff.count(), 0, settings.retry.backoff_max.count()) &&
           settings.retry.backoff_max.count() <= 86'400'000,
       "a backoff is below its maximum");
}

void check_schedule(const std::string& name, const cells::ScheduleSpec& spec,
                    const std::set<std::string>& services) {
  must(config::is_name(name), "a schedule has a name");
  const auto& [every, cron, zone] = spec.timing;
  must(cron.empty() == in(every.count(), 1000, 315'360'000'000), "a schedule has one timing");
  must(cron.empty() == zone.empty() && cron.size() <= 256 && zone.size() <= 64,
       "a cron expression has a time zone");
  must(config::is_name(spec.job.customer) && config::is_name(spec.job.product), "a job has names");
  must(in(static_cast<std::int64_t>(spec.job.services.size()), 1, 16), "a job has services");
  for (const auto& service : spec.job.services)
    must(services.contains(service), "a job names configured services");
  must(spec.job.parameters.size() <= 65'536, "a scheduled job has bounded parameters");
}

void check_capacity(const config::Config& config) {
  if (!config.capacity.running_max) return;
  std::uint64_t sizes = 0;
  for (const auto& rule : config.cells) {
    if (!rule.is_template()) sizes += rule.settings.pool_size;
  }
  must(sizes <= *config.capacity.running_max, "the capacity has room for the sizes of all cells");
}

void check_config(const config::Config& config) {
  check_capacity(config);
  must(config::is_loopback(config.listen.host) || !config.tokens.empty(),
       "without tokens celld listens on the loopback only");
  must(in(static_cast<std::int64_t>(config.store.path.size()), 1, 4095), "a store has a path");
  must(config.services.size() <= 1000, "there are at most 1000 services");
  std::set<std::string> names;
  for (const config::Service& service : config.services) {
    check_service(service);
    must(names.insert(service.name).second, "no two services have the same name");
  }
  must(std::is_sorted(config.services.begin(), config.services.end(),
                      [](const auto& a, const auto& b) { return a.name < b.name; }),
       "services are sorted by name");
  must(config.cells.size() <= 100'000, "there are at most 100000 cells");
  for (const cells::CellRule& rule : config.cells) check_cell(rule);
  must(cells::Routing(config.cells).rules().size() == config.cells.size(),
       "no two cells are the same");
  for (const auto& [name, spec] : config.schedules) check_schedule(name, spec, names);
  must(in(config.shutdown_grace.count(), 0, 3'600'000), "the shutdown grace is bounded");
}

void check_faults(const std::vector<json::Fault>& faults, std::string_view text) {
  must(!faults.empty(), "a refused file has a fault");
  const bool in_text =
      text.find("hunter2") != std::string_view::npos || text.find('\\') != std::string_view::npos;
  for (const json::Fault& fault : faults) {
    must(!fault.detail.empty() && fuzz::is_clean_text(fault.detail), "a fault has a detail");
    must(fault.pointer.empty() || fault.pointer.front() == '/', "a fault has a pointer");
    must(in_text || (fault.detail.find("hunter2") == std::string::npos),
         "a fault reveals no secret");
  }
}

void check_outcome(const config::Outcome& outcome, std::string_view text) {
  if (const auto* config = std::get_if<config::Config>(&outcome)) {
    check_config(*config);
  } else {
    check_faults(std::get<std::vector<json::Fault>>(outcome), text);
  }
}

void check_listen(std::string_view text) {
  const auto listen = config::parse_listen(text);
  if (!listen) return;
  const bool six = listen->host.find(':') != std::string::npos;
  const std::string written =
      (six ? "[" + listen->host + "]" : listen->host) + ":" + std::to_string(listen->port);
  const auto again = config::parse_listen(written);
  must(again && again->host == listen->host && again->port == listen->port,
       "a listen address survives formatting and parsing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const auto plain = config::parse_config(text, providers::service_kinds(), environment());
  check_outcome(plain, text);

  // A flag replaces its section, and leaves faults in the rest of the file.
  const auto overridden =
      config::parse_config(text, providers::service_kinds(), environment(), {.listen = "[::1]:0"});
  check_outcome(overridden, text);
  if (std::holds_alternative<config::Config>(plain))
    must(std::get<config::Config>(overridden).listen.host == "::1", "a flag overrides the file");
  check_outcome(config::parse_config(text, providers::service_kinds(), environment(),
                                     {.listen = std::string(text)}),
                text);
  check_listen(text);
  return 0;
}
