// The query of a list request: a list within its bounds, or faults.
#include <algorithm>
#include <variant>

#include "src/config/checks.hpp"
#include "src/http/api/problem.hpp"
#include "src/http/api/query.hpp"
#include "src/http/target.hpp"
#include "tests/torture/fuzz/fuzzing.hpp"

using namespace celld;
using fuzz::must;

namespace {

void check_faults(const api::Faults& faults, const api::Query& query) {
  must(!faults.empty(), "a refused query has a fault");
  must(faults.size() <= query.size(), "a parameter has at most one fault");
  for (const json::Fault& fault : faults) {
    must(fault.pointer.empty(), "a fault of a query has no pointer");
    must(fuzz::is_clean_text(fault.detail) && !fault.detail.empty(), "a fault has a detail");
  }
  const auto parsed = json::parse(api::to_response(api::invalid_request(faults)).body);
  must(std::holds_alternative<json::Document>(parsed), "a problem is JSON");
}

void check_name(const std::optional<std::string>& name) {
  must(!name || config::is_name(*name), "a name is valid");
}

void check_text(const std::optional<std::string>& text) {
  must(!text || (!text->empty() && text->size() <= 256), "a text has 1 to 256 bytes");
}

void check_jobs(const cells::ListJobs& list, const api::Query& query) {
  const cells::JobFilter& filter = list.filter;
  must(list.limit >= 1 && list.limit <= 1000, "a page has 1 to 1000 jobs");
  check_name(filter.customer);
  check_name(filter.product);
  check_name(filter.service);
  check_text(filter.entity_type);
  check_text(filter.entity_id);
  must(filter.labels.size() <= 16, "a filter has at most 16 labels");
  for (const auto& [name, value] : filter.labels)
    must(!name.empty() && name.size() <= 256 && value.size() <= 256, "a label is bounded");
  const bool has_cursor = std::any_of(query.begin(), query.end(), [](const auto& parameter) {
    return parameter.first == "cursor";
  });
  must(has_cursor == (list.before != 0), "a cursor gives a place to continue");
  if (!has_cursor) return;
  const auto again = api::parse_job_query({{"cursor", api::job_cursor(list.before)}});
  must(std::get<cells::ListJobs>(again).before == list.before,
       "a cursor survives formatting and parsing");
}

void check_cells(const cells::ListCells& list) {
  must(list.limit >= 1 && list.limit <= 1000, "a page has 1 to 1000 cells");
  if (!list.after) return;
  for (const std::string& part : {list.after->customer, list.after->product})
    must(part == "*" || config::is_name(part), "a cell's parts are names");
  const auto again = api::parse_cell_query({{"cursor", api::cell_cursor(*list.after)}});
  must(std::get<cells::ListCells>(again).after == list.after,
       "a cursor survives formatting and parsing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string target = "/v1/jobs?" + std::string(fuzz::text_of(data, size));
  const auto parsed = http::parse_target(target);
  const auto* accepted = std::get_if<http::Target>(&parsed);
  if (accepted == nullptr) return 0;
  const api::Query& query = accepted->query;
  for (const auto& [name, value] : query)
    must(fuzz::is_clean_text(name) && fuzz::is_clean_text(value), "a parameter is text");

  const auto jobs = api::parse_job_query(query);
  if (const auto* list = std::get_if<cells::ListJobs>(&jobs)) {
    check_jobs(*list, query);
  } else {
    check_faults(std::get<api::Faults>(jobs), query);
  }
  const auto cells = api::parse_cell_query(query);
  if (const auto* list = std::get_if<cells::ListCells>(&cells)) {
    check_cells(*list);
  } else {
    check_faults(std::get<api::Faults>(cells), query);
  }
  const auto batches = api::parse_batch_query(query);
  if (const auto* list = std::get_if<cells::ListBatches>(&batches)) {
    must(list->limit >= 1 && list->limit <= 1000, "a page has 1 to 1000 batches");
  } else {
    check_faults(std::get<api::Faults>(batches), query);
  }
  const auto schedules = api::parse_schedule_query(query);
  if (const auto* list = std::get_if<cells::ListSchedules>(&schedules)) {
    must(list->limit >= 1 && list->limit <= 1000, "a page has 1 to 1000 schedules");
    check_name(list->after);
  } else {
    check_faults(std::get<api::Faults>(schedules), query);
  }
  const auto events = api::parse_event_query(query);
  if (const auto* filter = std::get_if<api::EventFilter>(&events)) {
    check_name(filter->customer);
    check_name(filter->product);
  } else {
    check_faults(std::get<api::Faults>(events), query);
  }
  must(api::refuse_query(query).size() == query.size(), "each unknown parameter is a fault");
  return 0;
}
