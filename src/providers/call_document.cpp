#include "src/providers/call_document.hpp"

#include "src/json/json.hpp"

namespace celld::providers {
namespace {

void append_entity(std::string& text, const cells::Entity& entity) {
  text += R"({"type":)" + json::quote(entity.type);
  if (!entity.subtype.empty()) text += R"(,"subtype":)" + json::quote(entity.subtype);
  text += R"(,"id":)" + json::quote(entity.id) + "}";
}

/// The values are JSON text already.
void append_properties(std::string& text, const cells::Properties& properties) {
  text += '{';
  for (const auto& [name, value] : properties) {
    if (text.back() != '{') text += ',';
    text += json::quote(name);
    text += ':';
    text += value;
  }
  text += '}';
}

const std::string& current_service(const cells::Job& job) {
  return job.spec->services[job.step];
}

}  // namespace

std::string idempotency_key(const cells::Job& job) {
  const std::string key = cells::format_job_id(job.id) + "." + current_service(job);
  return cells::is_compensating(job) ? key + ".undo" : key;
}

std::string call_document(const cells::Job& job) {
  const auto& spec = *job.spec;
  std::string text;
  text.reserve(512 + spec.parameters.size());
  text += R"({"job":)" + json::quote(cells::format_job_id(job.id));
  text += R"(,"attempt":)" + std::to_string(cells::current_attempt(job));
  if (cells::is_compensating(job)) text += R"(,"undo":true)";
  text += R"(,"customer":)" + json::quote(spec.customer);
  text += R"(,"product":)" + json::quote(spec.product);
  text += R"(,"action":)" + json::quote(spec.action);
  text += R"(,"entity":)";
  append_entity(text, spec.entity);
  text += R"(,"service":)" + json::quote(current_service(job));
  text += R"(,"parameters":)";
  text += spec.parameters;
  text += R"(,"properties":)";
  append_properties(text, job.properties);
  text += '}';
  return text;
}

}  // namespace celld::providers
