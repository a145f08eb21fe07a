#include "src/store/job_texts.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "src/json/json.hpp"
#include "src/store/sqlite.hpp"

namespace celld::store {

using cells::JobError;
using cells::Message;
using cells::Step;
using cells::WallTime;
using json::Value;

// --- Writing ---------------------------------------------------------------------------------

namespace {

/// Appends a JSON string. U+FFFD replaces NUL, which the strict parser rejects.
void append_string(std::string& to, std::string_view text) {
  if (text.find('\0') == std::string_view::npos) {
    json::append_quoted(to, text);
    return;
  }
  std::string clean;
  for (const char c : text) c == '\0' ? clean += "\xEF\xBF\xBD" : clean += c;
  json::append_quoted(to, clean);
}

void append_member(std::string& to, std::string_view name, std::string_view value) {
  to += to.back() == '{' ? "\"" : ",\"";
  to += name;
  to += "\":";
  append_string(to, value);
}

void append_member(std::string& to, std::string_view name, std::int64_t value) {
  to += to.back() == '{' ? "\"" : ",\"";
  to += name;
  to += "\":";
  to += std::to_string(value);
}

void append_member(std::string& to, std::string_view name, const std::optional<WallTime>& time) {
  if (time) append_member(to, name, time->time_since_epoch().count());
}

void append_member(std::string& to, std::string_view name, double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  to += to.back() == '{' ? "\"" : ",\"";
  to += name;
  to += "\":";
  to += digits;
}

}  // namespace

std::string services_text(const std::vector<std::string>& services) {
  std::string text;
  for (const auto& service : services) {
    text += text.empty() ? '[' : ',';
    append_string(text, service);
  }
  return text.empty() ? text : text + ']';
}

std::string labels_text(const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += text.empty() ? '{' : ',';
    append_string(text, name);
    text += ':';
    append_string(text, value);
  }
  return text.empty() ? text : text + '}';
}

std::string steps_text(const std::vector<Step>& steps) {
  if (std::all_of(steps.begin(), steps.end(), [](const Step& step) { return step == Step{}; })) {
    return {};
  }
  constexpr std::size_t step_bytes = 96;  // With both times.
  std::string text;
  text.reserve(steps.size() * step_bytes);
  for (const auto& step : steps) {
    text += text.empty() ? "[{" : ",{";
    append_member(text, "state", to_string(step.state));
    append_member(text, "attempts", std::int64_t{step.attempts});
    append_member(text, "started_at", step.started_at);
    append_member(text, "finished_at", step.finished_at);
    if (step.progress) append_member(text, "progress", *step.progress);
    if (!step.worker.empty()) append_member(text, "worker", std::string_view{step.worker});
    if (step.in_doubt) append_member(text, "in_doubt", std::int64_t{1});
    if (step.undo_attempts != 0) {
      append_member(text, "undo_attempts", std::int64_t{step.undo_attempts});
    }
    if (!step.operation.empty()) append_member(text, "operation", std::string_view{step.operation});
    if (step.report) {
      append_member(text, "report", step.report->succeeded ? "complete" : "fail");
      append_member(text, "lease_epoch", static_cast<std::int64_t>(step.report->lease.epoch));
      append_member(text, "lease_counter", static_cast<std::int64_t>(step.report->lease.counter));
    }
    text += '}';
  }
  return text + ']';
}

std::string messages_text(const std::vector<Message>& messages) {
  std::string text;
  for (const auto& message : messages) {
    text += text.empty() ? "[{" : ",{";
    append_member(text, "time", std::int64_t{message.time.time_since_epoch().count()});
    append_member(text, "severity", to_string(message.severity));
    append_member(text, "service", std::string_view{message.service});
    append_member(text, "text", std::string_view{message.text});
    text += '}';
  }
  return text.empty() ? text : text + ']';
}

std::string error_text(const std::optional<JobError>& error) {
  if (!error) return {};
  std::string text = "{";
  append_member(text, "code", std::string_view{error->code});
  append_member(text, "message", std::string_view{error->message});
  append_member(text, "service", std::string_view{error->service});
  return text + '}';
}

std::string properties_text(const cells::Properties& properties) {
  std::string text;
  for (const auto& [name, value] : properties) {
    text += text.empty() ? '{' : ',';
    append_string(text, name);
    text += ':';
    text += value;
  }
  return text.empty() ? text : text + '}';
}

// --- Reading ---------------------------------------------------------------------------------

