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

bool is_number(std::string_view text) {
  static constexpr std::string_view greatest = "18446744073709551615";
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return false;
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  return text.size() < greatest.size() || (text.size() == greatest.size() && text <= greatest);
}

/// Two numbers of 64 bits.
bool is_lease_cursor(std::string_view text) {
  const std::size_t dash = text.find('-');
  return dash != std::string_view::npos && is_number(text.substr(0, dash)) &&
         is_number(text.substr(dash + 1));
}

void check_leases(const cells::ListLeases& list, const api::Query& query) {
  must(list.limit >= 1 && list.limit <= 1000, "a page has 1 to 1000 leases");
  check_text(list.worker);
  check_name(list.service);
  must(!list.services && !list.customer, "a query narrows nothing that a token narrows");
  const auto again = api::parse_lease_query({{"cursor", api::lease_cursor(list.after)}});
  must(std::get<cells::ListLeases>(again).after == list.after,
       "a cursor survives formatting and parsing");
  for (const auto& [name, value] : query)
    must(name != "cursor" || is_lease_cursor(value), "a cursor of leases is two numbers");
}

/// A text as a cursor, without a query around it.
void check_lease_cursor(const std::string& text) {
  const auto parsed = api::parse_lease_query({{"cursor", text}});
  must(std::holds_alternative<cells::ListLeases>(parsed) == is_lease_cursor(text),
       "a cursor of leases is two numbers");
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
  const auto services = api::parse_service_query(query);
  if (const auto* list = std::get_if<api::ListServicesByName>(&services)) {
    must(list->limit >= 1 && list->limit <= 1000, "a page has 1 to 1000 services");
    must(list->after.empty() || config::is_name(list->after), "a name is valid");
  } else {
    check_faults(std::get<api::Faults>(services), query);
  }
  const auto leases = api::parse_lease_query(query);
  if (const auto* list = std::get_if<cells::ListLeases>(&leases)) {
    check_leases(*list, query);
  } else {
    check_faults(std::get<api::Faults>(leases), query);
  }
  for (const auto& [name, value] : query) check_lease_cursor(value);
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
