#include "src/cli/schedule_view.hpp"

#include <utility>

#include "src/cli/members.hpp"
#include "src/cli/time_words.hpp"

namespace celld::cli {
namespace {

TableCell count(const json::Value& schedule, Path path) {
  return {std::to_string(integer_at(schedule, path))};
}

/// "every 5m", or "0 3 * * * Europe/Berlin".
std::string timing_text(const json::Value& schedule) {
  const std::string cron = text_at(schedule, {"cron"});
  if (!cron.empty()) return cron + " " + text_at(schedule, {"time_zone"});
  return "every " + duration_text(milliseconds(integer_at(schedule, {"every_ms"})));
}

TableCell next(const json::Value& schedule) {
  if (truth_at(schedule, {"paused"})) return {"paused", Tone::waiting};
  std::string at = text_at(schedule, {"next_run_at"});
  return at.empty() ? TableCell{"never", Tone::bad} : TableCell{std::move(at)};
}

TableCell missed(const json::Value& schedule) {
  TableCell cell = count(schedule, {"missed"});
  if (cell.text != "0") cell.tone = Tone::bad;
  return cell;
}

/// "create zone/example.com of acme/dns"
std::string job_text(const json::Value& schedule) {
  return text_at(schedule, {"job", "action"}) + " " + text_at(schedule, {"job", "entity", "type"}) +
         "/" + text_at(schedule, {"job", "entity", "id"}) + " of " +
         text_at(schedule, {"job", "customer"}) + "/" + text_at(schedule, {"job", "product"});
}

}  // namespace

ScheduleTable::ScheduleTable()
    : table_({{"SCHEDULE", false, true},
              {"WHEN", false, true},
              {"NEXT"},
              {"LAST JOB"},
              {"FIRED", true},
              {"SKIPPED", true},
              {"MISSED", true}}) {}

void ScheduleTable::add(const json::Value& schedule) {
  table_.add({{text_at(schedule, {"name"})},
              {timing_text(schedule)},
              next(schedule),
              {text_at(schedule, {"last_job"})},
              count(schedule, {"fired"}),
              count(schedule, {"skipped"}),
              missed(schedule)});
}

std::string schedule_details(const json::Value& schedule, const TableLook& look) {
  const bool configured = truth_at(schedule, {"configured"});
  return list_text({{"schedule", {text_at(schedule, {"name"})}},
                    {"from", {configured ? "the configuration" : "the API"}},
                    {"when", {timing_text(schedule)}},
                    {"next", next(schedule)},
                    {"job", {job_text(schedule)}},
                    {"overlap", {text_at(schedule, {"overlap"})}},
                    {"catch up", {text_at(schedule, {"catch_up"})}},
                    {"last job", {text_at(schedule, {"last_job"})}},
                    {"fired", count(schedule, {"fired"})},
                    {"skipped", count(schedule, {"skipped"})},
                    {"missed", missed(schedule)}},
                   look);
}

}  // namespace celld::cli
