#include "src/store/record.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "src/store/job_texts.hpp"

namespace celld::store {

using cells::Job;
using cells::JobSpec;
using cells::JobState;
using cells::WallTime;

namespace {

std::optional<std::int64_t> to_integer(const std::optional<WallTime>& time) {
  return time ? std::optional{std::int64_t{time->time_since_epoch().count()}} : std::nullopt;
}

std::optional<WallTime> to_time(const std::optional<std::int64_t>& ms) {
  return ms ? std::optional{WallTime{cells::milliseconds{*ms}}} : std::nullopt;
}

/// 0 is stored as NULL.
std::optional<std::int64_t> non_zero(std::uint64_t value) {
  return value == 0 ? std::nullopt : std::optional{static_cast<std::int64_t>(value)};
}

void bind_text_or_null(Statement& statement, int at, std::string_view text) {
  text.empty() ? statement.bind_null(at) : statement.bind(at, text);
}

/// Keeps the bound texts alive while the statement runs.
struct ProgressTexts {
  explicit ProgressTexts(const Job& job)
      : steps(steps_text(job.steps)),
        messages(messages_text(job.messages)),
        error(error_text(job.error)),
        properties(properties_text(job.properties)) {}
  std::string steps, messages, error, properties;
};

// The columns that can change, in the order of bind_progress.
constexpr const char* progress_assignments =
    "state = ?1, marks = ?2, turn = ?3, due_at = ?4, run_at = ?5, expires_at = ?6,"
    " lease_epoch = ?7, lease_counter = ?8, step = ?9, interruptions = ?10,"
    " cancel_requested = ?11, started_at = ?12, finished_at = ?13, next_attempt_at = ?14,"
    " settle_until = ?15, steps = ?16, messages = ?17, error = ?18, properties = ?19";
constexpr int progress_columns = 19;

void bind_progress(Statement& to, const Job& job, const LineMarks& marks, std::int64_t lane,
                   const ProgressTexts& texts) {
  to.bind(1, static_cast<std::int64_t>(job.state));
  to.bind(2, encode_marks(marks, lane));
  to.bind(3, turn_of(job, marks, lane));
  to.bind(4, to_integer(due_at(job, marks)));
  to.bind(5, job.run_at == job.created_at ? std::nullopt : to_integer(job.run_at));
  to.bind(6, to_integer(job.expires_at));
  to.bind(7, non_zero(job.lease.epoch));
  to.bind(8, non_zero(job.lease.counter));
  to.bind(9, static_cast<std::int64_t>(job.step));
  to.bind(10, std::int64_t{job.interruptions});
  to.bind(11, std::int64_t{job.cancel_requested});
  to.bind(12, to_integer(job.started_at));
  to.bind(13, to_integer(job.finished_at));
  to.bind(14, to_integer(job.next_attempt_at));
  to.bind(15, to_integer(job.settle_until));
  bind_text_or_null(to, 16, texts.steps);
  bind_text_or_null(to, 17, texts.messages);
  bind_text_or_null(to, 18, texts.error);
  bind_text_or_null(to, 19, texts.properties);
}

}  // namespace

std::int64_t encode_marks(const LineMarks& marks, std::int64_t lane) {
  return (marks.head ? 1 : 0) | (marks.held ? 2 : 0) | (marks.woken ? 4 : 0) | lane << 3;
}

LineMarks decode_marks(std::int64_t bits) {
  return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
}

std::int64_t lane_in_marks(std::int64_t bits) {
  return bits >> 3;
}

// --- Writing ---------------------------------------------------------------------------------

InsertStatement::InsertStatement(Connection& connection)
    : connection_(connection),
      statement_(connection,
                 "INSERT INTO jobs (state, marks, turn, due_at, run_at, expires_at, lease_epoch,"
                 " lease_counter, step, interruptions, cancel_requested, started_at, finished_at,"
                 " next_attempt_at, settle_until, steps, messages, error, properties, id, cell,"
                 " origin, place, action, entity_type, entity_subtype, entity_id, services, labels,"
                 " traceparent, priority, timeout_ms, max_attempts, on_failure, created_at,"
                 " parameters, batch, failed_ahead) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
                 "?10, ?11, ?12, ?13,"
                 " ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29,"
                 " ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38) ON CONFLICT (id) DO NOTHING") {}

bool InsertStatement::run(const Job& job, const LineMarks& marks, std::int64_t cell,
                          std::int64_t routing_key, std::int64_t lane) {
  const JobSpec& spec = *job.spec;
  const ProgressTexts texts{job};
  const auto services = services_text(spec.services);
  const auto labels = labels_text(spec.labels);
  int at = progress_columns;
  bind_progress(statement_, job, marks, lane, texts);
  statement_.bind(++at, static_cast<std::int64_t>(job.id));
  statement_.bind(++at, cell);
  statement_.bind(++at, routing_key);
  statement_.bind(++at, non_zero(job.place));
  statement_.bind(++at, std::string_view{spec.action});
  statement_.bind(++at, std::string_view{spec.entity.type});
  bind_text_or_null(statement_, ++at, spec.entity.subtype);
  statement_.bind(++at, std::string_view{spec.entity.id});
  statement_.bind(++at, std::string_view{services});
  bind_text_or_null(statement_, ++at, labels);
  bind_text_or_null(statement_, ++at, spec.traceparent);
  statement_.bind(++at, std::int64_t{spec.priority});
  statement_.bind(++at, std::int64_t{spec.timeout.count()});
  statement_.bind(++at, std::int64_t{spec.max_attempts});
  statement_.bind(++at, static_cast<std::int64_t>(spec.on_failure));
  statement_.bind(++at, std::int64_t{job.created_at.time_since_epoch().count()});
  bind_text_or_null(statement_, ++at,
                    spec.parameters == "{}" ? std::string_view{} : spec.parameters);
  statement_.bind(++at, non_zero(job.batch));
  statement_.bind(++at, non_zero(job.failed_ahead));
  statement_.run();
  return connection_.changes() == 1;
}

UpdateStatement::UpdateStatement(Connection& connection)
    : statement_(connection, std::string{"UPDATE jobs SET "} + progress_assignments +
                                 ", place = ?20, failed_ahead = ?21 WHERE id = ?22") {}

void UpdateStatement::run(const Job& job, const LineMarks& marks, std::int64_t lane) {
  const ProgressTexts texts{job};
  bind_progress(statement_, job, marks, lane, texts);
  statement_.bind(progress_columns + 1, non_zero(job.place));
  statement_.bind(progress_columns + 2, non_zero(job.failed_ahead));
  statement_.bind(progress_columns + 3, static_cast<std::int64_t>(job.id));
  statement_.run();
}

// --- Reading ---------------------------------------------------------------------------------

namespace {

/// In the order in which read_job reads them.
constexpr const char* job_columns =
    "jobs.id, jobs.cell, jobs.origin, jobs.state, jobs.place, jobs.marks, jobs.action,"
    " jobs.entity_type, jobs.entity_subtype, jobs.entity_id, jobs.services, jobs.labels,"
    " jobs.traceparent, jobs.priority, jobs.timeout_ms, jobs.max_attempts, jobs.on_failure,"
    " jobs.created_at, jobs.run_at, jobs.expires_at, jobs.lease_epoch, jobs.lease_counter,"
    " jobs.step, jobs.interruptions, jobs.cancel_requested, jobs.started_at, jobs.finished_at,"
    " jobs.next_attempt_at, jobs.settle_until, jobs.steps, jobs.messages, jobs.error,"
    " jobs.properties, jobs.parameters, jobs.turn, jobs.due_at,"
    " jobs.batch, jobs.failed_ahead";

constexpr std::int64_t priority_max = 9;
constexpr std::int64_t unsigned_max = std::numeric_limits<std::uint32_t>::max();

void require(bool readable, const char* what) {
  if (readable) return;
  throw SqliteFailure("the " + std::string{what} + " of a stored job cannot be read");
}

/// The engine relies on these invariants without checking them.
void check_state(const Job& job) {
  const bool is_unfinished = !cells::is_ended(job.state);
  require(job.step <= job.spec->services.size(), "step");
  require(!is_unfinished || job.step < job.spec->services.size(), "step");
  require(!is_unfinished || job.state == JobState::scheduled || job.place != 0, "place");
  require(job.state != JobState::running || job.lease != cells::Lease{}, "lease");
  require(job.state != JobState::retrying || job.next_attempt_at, "next attempt");
  require(job.state != JobState::compensating || job.error, "error");
}

}  // namespace

std::string select_jobs(const char* where) {
  std::string sql = "SELECT ";
  sql += job_columns;
  sql += " FROM jobs ";
  return sql += where;
}

JobRow read_job(const Statement& row, Names& names) {
  int at = -1;
  const auto integer = [&] { return row.integer(++at); };
  const auto integer_within = [&](const char* what, std::int64_t least, std::int64_t most) {
    const auto value = integer();
    require(value >= least && value <= most, what);
    return value;
  };
  const auto id = [&](const char* what) {
    return to_id(integer_within(what, 0, std::numeric_limits<std::int64_t>::max()));
  };
  const auto time = [&] { return to_time(row.optional_integer(++at)); };
  const auto text = [&] { return row.text(++at); };

  auto job = std::make_shared<Job>();
  auto spec = std::make_shared<JobSpec>();
  JobRow result;
  job->id = id("id");
  result.cell = integer();
  result.routing_key = integer();
  job->state =
      static_cast<JobState>(integer_within("state", 0, std::int64_t{cells::job_state_count} - 1));
  job->place = id("place");
  const auto marks = integer_within("marks", 0, std::numeric_limits<std::int64_t>::max());
  result.marks = decode_marks(marks);
  result.lane = lane_in_marks(marks);
  spec->action = text();
  spec->entity.type = text();
  spec->entity.subtype = text();
  spec->entity.id = text();
  spec->services = read_services(text());
  require(!spec->services.empty(), "services");
  spec->labels = read_labels(text());
  spec->traceparent = text();
  spec->priority = static_cast<int>(integer_within("priority", 1, priority_max));
  spec->timeout = cells::milliseconds{integer_within("timeout", 1, unsigned_max)};
  spec->max_attempts =
      static_cast<std::uint32_t>(integer_within("maximum of attempts", 1, unsigned_max));
  spec->on_failure = static_cast<cells::OnFailure>(integer_within("on_failure", 0, 1));
  job->created_at = WallTime{cells::milliseconds{integer()}};
  job->run_at = time().value_or(job->created_at);
  job->expires_at = time();
  job->lease.epoch = id("lease");
  job->lease.counter = id("lease");
  job->step = static_cast<std::size_t>(integer_within("step", 0, unsigned_max));
  job->interruptions = static_cast<std::uint32_t>(integer_within("interruptions", 0, unsigned_max));
  job->cancel_requested = integer_within("cancellation", 0, 1) != 0;
  job->started_at = time();
  job->finished_at = time();
  job->next_attempt_at = time();
  job->settle_until = time();
  job->steps = read_steps(text(), spec->services.size());
  job->messages = read_messages(text());
  job->error = read_error(text());
  job->properties = read_properties(text());
  if (const auto parameters = text(); !parameters.empty()) spec->parameters = parameters;
  const auto& routing_key = names.routing_key(result.routing_key);
  spec->customer = routing_key.customer;
  spec->product = routing_key.product;
  job->cell = names.cell(result.cell);
  job->lane = names.lane(result.lane);
  job->spec = std::move(spec);
  check_state(*job);
  require(row.optional_integer(++at) == turn_of(*job, result.marks, result.lane), "turn");
  require(row.optional_integer(++at) == to_integer(due_at(*job, result.marks)), "due time");
  job->batch = id("batch");
  job->failed_ahead = id("failed predecessor");
  result.job = std::move(job);
  return result;
}

}  // namespace celld::store
