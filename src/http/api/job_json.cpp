#include "src/http/api/job_json.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "src/http/api/query.hpp"
#include "src/json/json.hpp"
#include "src/json/time_text.hpp"

namespace celld::api {
namespace {

using cells::Job;
using cells::JobSpec;
using cells::WallTime;
using json::append_quoted;

template <class Integer>
void append_integer(std::string& out, Integer value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void append_time_member(std::string& out, std::string_view key, std::optional<WallTime> time) {
  out += key;
  if (!time) {
    out += "null";
    return;
  }
  out += '"';
  json::append_time(out, *time);
  out += '"';
}

void append_string_member(std::string& out, std::string_view key, std::string_view value) {
  out += key;
  append_quoted(out, value);
}

/// `append` writes one element; commas go between them.
template <class Range, class Append>
void append_joined(std::string& out, const Range& range, Append append) {
  bool first = true;
  for (const auto& element : range) {
    if (!first) out += ',';
    first = false;
    append(element);
  }
}

void append_entity(std::string& out, const cells::Entity& entity) {
  append_string_member(out, ",\"entity\":{\"type\":", entity.type);
  if (!entity.subtype.empty()) append_string_member(out, ",\"subtype\":", entity.subtype);
  append_string_member(out, ",\"id\":", entity.id);
  out += '}';
}

void append_spec(std::string& out, const JobSpec& spec) {
  append_string_member(out, ",\"action\":", spec.action);
  append_entity(out, spec.entity);
  out += ",\"services\":[";
  append_joined(out, spec.services, [&](const std::string& name) { append_quoted(out, name); });
  out += "],\"parameters\":";
  out += spec.parameters;
  out += ",\"priority\":";
  append_integer(out, spec.priority);
  out += ",\"labels\":{";
  append_joined(out, spec.labels, [&](const auto& label) {
    append_quoted(out, label.first);
    append_string_member(out, ":", label.second);
  });
  out += '}';
}

/// Attempts started at the current step, or at the last step once all have succeeded.
std::uint32_t current_attempt(const Job& job) {
  if (job.steps.empty()) return 0;
  return job.steps[std::min(job.step, job.steps.size() - 1)].attempts;
}

void append_times(std::string& out, const Job& job) {
  append_time_member(out, ",\"created_at\":", job.created_at);
  append_time_member(out, ",\"run_at\":", job.run_at);
  append_time_member(out, ",\"expires_at\":", job.expires_at);
  append_time_member(out, ",\"started_at\":", job.started_at);
  append_time_member(out, ",\"finished_at\":", job.finished_at);
}

void append_step(std::string& out, const std::string& service, const cells::Step& step) {
  append_string_member(out, "{\"service\":", service);
  append_string_member(out, ",\"state\":", to_string(step.state));
  out += ",\"attempts\":";
  append_integer(out, step.attempts);
  append_time_member(out, ",\"started_at\":", step.started_at);
  append_time_member(out, ",\"finished_at\":", step.finished_at);
  out += ",\"progress\":";
  out += step.progress ? json::dump(json::Value(*step.progress)) : "null";
  out += '}';
}

void append_steps(std::string& out, const Job& job) {
  out += ",\"steps\":[";
  for (std::size_t i = 0; i < job.steps.size(); ++i) {
    if (i > 0) out += ',';
    append_step(out, i < job.spec->services.size() ? job.spec->services[i] : "", job.steps[i]);
  }
  out += ']';
}

void append_message(std::string& out, const cells::Message& message) {
  append_time_member(out, "{\"time\":", message.time);
  append_string_member(out, ",\"severity\":", to_string(message.severity));
  append_string_member(out, ",\"service\":", message.service);
  append_string_member(out, ",\"text\":", message.text);
  out += '}';
}

void append_results(std::string& out, const Job& job) {
  out += ",\"properties\":{";
  append_joined(out, job.properties, [&](const auto& property) {
    append_quoted(out, property.first);
    out += ':';
    out += property.second;  // JSON text already.
  });
  out += "},\"messages\":[";
  append_joined(out, job.messages,
                [&](const cells::Message& message) { append_message(out, message); });
  out += "],\"error\":";
  if (!job.error) {
    out += "null";
    return;
  }
  append_string_member(out, "{\"code\":", job.error->code);
  append_string_member(out, ",\"message\":", job.error->message);
  if (job.error->service.empty()) {
    out += ",\"service\":null}";
  } else {
    append_string_member(out, ",\"service\":", job.error->service);
    out += '}';
  }
}

/// The job's cell. While the job moves between cells: the most specific key that could take it.
cells::CellKey cell_of(const Job& job) {
  if (job.cell != cells::between_cells) return job.cell;
  return {job.spec->customer, job.spec->product};
}

}  // namespace

void append_job(std::string& out, const Job& job) {
  const JobSpec& spec = *job.spec;
  out.reserve(out.size() + 1024 + spec.parameters.size());
  append_string_member(out, "{\"id\":", cells::format_job_id(job.id));
  append_string_member(out, ",\"state\":", to_string(job.state));
  append_string_member(out, ",\"customer\":", spec.customer);
  append_string_member(out, ",\"product\":", spec.product);
  const cells::CellKey cell = cell_of(job);
  append_string_member(out, ",\"cell\":{\"customer\":", cell.customer);
  append_string_member(out, ",\"product\":", cell.product);
  out += '}';
  append_spec(out, spec);
  out += ",\"attempt\":";
  append_integer(out, current_attempt(job));
  out += ",\"max_attempts\":";
  append_integer(out, spec.max_attempts);
  out += ",\"timeout_ms\":";
  append_integer(out, spec.timeout.count());
  append_string_member(out, ",\"on_failure\":", to_string(spec.on_failure));
  append_string_member(out, ",\"durability\":", to_string(job.durability));
  append_times(out, job);
  out += job.cancel_requested ? ",\"cancel_requested\":true" : ",\"cancel_requested\":false";
  append_steps(out, job);
  append_results(out, job);
  if (job.batch == 0) {
    out += ",\"batch\":null}";
  } else {
    append_string_member(out, ",\"batch\":", cells::format_job_id(job.batch));
    out += '}';
  }
}

std::string job_json(const Job& job) {
  std::string out;
  append_job(out, job);
  return out;
}

std::string job_list_json(const std::vector<cells::JobPtr>& jobs, cells::JobId next) {
  std::string out = job_list_head();
  append_job_items(out, jobs, false);
  append_job_list_tail(out, next);
  return out;
}

std::string job_list_head() {
  return "{\"items\":[";
}

void append_job_items(std::string& out, const std::vector<cells::JobPtr>& jobs, bool later) {
  if (later && !jobs.empty()) out += ',';
  append_joined(out, jobs, [&](const cells::JobPtr& job) { append_job(out, *job); });
}

void append_job_list_tail(std::string& out, cells::JobId next) {
  out += "],\"next_cursor\":";
  out += next == 0 ? "null" : json::quote(job_cursor(next));
  out += '}';
}

}  // namespace celld::api
