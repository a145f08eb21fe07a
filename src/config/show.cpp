#include "src/config/show.hpp"

#include <string_view>

namespace celld::config {
namespace {

constexpr const char* masked = "***";

json::Value show_secrets(const std::vector<std::pair<std::string, Secret>>& secrets) {
  json::Value shown = json::Value::object();
  for (const auto& [name, secret] : secrets) {
    const bool elsewhere = secret.source.starts_with("env:") || secret.source.starts_with("file:");
    shown[name] = elsewhere ? secret.source : masked;
  }
  return shown;
}

std::string show_url(const std::string& url) {
  const auto query = url.find('?');
  return query == std::string::npos ? url : url.substr(0, query + 1) + masked;
}

json::Value show(const Service& service) {
  json::Value shown{{"type", type_of(service)}, {"settle_ms", service.settle.count()}};
  if (const auto* http = std::get_if<HttpService>(&service.kind)) {
    shown["url"] = show_url(http->url);
    shown["headers"] = show_secrets(http->headers);
  } else if (const auto* command = std::get_if<CommandService>(&service.kind)) {
    shown["argv"] = command->arguments;
    shown["env"] = show_secrets(command->environment);
  } else {
    const auto& simulated = std::get<SimulatedService>(service.kind);
    shown.erase("settle_ms");  // Simulated services have no such member.
    shown["latency_ms"] = {{"min", simulated.latency_min.count()},
                           {"max", simulated.latency_max.count()}};
    shown["failure_rate"] = simulated.failure_rate;
    shown["seed"] = simulated.seed;
  }
  return shown;
}

json::Value show(const cells::CellRule& rule) {
  const cells::CellSettings& settings = rule.settings;
  json::Value shown{{"customer", rule.customer},
                    {"product", rule.product},
                    {"pool", {{"size", settings.pool_size}}},
                    {"timeout_ms", settings.timeout.count()},
                    {"timeout_max_ms", settings.timeout_max.count()},
                    {"queue", {{"max_jobs", settings.jobs_max}}},
                    {"retry",
                     {{"max_attempts", settings.retry.max_attempts},
                      {"backoff_ms", settings.retry.backoff.count()},
                      {"backoff_max_ms", settings.retry.backoff_max.count()}}}};
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
  return shown;
}

json::Value show(const Listen& listen) {
  json::Value shown{{"host", listen.host}, {"port", listen.port}};
  if (!listen.tls) return shown;
  shown["tls"] = {{"certificate", listen.tls->certificate_path}, {"key", listen.tls->key_path}};
  if (!listen.tls->client_ca_path.empty()) shown["tls"]["client_ca"] = listen.tls->client_ca_path;
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
                    {"store", {{"type", "sqlite"}, {"path", config.store.path}}},
                    {"services", json::Value::object()},
                    {"cells", json::Value::array()},
                    {"limits", show(config.limits)},
                    {"retention_ms", config.retention.count()},
                    {"shutdown_grace_ms", config.shutdown_grace.count()}};
  for (const auto& service : config.services) shown["services"][service.name] = show(service);
  for (const auto& rule : config.cells) shown["cells"].push_back(show(rule));
  if (!config.tokens.empty()) {
    shown["auth"]["tokens"] = json::Value::array();
    for (const auto& token : config.tokens) shown["auth"]["tokens"].push_back(show(token));
  }
  return json::dump(shown);
}

}  // namespace celld::config
