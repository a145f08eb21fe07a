#include "src/config/show.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "src/config/cell_setting.hpp"
#include "src/config/schedule_document.hpp"

namespace celld::config {
namespace {

json::Value show(const cells::ServiceLimits& limits) {
  json::Value shown = json::Value::object();
  if (limits.concurrency) shown["concurrency"] = *limits.concurrency;
  if (!limits.rate_per_s) return shown;
  shown["rate_per_s"] = *limits.rate_per_s;
  shown["burst"] = limits.burst;
  return shown;
}

json::Value show(const cells::CircuitPolicy& circuit) {
  return {{"failures", circuit.failures},
          {"window_ms", circuit.window.count()},
          {"open_ms", circuit.open.count()},
          {"hold_max_ms", circuit.hold_max.count()}};
}

json::Value show(const Service& service) {
  const ServiceKind& kind = service.settings->kind();
  json::Value shown = service.settings->show();
  shown["type"] = kind.type();
  if (kind.settles()) shown["settle_ms"] = service.settle.count();
  shown["limits"] = show(service.protection.limits);
  if (service.protection.circuit) shown["circuit"] = show(*service.protection.circuit);
  return shown;
}

json::Value show(const cells::CellRule& rule) {
  json::Value shown{{"customer", rule.customer}, {"product", rule.product}};
  for (const auto& setting : cell_settings()) {
    auto value = setting.show(rule.settings);
    if (value.is_null() && !setting.follows.empty()) continue;
    auto path = std::string{setting.name};
    std::replace(path.begin(), path.end(), '.', '/');
    shown[json::Value::json_pointer{"/" + path}] = std::move(value);
  }
  if (!rule.is_template()) return shown;
  shown["per"] = json::Value::array();
  if (rule.per_customer) shown["per"].push_back("customer");
  if (rule.per_product) shown["per"].push_back("product");
  return shown;
}

json::Value show(const Token& token) {
  json::Value shown{{"name", token.name}, {"sha256", masked}, {"scopes", json::Value::array()}};
  for (const Scope scope : token.scopes) shown["scopes"].push_back(to_string(scope));
  if (token.customer) shown["customer"] = *token.customer;
  if (token.services) shown["services"] = *token.services;
  return shown;
}

json::Value show(const Listen& listen) {
  json::Value shown{{"host", listen.host}, {"port", listen.port}};
  if (!listen.tls) return shown;
  shown["tls"] = {{"certificate", listen.tls->certificate_path}, {"key", listen.tls->key_path}};
  if (!listen.tls->client_ca_path.empty()) shown["tls"]["client_ca"] = listen.tls->client_ca_path;
  return shown;
}

json::Value show(const Capacity& capacity) {
  json::Value shown{{"memory_max_bytes", capacity.memory_bytes_max}};
  if (capacity.running_max) shown["running_max"] = *capacity.running_max;
  return shown;
}

json::Value show(const Limits& limits) {
  return {{"max_head_bytes", limits.head_bytes_max},
          {"max_headers", limits.headers_max},
          {"max_uri_bytes", limits.uri_bytes_max},
          {"max_body_bytes", limits.body_bytes_max},
          {"head_timeout_ms", limits.head_timeout.count()},
          {"body_timeout_ms", limits.body_timeout.count()},
          {"idle_timeout_ms", limits.idle_timeout.count()},
          {"write_timeout_ms", limits.write_timeout.count()},
          {"max_connections", limits.connections_max},
          {"max_stream_backlog_bytes", limits.stream_backlog_bytes_max},
          {"max_unsent_bytes", limits.unsent_bytes_max}};
}

}  // namespace

std::string show(const Config& config) {
  json::Value shown{{"listen", show(config.listen)},
                    {"store",
                     {{"type", "sqlite"},
                      {"path", config.store.path},
                      {"recent_jobs", config.store.recent_jobs}}},
                    {"services", json::Value::object()},
                    {"cells", json::Value::array()},
                    {"limits", show(config.limits)},
                    {"capacity", show(config.capacity)},
                    {"retention_ms", config.retention.count()},
                    {"shutdown_grace_ms", config.shutdown_grace.count()}};
  shown["schedules"] = json::Value::object();
  for (const auto& [name, spec] : config.schedules) shown["schedules"][name] = show(spec);
  for (const auto& service : config.services) shown["services"][service.name] = show(service);
  for (const auto& rule : config.cells) shown["cells"].push_back(show(rule));
  if (!config.tokens.empty()) {
    shown["auth"]["tokens"] = json::Value::array();
    for (const auto& token : config.tokens) shown["auth"]["tokens"].push_back(show(token));
  }
  return json::dump(shown);
}

}  // namespace celld::config
