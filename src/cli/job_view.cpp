#include "src/cli/job_view.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/members.hpp"
#include "src/cli/text.hpp"
#include "src/json/time_text.hpp"

namespace celld::cli {
namespace {

Tone tone_of(std::string_view state) {
  if (state == "succeeded") return Tone::good;
  if (state == "failed" || state == "undo_failed") return Tone::bad;
  if (state == "running" || state == "compensating") return Tone::busy;
  if (state == "retrying") return Tone::waiting;
  if (state == "cancelled" || state == "skipped" || state == "undone") return Tone::faint;
  return Tone::plain;
}

TableCell state_cell(const json::Value& of) {
  std::string state = text_at(of, {"state"});
  const Tone tone = tone_of(state);
  if (truth_at(of, {"cancel_requested"}) && !has_ended(of)) state += " (cancelling)";
  return {std::move(state), tone};
}

/// "succeeded", "was cancelled" or "is queued".
std::string state_phrase(const json::Value& job) {
  std::string state = text_at(job, {"state"});
  if (state == "succeeded" || state == "failed") return state;
  return (state == "cancelled" ? "was " : "is ") + state_cell(job).text;
}

std::string entity_text(const json::Value& job) {
  return text_at(job, {"entity", "type"}) + "/" + text_at(job, {"entity", "id"});
}

/// The service that undoes its step, or is next to: "undo billing".
std::string undo_text(const json::Value& steps) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const std::string state = text_at(*step, {"state"});
    if (state == "succeeded" || state == "running" || state == "retrying")
      return "undo " + text_at(*step, {"service"});
  }
  return "undo";
}

/// The number of finished steps, the number of all steps, and the current service: "1/2 billing".
std::string progress_text(const json::Value& job) {
  const json::Value& steps = elements_at(job, {"steps"});
  if (text_at(job, {"state"}) == "compensating") return undo_text(steps);
  const auto done = static_cast<std::size_t>(std::count_if(
      steps.begin(), steps.end(),
      [](const json::Value& step) { return text_at(step, {"state"}) == "succeeded"; }));
  std::string text = std::to_string(done) + "/" + std::to_string(steps.size());
  if (done < steps.size() && !has_ended(job)) text += " " + text_at(steps[done], {"service"});
  return text;
}

std::string attempt_text(const json::Value& job) {
  return std::to_string(integer_at(job, {"attempt"})) + "/" +
         std::to_string(integer_at(job, {"max_attempts"}));
}

/// "timeout: no answer within 30 s (dns)", or an empty text.
std::string error_text(const json::Value& job) {
  if (!member_at(job, {"error"}).is_object()) return "";
  std::string text = text_at(job, {"error", "code"});
  if (const std::string message = text_at(job, {"error", "message"}); !message.empty())
    text += ": " + message;
  if (const std::string service = text_at(job, {"error", "service"}); !service.empty())
    text += " (" + service + ")";
  return text;
}

std::optional<WallTime> time_at(const json::Value& of, Path path) {
  return json::parse_time(text_at(of, path));
}

std::string age_at(const json::Value& of, Path path, WallTime now) {
  const auto time = time_at(of, path);
  return time ? age_text(now - *time) : "";
}

/// How long a job or step took, or has taken until `now`.
std::string took_text(const json::Value& of, WallTime now) {
  const auto started = time_at(of, {"started_at"});
  if (!started) return "";
  return duration_text(time_at(of, {"finished_at"}).value_or(now) - *started);
}

/// "2026-11-20T22:42:56.123Z, 3m ago"
std::string moment_text(const json::Value& job, Path path, WallTime now) {
  const auto time = time_at(job, path);
  if (!time) return "";
  const std::string distance =
      *time > now ? "in " + age_text(*time - now) : age_text(now - *time) + " ago";
  return text_at(job, path) + ", " + distance;
}

/// The latest time in the job or its steps.
std::string changed_at(const json::Value& job) {
  std::string latest = std::max(
      {text_at(job, {"created_at"}), text_at(job, {"started_at"}), text_at(job, {"finished_at"})});
  for (const json::Value& step : elements_at(job, {"steps"}))
    latest = std::max({latest, text_at(step, {"started_at"}), text_at(step, {"finished_at"})});
  return latest;
}

std::string entity_with_subtype(const json::Value& job) {
  const std::string subtype = text_at(job, {"entity", "subtype"});
  return entity_text(job) + (subtype.empty() ? "" : " (" + subtype + ")");
}

std::string cell_of(const json::Value& job) {
  return text_at(job, {"cell", "customer"}) + "/" + text_at(job, {"cell", "product"});
}

std::string labels_text(const json::Value& job) {
  std::string text;
  const json::Value& labels = member_at(job, {"labels"});
  if (!labels.is_object()) return text;
  for (const auto& [name, value] : labels.items())
    text += (text.empty() ? "" : ", ") + name + "=" + text_at(labels, {name});
  return text;
}

/// The object as JSON; empty without members.
std::string object_text(const json::Value& job, std::string_view name) {
  const json::Value& object = member_at(job, {name});
  return object.is_object() && !object.empty() ? json::dump(object) : "";
}

