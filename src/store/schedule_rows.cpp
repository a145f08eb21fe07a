#include "src/store/schedule_rows.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "src/json/json.hpp"
#include "src/store/job_texts.hpp"

namespace celld::store {

using cells::JobSpec;
using cells::Schedule;
using cells::ScheduleProgress;
using cells::WallTime;

namespace {

constexpr const char* columns =
    "SELECT name, revision, configured, every_ms, cron, time_zone, overlap, catch_up, paused, job,"
    " parameters, next_at, last_job, fired, skipped, missed FROM schedules ";

std::optional<std::int64_t> to_integer(const std::optional<WallTime>& time) {
  return time ? std::optional{std::int64_t{time->time_since_epoch().count()}} : std::nullopt;
}

std::optional<WallTime> to_time(std::optional<std::int64_t> ms) {
  return ms ? std::optional{WallTime{cells::milliseconds{*ms}}} : std::nullopt;
}

void bind_text_or_null(Statement& to, int at, std::string_view text) {
  text.empty() ? to.bind_null(at) : to.bind(at, text);
}

[[noreturn]] void unreadable() {
  throw SqliteFailure("a stored schedule cannot be read");
}

template <class Enum>
Enum to_enum(std::int64_t number, Enum last) {
  if (number < 0 || number > static_cast<std::int64_t>(last)) unreadable();
  return static_cast<Enum>(number);
}

std::uint64_t to_count(std::int64_t number) {
  if (number < 0) unreadable();
  return static_cast<std::uint64_t>(number);
}

/// What is submitted, without its parameters.
std::string job_text(const cells::ScheduleSpec& spec) {
  const JobSpec& job = spec.job;
  json::Value value{{"customer", job.customer},
                    {"product", job.product},
                    {"action", job.action},
                    {"entity_type", job.entity.type},
                    {"entity_subtype", job.entity.subtype},
                    {"entity_id", job.entity.id},
                    {"services", job.services},
                    {"labels", job.labels},
                    {"priority", job.priority},
                    {"timeout_ms", job.timeout.count()},
                    {"max_attempts", job.max_attempts},
                    {"on_failure", cells::to_string(job.on_failure)}};
  if (const auto expires_at = to_integer(spec.expires_at)) value["expires_at"] = *expires_at;
  return json::dump(value);
}

/// Reads what job_text wrote.
void read_job(std::string_view text, cells::ScheduleSpec& spec) {
  constexpr auto no_limit = std::numeric_limits<std::int64_t>::max();
  auto parsed = json::parse(text);
  auto* document = std::get_if<json::Document>(&parsed);
  if (document == nullptr) unreadable();
  std::vector<json::Fault> faults;
  json::ObjectReader reader(document->value, "", faults);
  const auto text_of = [&](std::string_view name) { return reader.string(name).value_or(""); };
  JobSpec& job = spec.job;
  job.customer = text_of("customer");
  job.product = text_of("product");
  job.action = text_of("action");
  job.entity = {text_of("entity_type"), text_of("entity_subtype"), text_of("entity_id")};
  if (const auto* services = reader.array("services"))
    job.services = read_services(json::dump(*services));
  if (const auto* labels = reader.object("labels")) job.labels = read_labels(json::dump(*labels));
  job.priority = static_cast<int>(reader.integer("priority", 1, 9).value_or(0));
  job.timeout = cells::milliseconds{reader.integer("timeout_ms", 0, no_limit).value_or(0)};
  job.max_attempts =
      static_cast<std::uint32_t>(reader.integer("max_attempts", 0, UINT32_MAX).value_or(0));
  const auto on_failure = cells::parse_on_failure(text_of("on_failure"));
  spec.expires_at = to_time(reader.integer("expires_at", 0, no_limit));
  reader.require({"customer", "product", "action", "entity_type", "entity_id", "services",
                  "priority", "on_failure"});
  reader.finish();
  if (!faults.empty() || !on_failure) unreadable();
  job.on_failure = *on_failure;
}

Schedule read_schedule(const Statement& row) {
  Schedule schedule;
  schedule.name = row.text(0);
  schedule.revision = to_count(row.integer(1));
  schedule.configured = row.integer(2) != 0;
  auto& spec = schedule.spec;
  spec.timing.every = cells::milliseconds{row.integer(3)};
  spec.timing.cron = row.text(4);
  spec.timing.time_zone = row.text(5);
  spec.overlap = to_enum(row.integer(6), cells::Overlap::allow);
  spec.catch_up = to_enum(row.integer(7), cells::CatchUp::all);
  spec.paused = row.integer(8) != 0;
  read_job(row.text(9), spec);
  if (!row.is_null(10)) spec.job.parameters = row.text(10);
  auto& progress = schedule.progress;
  progress.next = to_time(row.optional_integer(11));
  progress.last_job = to_count(row.integer(12));
  progress.fired = to_count(row.integer(13));
  progress.skipped = to_count(row.integer(14));
  progress.missed = to_count(row.integer(15));
  return schedule;
}

/// Binds five parameters from `at` on.
void bind_progress(Statement& to, int at, const ScheduleProgress& progress) {
  to.bind(at, to_integer(progress.next));
  to.bind(at + 1, static_cast<std::int64_t>(progress.last_job));
  to.bind(at + 2, static_cast<std::int64_t>(progress.fired));
  to.bind(at + 3, static_cast<std::int64_t>(progress.skipped));
  to.bind(at + 4, static_cast<std::int64_t>(progress.missed));
}

}  // namespace

ScheduleRows::ScheduleRows(Connection& connection)
    : connection_(connection),
      select_from_(connection, std::string{columns} + "WHERE name >= ?1 ORDER BY name LIMIT ?2"),
      select_after_(connection, std::string{columns} + "WHERE name > ?1 ORDER BY name LIMIT ?2"),
      select_standing_(connection, "SELECT revision, next_at FROM schedules WHERE name = ?1"),
      save_(connection,
            "INSERT OR REPLACE INTO schedules VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
            " ?12, ?13, ?14, ?15, ?16)"),
      delete_(connection, "DELETE FROM schedules WHERE name = ?1"),
      update_(connection,
              "UPDATE schedules SET next_at = ?2, last_job = ?3, fired = ?4, skipped = ?5,"
              " missed = ?6 WHERE name = ?1") {}

std::vector<Schedule> ScheduleRows::list(const cells::LoadSchedules& request) {
  auto& select = request.after ? select_after_ : select_from_;
  const ResetAtEnd reset{select};
  select.bind(1, std::string_view{request.from});
  select.bind(2, static_cast<std::int64_t>(request.limit));
  std::vector<Schedule> schedules;
  while (select.step()) schedules.push_back(read_schedule(select));
  return schedules;
}

void ScheduleRows::save(const Schedule& schedule) {
  const auto& spec = schedule.spec;
  const auto job = job_text(spec);
  const auto every = spec.timing.every.count();
  save_.bind(1, std::string_view{schedule.name});
  save_.bind(2, static_cast<std::int64_t>(schedule.revision));
  save_.bind(3, std::int64_t{schedule.configured});
  save_.bind(4, every == 0 ? std::nullopt : std::optional{std::int64_t{every}});
  bind_text_or_null(save_, 5, spec.timing.cron);
  bind_text_or_null(save_, 6, spec.timing.time_zone);
  save_.bind(7, static_cast<std::int64_t>(spec.overlap));
  save_.bind(8, static_cast<std::int64_t>(spec.catch_up));
  save_.bind(9, std::int64_t{spec.paused});
  save_.bind(10, std::string_view{job});
  const std::string_view parameters = spec.job.parameters;
  bind_text_or_null(save_, 11, parameters == "{}" ? std::string_view{} : parameters);
  bind_progress(save_, 12, schedule.progress);
  save_.run();
}

bool ScheduleRows::remove(const std::string& name) {
  delete_.bind(1, std::string_view{name}).run();
  return connection_.changes() > 0;
}

bool ScheduleRows::accepts(const cells::ScheduleAdvance& advance) {
  const ResetAtEnd reset{select_standing_};
  if (!select_standing_.bind(1, std::string_view{advance.schedule}).step()) return false;
  Schedule stored;
  stored.revision = to_count(select_standing_.integer(0));
  stored.progress.next = to_time(select_standing_.optional_integer(1));
  return advance.applies_to(stored);
}

void ScheduleRows::advance(const cells::ScheduleAdvance& advance, cells::JobId last_job) {
  auto progress = advance.after;
  progress.last_job = last_job;
  update_.bind(1, std::string_view{advance.schedule});
  bind_progress(update_, 2, progress);
  update_.run();
}

}  // namespace celld::store
