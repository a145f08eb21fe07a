#include "tests/torture/disk/promises.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <variant>

#include "src/json/time_text.hpp"

namespace celld::disk {
namespace {

constexpr const char* pool_size = "pool.size";
constexpr const char* key_label = "key";

struct Answer {
  bool accepted = false;  ///< 202; otherwise another success.
  json::Value document;
};

/// None unless the bytes are a complete answer with a JSON object.
std::optional<Answer> read_answer(std::string_view bytes) {
  const auto head = bytes.find("\r\n\r\n");
  if (head == std::string_view::npos) return std::nullopt;
  auto parsed = json::parse(bytes.substr(head + 4));
  auto* document = std::get_if<json::Document>(&parsed);
  if (document == nullptr || !document->value.is_object()) return std::nullopt;
  return Answer{bytes.starts_with("HTTP/1.1 202"), std::move(document->value)};
}

bool is_job(const json::Value& value) {
  return value.contains("id") && value.contains("entity") && value.contains("state");
}

bool is_cell(const json::Value& value) {
  return value.contains("overrides") && value.contains("pool");
}

CellName name_of(const json::Value& cell) {
  return {cell.at("customer").get<std::string>(), cell.at("product").get<std::string>()};
}

CellSetting setting_of(const json::Value& cell) {
  const auto& overrides = cell.at("overrides");
  CellSetting setting{std::nullopt, cell.at("state").get<std::string>()};
  if (overrides.contains(pool_size))
    setting.pool_size = overrides.at(pool_size).get<std::int64_t>();
  return setting;
}

PromisedJob new_job(const json::Value& document) {
  PromisedJob job;
  job.spec = spec_of(document);
  const auto& labels = document.at("labels");
  if (labels.contains(key_label)) job.key = labels.at(key_label).get<std::string>();
  return job;
}

void reopen(PromisedJob& job) {
  if (job.end) job.reopened_ms = job.end->finished_ms;
  job.end.reset();
  job.cancel_requested = false;
  if (job.retries_left > 0) --job.retries_left;
}

std::int64_t ms_of(const json::Value& time) {
  const auto parsed = json::parse_time(time.get<std::string>());
  if (!parsed) throw std::runtime_error("an answer has the time " + json::dump(time));
  return parsed->time_since_epoch().count();
}

void add_progress(PromisedJob& job, const json::Value& document) {
  const auto& finished_at = document.at("finished_at");
  if (!finished_at.is_null()) {
    job.end = End{document.at("state").get<std::string>(), ms_of(finished_at)};
  }
  if (document.at("cancel_requested").get<bool>()) job.cancel_requested = true;
  std::size_t done = 0;
  for (const auto& step : document.at("steps")) {
    if (step.at("state").get<std::string>() == "succeeded") ++done;
  }
  job.steps_done = std::max(job.steps_done, done);
}

void each_answer(const std::vector<Record>& log, const std::function<void(const Answer&)>& look) {
  for (const auto& record : log) {
    if (record.head.kind != RecordKind::answer) continue;
    if (const auto answer = read_answer(record.payload)) look(*answer);
  }
}

}  // namespace

json::Value spec_of(const json::Value& job) {
  constexpr std::array names{"customer",   "product",    "action",    "entity",     "services",
                             "parameters", "priority",   "labels",    "timeout_ms", "max_attempts",
                             "on_failure", "created_at", "expires_at"};
  json::Value spec;
  for (const auto* name : names) spec[name] = job.at(name);
  return spec;
}

Promises::Promises(const std::vector<Record>& log, const std::set<std::string>& retried) {
  for (const auto& id : retried) ++retries_[id];
  std::set<std::string> seen;
  each_answer(log, [&](const Answer& answer) {
    if (answer.accepted && is_job(answer.document)) {
      const auto id = answer.document.at("id").get<std::string>();
      if (!seen.insert(id).second) ++retries_[id];
    }
    if (is_cell(answer.document)) {
      cells_[name_of(answer.document)].all.push_back(setting_of(answer.document));
    }
  });
}

void Promises::take(const Record& record) {
  const auto answer = read_answer(record.payload);
  if (!answer) return;
  if (is_job(answer->document)) take_job(answer->document, answer->accepted);
  if (is_cell(answer->document)) ++cells_[name_of(answer->document)].answered;
}

void Promises::take_job(const json::Value& document, bool accepted) {
  const auto text = document.at("id").get<std::string>();
  const auto id = cells::parse_job_id(text);
  if (!id) throw std::runtime_error("an answer has the id " + text);
  auto found = jobs_.find(*id);
  if (found == jobs_.end()) {
    if (!accepted) return;
    found = jobs_.emplace(*id, new_job(document)).first;
    found->second.retries_left = retries_[text];
  } else if (accepted) {
    reopen(found->second);
  }
  add_progress(found->second, document);
}

std::map<CellName, std::set<CellSetting>> Promises::cells() const {
  std::map<CellName, std::set<CellSetting>> possible;
  for (const auto& [cell, settings] : cells_) {
    if (settings.answered == 0) continue;
    auto& of_cell = possible[cell];
    of_cell.insert(settings.all[settings.answered - 1]);
    if (settings.answered < settings.all.size()) of_cell.insert(settings.all[settings.answered]);
  }
  return possible;
}

}  // namespace celld::disk