std::string facts_text(const json::Value& job, WallTime now, const TableLook& look) {
  const bool waits = !time_at(job, {"started_at"});
  const bool undoes = text_at(job, {"on_failure"}) == "compensate";
  return list_text({{"job", {text_at(job, {"id"})}},
                    {"state", state_cell(job)},
                    {"error", {error_text(job), Tone::bad}},
                    {"customer", {text_at(job, {"customer"})}},
                    {"product", {text_at(job, {"product"})}},
                    {"cell", {cell_of(job)}},
                    {"action", {text_at(job, {"action"})}},
                    {"entity", {entity_with_subtype(job)}},
                    {"priority", {std::to_string(integer_at(job, {"priority"}))}},
                    {"attempt", {attempt_text(job)}},
                    {"on failure", {undoes ? "compensate" : ""}},
                    {"created", {moment_text(job, {"created_at"}, now)}},
                    {"due", {waits ? moment_text(job, {"run_at"}, now) : ""}},
                    {"expires", {moment_text(job, {"expires_at"}, now)}},
                    {"started", {moment_text(job, {"started_at"}, now)}},
                    {"finished", {moment_text(job, {"finished_at"}, now)}},
                    {"labels", {labels_text(job)}},
                    {"parameters", {object_text(job, "parameters")}},
                    {"properties", {object_text(job, "properties")}}},
                   look);
}

std::string percent_text(const json::Value& step) {
  const bool is_running = text_at(step, {"state"}) == "running";
  if (!is_running || !member_at(step, {"progress"}).is_number()) return "";
  return std::to_string(std::lround(number_at(step, {"progress"}) * 100)) + "%";
}

std::string steps_text(const json::Value& job, WallTime now, const TableLook& look) {
  Table table({{"STEP"}, {"STATE"}, {"ATTEMPTS", true}, {"PROGRESS", true}, {"TOOK", true}});
  for (const json::Value& step : elements_at(job, {"steps"}))
    table.add({{text_at(step, {"service"})},
               state_cell(step),
               {std::to_string(integer_at(step, {"attempts"}))},
               {percent_text(step)},
               {took_text(step, now)}});
  return table.text(look);
}

std::string messages_text(const json::Value& job, const TableLook& look) {
  Table table({{"TIME"}, {"SEVERITY"}, {"SERVICE"}, {"MESSAGE", false, true}});
  for (const json::Value& message : elements_at(job, {"messages"})) {
    const std::string severity = text_at(message, {"severity"});
    const Tone tone =
        severity == "error" ? Tone::bad : (severity == "warning" ? Tone::waiting : Tone::plain);
    table.add({{text_at(message, {"time"})},
               {severity, tone},
               {text_at(message, {"service"})},
               {text_at(message, {"text"})}});
  }
  return table.empty() ? "" : "\n" + table.text(look);
}

}  // namespace

bool has_ended(const json::Value& job) {
  const std::string state = text_at(job, {"state"});
  return state == "succeeded" || state == "failed" || state == "cancelled";
}

ExitCode outcome_of(const json::Value& job) {
  if (!has_ended(job)) return ExitCode::not_ended;
  return text_at(job, {"state"}) == "succeeded" ? ExitCode::ok : ExitCode::job_not_succeeded;
}

std::string job_sentence(const json::Value& job) {
  std::string sentence = "job " + text_at(job, {"id"}) + " " + state_phrase(job);
  const std::string error = error_text(job);
  const bool says_more = text_at(job, {"error", "code"}) != text_at(job, {"state"});
  if (!error.empty() && says_more) sentence += ": " + error;
  return cleaned(sentence);
}

JobTable::JobTable(WallTime now)
    : now_(now),
      table_({{"ID"},
              {"STATE"},
              {"CUSTOMER", false, true},
              {"PRODUCT", false, true},
              {"ACTION", false, true},
              {"ENTITY", false, true},
              {"STEPS", false, true},
              {"ATTEMPT", true},
              {"AGE", true},
              {"ERROR", false, true}}) {}

void JobTable::add(const json::Value& job) {
  table_.add({{text_at(job, {"id"})},
              state_cell(job),
              {text_at(job, {"customer"})},
              {text_at(job, {"product"})},
              {text_at(job, {"action"})},
              {entity_text(job)},
              {progress_text(job)},
              {attempt_text(job)},
              {age_at(job, {"created_at"}, now_)},
              {error_text(job), Tone::bad}});
}

std::string job_details(const json::Value& job, WallTime now, const TableLook& look) {
  return facts_text(job, now, look) + "\n" + steps_text(job, now, look) + messages_text(job, look);
}

std::string change_line(const json::Value& job, const TableLook& look) {
  const TableCell state = state_cell(job);
  const std::string word = cleaned(state.text);
  constexpr std::size_t state_width = 9;  // The longest common state.
  const std::string padding(state_width - std::min(state_width, width_of(word)), ' ');
  const std::string before = cleaned(changed_at(job) + "  " + text_at(job, {"id"})) + "  ";
  std::string after = text_at(job, {"customer"}) + "/" + text_at(job, {"product"}) + "  " +
                      text_at(job, {"action"}) + " " + entity_text(job) + "  " + progress_text(job);
  if (const std::string error = error_text(job); !error.empty()) after += "  " + error;
  after = padding + "  " + cleaned(after);
  const std::size_t used = width_of(before) + width_of(word);
  if (look.width > used) after = fitted(after, look.width - used);
  return before + (look.colour ? toned(word, state.tone) : word) + after + "\n";
}

}  // namespace celld::cli
