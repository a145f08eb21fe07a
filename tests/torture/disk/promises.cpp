#include "tests/torture/disk/promises.hpp"

#include <array>
#include <functional>
#include <stdexcept>
#include <variant>

namespace celld::disk {
namespace {

constexpr const char* pool_size = "pool.size";

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

Promises::Promises(const std::vector<Record>& log) {
  std::set<std::string> seen;
  each_answer(log, [&](const Answer& answer) {
    if (answer.accepted && is_job(answer.document)) {
      const auto id = answer.document.at("id").get<std::string>();
      if (!seen.insert(id).second) retried_.insert(id);
    }
    if (answer.accepted && is_cell(answer.document)) {
      const auto& size = answer.document.at("overrides").at(pool_size);
      sizes_[name_of(answer.document)].all.push_back(size.get<std::int64_t>());
    }
  });
}

void Promises::take(const Record& record) {
  const auto answer = read_answer(record.payload);
  if (!answer) return;
  if (is_job(answer->document)) take_job(answer->document, answer->accepted);
  if (answer->accepted && is_cell(answer->document)) ++sizes_[name_of(answer->document)].answered;
}

void Promises::take_job(const json::Value& document, bool accepted) {
  const auto text = document.at("id").get<std::string>();
  const auto id = cells::parse_job_id(text);
  if (!id) throw std::runtime_error("an answer has the id " + text);
  const auto state = document.at("state").get<std::string>();
  const bool ended = !document.at("finished_at").is_null();
  if (accepted && jobs_.try_emplace(*id, PromisedJob{spec_of(document), {}}).second) ++accepted_;
  const auto job = jobs_.find(*id);
  if (job == jobs_.end() || !ended || retried_.contains(text)) return;
  job->second.ended = state;
}

std::map<CellName, std::set<std::int64_t>> Promises::sizes() const {
  std::map<CellName, std::set<std::int64_t>> possible;
  for (const auto& [cell, sizes] : sizes_) {
    if (sizes.answered == 0) continue;
    auto& of_cell = possible[cell];
    of_cell.insert(sizes.all[sizes.answered - 1]);
    if (sizes.answered < sizes.all.size()) of_cell.insert(sizes.all[sizes.answered]);
  }
  return possible;
}

}  // namespace celld::disk
