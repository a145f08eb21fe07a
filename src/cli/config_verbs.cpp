// `cellctl config check` validates files without a celld; `config show` asks a running one.
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "src/cli/commands.hpp"
#include "src/cli/failure.hpp"
#include "src/cli/input.hpp"
#include "src/cli/session.hpp"
#include "src/cli/text.hpp"
#include "src/config/config.hpp"
#include "src/http/tls.hpp"
#include "src/providers/kinds.hpp"
#include "src/time_zones.hpp"

namespace celld::cli {
namespace {

constexpr std::size_t file_bytes_max = 256 << 20;

using Faults = std::vector<json::Fault>;

Faults check_certificates(const config::Config& config) {
  const auto& tls = config.listen.tls;
  if (!tls) return {};
  auto loaded = http::TlsContext::load({.certificate_path = tls->certificate_path,
                                        .key_path = tls->key_path,
                                        .client_ca_path = tls->client_ca_path});
  if (auto* fault = std::get_if<std::string>(&loaded)) return {{"/listen/tls", std::move(*fault)}};
  return {};
}

Faults check_time_zones(const config::Config& config) {
  return config::check_time_zones(config, time_zone_fault);
}

/// Validates as celld does, with the environment, secrets, certificates and programs of this
/// machine.
Faults check(const std::string& text) {
  config::Overrides overrides;
  if (const char* listen = std::getenv("CELLD_LISTEN"); listen != nullptr && *listen != '\0')
    overrides.listen = listen;
  auto outcome = config::parse_config(text, providers::service_kinds(),
                                      config::process_environment(), overrides,
                                      {{"/services", config::check_services},
                                       {"/listen", check_certificates},
                                       {"/schedules", check_time_zones}});
  if (auto* faults = std::get_if<Faults>(&outcome)) return std::move(*faults);
  return {};
}

std::string as_json(const std::string& path, const Faults& faults) {
  json::Value errors = json::Value::array();
  for (const auto& fault : faults)
    errors.push_back({{"pointer", fault.pointer}, {"detail", fault.detail}});
  return json::dump({{"file", path}, {"valid", faults.empty()}, {"errors", std::move(errors)}});
}

Faults check_file_at(const std::string& path) {
  try {
    return check(read_input(path, file_bytes_max));
  } catch (const Failure& unreadable) {
    std::string detail = unreadable.what();
    const std::string name = cleaned(path) + " ";
    if (detail.starts_with(name)) detail.erase(0, name.size());
    return {{"", std::move(detail)}};
  }
}

ExitCode check_file(Session& session, const std::string& path) {
  const Faults faults = check_file_at(path);
  if (session.json()) {
    session.out().print_json(as_json(path, faults));
  } else if (faults.empty()) {
    session.out().print(cleaned(path) + " is valid\n");
  }
  for (const auto& fault : faults) {
    const std::string pointer = fault.pointer.empty() ? "(document)" : cleaned(fault.pointer);
    if (!session.json())
      print_message(cleaned(path) + ": " + pointer + ": " + cleaned(fault.detail));
  }
  return faults.empty() ? ExitCode::ok : ExitCode::usage;
}

ExitCode config_check(Session& session, const Arguments& arguments) {
  return for_each_word(arguments.words(),
                       [&](const std::string& path) { return check_file(session, path); });
}

ExitCode config_show(Session& session, const Arguments&) {
  const Answer answer = session.ask({.path = "/v1/admin/config"}, "cells");
  constexpr int indentation = 2;
  const json::Value document = document_of(answer);
  session.out().print_json(session.json() ? answer.body
                                          : document.dump(indentation, ' ', false,
                                                          json::Value::error_handler_t::replace));
  return ExitCode::ok;
}

}  // namespace

void add_config_verbs(Commands& commands) {
  CLI::App& check = commands.add(
      "config", "check",
      {"check configuration files",
       "Also checks the secrets, certificates and programs that they name, in this environment\n"
       "and on this machine. Exits with 2 if a file has faults.",
       "cellctl config check /etc/celld/celld.json"},
      config_check);
  add_words(check, "FILE", "the files");

  commands.add(
      "config", "show",
      {"show the configuration in force",
       "Includes all defaults and no secrets. Requires the scope `admin`.", "cellctl config show"},
      config_show);
}

}  // namespace celld::cli