namespace {

[[noreturn]] void unreadable(std::string_view what) {
  throw SqliteFailure("the " + std::string{what} + " of a stored job cannot be read");
}

Value parse(std::string_view text, std::string_view what) {
  auto outcome = json::parse(text);
  auto* document = std::get_if<json::Document>(&outcome);
  if (document == nullptr || !document->number_faults.empty()) unreadable(what);
  return std::move(document->value);
}

Value parse_array(std::string_view text, std::string_view what) {
  auto value = parse(text, what);
  if (!value.is_array()) unreadable(what);
  return value;
}

/// Reads the members of an object. A missing member or a wrong type makes the whole unreadable.
class Members {
 public:
  Members(const Value& object, std::string_view what) : object_(object), what_(what) {
    if (!object.is_object()) unreadable(what);
  }
  std::string string(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end() || !found->is_string()) unreadable(what_);
    return found->get<std::string>();
  }
  std::optional<std::string> optional_string(const char* name) const {
    return object_.contains(name) ? std::optional{string(name)} : std::nullopt;
  }
  std::optional<std::int64_t> integer(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) return std::nullopt;
    if (!found->is_number_integer() || *found > INT64_MAX) unreadable(what_);
    return found->get<std::int64_t>();
  }
  std::optional<WallTime> time(const char* name) const {
    const auto ms = integer(name);
    return ms ? std::optional{WallTime{cells::milliseconds{*ms}}} : std::nullopt;
  }
  std::optional<double> number(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) return std::nullopt;
    if (!found->is_number()) unreadable(what_);
    return found->get<double>();
  }

 private:
  const Value& object_;
  std::string_view what_;
};

/// Scans text in the form that properties_text writes.
class PropertyScanner {
 public:
  explicit PropertyScanner(std::string_view text) : text_(text) {}

  cells::Properties scan() {
    cells::Properties properties;
    while (at_ + 1 < text_.size()) {
      ++at_;  // The '{' or ','.
      const auto name = parse(value_until(':'), "properties");
      if (!name.is_string() || at_ >= text_.size()) unreadable("properties");
      ++at_;  // The ':'.
      properties[name.get<std::string>()] = value_until(',');
    }
    return properties;
  }

 private:
  /// The JSON text up to the separator, or up to the closing brace of the object.
  std::string_view value_until(char separator) {
    const auto first = at_;
    int depth = 0;
    bool quoted = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quoted) {
        if (c == '\\') ++at_;
        quoted = c != '"';
      } else if (depth == 0 && (c == separator || at_ + 1 == text_.size())) {
        break;
      } else if (c == '"') {
        quoted = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        --depth;
      }
    }
    return text_.substr(first, std::min(at_, text_.size()) - first);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::string> read_services(std::string_view text) {
  std::vector<std::string> services;
  if (text.empty()) return services;
  for (const auto& service : parse_array(text, "services")) {
    if (!service.is_string()) unreadable("services");
    services.push_back(service.get<std::string>());
  }
  return services;
}

std::map<std::string, std::string> read_labels(std::string_view text) {
  std::map<std::string, std::string> labels;
  if (text.empty()) return labels;
  const auto value = parse(text, "labels");
  const Members members{value, "labels"};
  for (const auto& [name, label] : value.items()) labels[name] = members.string(name.c_str());
  return labels;
}

namespace {

std::optional<cells::StepReport> read_report(const Members& members) {
  const auto epoch = members.integer("lease_epoch");
  const auto counter = members.integer("lease_counter");
  if (!epoch && !counter) return std::nullopt;
  const auto outcome = members.string("report");
  if (!epoch || !counter || (outcome != "complete" && outcome != "fail")) unreadable("steps");
  return cells::StepReport{
      {static_cast<std::uint64_t>(*epoch), static_cast<std::uint64_t>(*counter)},
      outcome == "complete"};
}

}  // namespace

namespace {

std::uint32_t read_count(const Members& members, const char* name) {
  const auto count = members.integer(name).value_or(0);
  if (count < 0 || count > UINT32_MAX) unreadable("steps");
  return static_cast<std::uint32_t>(count);
}

}  // namespace

std::vector<Step> read_steps(std::string_view text, std::size_t count) {
  std::vector<Step> steps(count);
  if (text.empty()) return steps;
  const auto value = parse_array(text, "steps");
  if (value.size() != count) unreadable("steps");
  for (std::size_t i = 0; i < count; ++i) {
    const Members members{value[i], "steps"};
    const auto state = cells::parse_step_state(members.string("state"));
    if (!state) unreadable("steps");
    steps[i].state = *state;
    steps[i].attempts = read_count(members, "attempts");
    steps[i].undo_attempts = read_count(members, "undo_attempts");
    steps[i].in_doubt = members.integer("in_doubt").value_or(0) != 0;
    steps[i].started_at = members.time("started_at");
    steps[i].finished_at = members.time("finished_at");
    steps[i].progress = members.number("progress");
    steps[i].worker = members.optional_string("worker").value_or("");
    steps[i].report = read_report(members);
    steps[i].operation = members.optional_string("operation").value_or("");
  }
  return steps;
}

std::vector<Message> read_messages(std::string_view text) {
  std::vector<Message> messages;
  if (text.empty()) return messages;
  for (const auto& value : parse_array(text, "messages")) {
    const Members members{value, "messages"};
    const auto time = members.time("time");
    const auto severity = cells::parse_severity(members.string("severity"));
    if (!time || !severity) unreadable("messages");
    messages.push_back({*time, *severity, members.string("service"), members.string("text")});
  }
  return messages;
}

std::optional<JobError> read_error(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto value = parse(text, "error");
  const Members members{value, "error"};
  return JobError{members.string("code"), members.string("message"), members.string("service")};
}

cells::Properties read_properties(std::string_view text) {
  auto properties = PropertyScanner{text}.scan();
  if (properties_text(properties) != text) unreadable("properties");
  return properties;
}

}  // namespace celld::store
