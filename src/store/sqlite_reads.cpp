#include "src/store/sqlite_reads.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "src/json/json.hpp"
#include "src/store/batch_rows.hpp"
#include "src/store/job_indexes.hpp"
#include "src/store/job_rules.hpp"

namespace celld::store {

using namespace cells;  // NOLINT: the whole file is about the port's messages.

namespace {

constexpr int busy_timeout_ms = 1000;

/// The columns that a filter needs. They can be read without decoding the job. The batch lies
/// behind the parameters, which may be long, so it is read only if the filter names one.
constexpr const char* filter_columns =
    "SELECT jobs.id, state, jobs.origin, entity_type, entity_id, services, labels,"
    " CASE state WHEN 2 THEN error IS NOT NULL ELSE 0 END";
constexpr const char* batch_column = ", jobs.batch";

constexpr const char* indexed_id = "SELECT value FROM settings WHERE name = 'indexed_id'";

// The tables of behind_index.hpp are complete up to the `indexed_id`. The rows of the later jobs
// are read one by one.

/// The keys of cell ?1 from those of routing key ?2 and turn ?3 on. Jobs of one routing key and
/// turn are in the order of their places.
constexpr const char* turns_of_cell =
    "SELECT origin, turn, place, job FROM turns WHERE cell = ?1 AND (origin, turn) >= (?2, ?3)"
    " ORDER BY origin, turn, place, job";
constexpr const char* recent_queued =
    "SELECT cell, place FROM jobs NOT INDEXED WHERE id > ?1 AND state = 1";

/// Whether queued jobs may have this turn: they have one per lane and priority if runnable, and 11
/// otherwise.
bool is_turn_of_queued(std::int64_t turn) {
  const auto in_lane = turn % 100;
  return (in_lane >= 1 && in_lane <= 9) || turn == 11;
}

constexpr auto no_place = std::numeric_limits<std::int64_t>::max();

/// Counts of unfinished jobs by service. The services are the members of the JSON object ?2. States
/// from 5 on are final.
constexpr const char* needs =
    "WITH open (action, services, step, on_failure, compensates) AS ("
    " SELECT action, services, step, on_failure, error IS NOT NULL"
    "  FROM turns CROSS JOIN jobs ON jobs.id = turns.job WHERE turns.job <= ?1 AND state < 5"
    " UNION ALL SELECT action, services, step, on_failure, error IS NOT NULL"
    "  FROM jobs NOT INDEXED WHERE id > ?1 AND state < 5)"
    " SELECT service.value, count(*) FROM open, json_each(open.services) AS service,"
    "  json_each(?2) AS asked"
    " WHERE service.value = asked.key AND ";
// As may_call() and may_undo() in cells/model/job.hpp.
constexpr const char* may_call_sql =
    "iif(compensates, service.key <= step, service.key >= step OR on_failure = 1)";
constexpr const char* may_undo_sql =
    "on_failure = 1 AND (NOT compensates OR service.key <= step)"
    " AND (action IN (SELECT value FROM json_each(asked.value, '$.actions')))"
    "     <> json_extract(asked.value, '$.others')";

/// As shown_state() in cells/model/job.hpp, of a row with filter_columns.
JobState shown_state_of(const Statement& row) {
  return row.integer(7) != 0 ? JobState::compensating : static_cast<JobState>(row.integer(1));
}

/// A read transaction: all statements in it see the same state.
class Snapshot {
 public:
  explicit Snapshot(Connection& connection) : connection_(connection) {
    connection_.execute("BEGIN");
  }
  ~Snapshot() { sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Connection& connection_;
};

/// Merges statements, each of which returns its rows in descending order of their ids.
class Merged {
 public:
  explicit Merged(std::vector<Statement> sources) : sources_(std::move(sources)) {
    for (auto& source : sources_) {
      if (source.step()) open_.push_back(&source);
    }
    std::make_heap(open_.begin(), open_.end(), lesser);
  }

  bool at_end() const { return open_.empty(); }
  const Statement& row() const { return *open_.front(); }
  void advance() {
    std::pop_heap(open_.begin(), open_.end(), lesser);
    if (open_.back()->step()) {
      std::push_heap(open_.begin(), open_.end(), lesser);
    } else {
      open_.pop_back();
    }
  }

 private:
  static bool lesser(const Statement* a, const Statement* b) {
    return a->integer(0) < b->integer(0);
  }

  std::vector<Statement> sources_;
  std::vector<Statement*> open_;
};

}  // namespace

Connection open_for_reading(const std::string& path) {
  Connection connection{path, Connection::Access::read_only};
  sqlite3_busy_timeout(connection.handle(), busy_timeout_ms);
  // Only the writer may checkpoint: checkpoints of two connections can undo each other's work.
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  connection.execute("PRAGMA mmap_size = 0");
  return connection;
}

SqliteReads::SqliteReads(const std::string& path, const ReadLimits& limits)
    : limits_(limits),
      connection_(open_for_reading(path)),
      names_(connection_, limits.names_max),
      select_job_(connection_, select_jobs("WHERE id = ?1")),
      select_batch_(connection_, select_batches("WHERE id = ?1")),
      select_indexed_id_(connection_, indexed_id),
      select_cell_(connection_, "SELECT id FROM cells WHERE customer = ?1 AND product = ?2"),
      select_turns_(connection_, turns_of_cell),
      select_state_(connection_, "SELECT state FROM jobs WHERE id = ?1"),
      select_recent_queued_(connection_, recent_queued) {}

JobFound SqliteReads::read(const FindJob& request) {
  const Snapshot snapshot{connection_};
  return {find(request.id)};
}

JobsListed SqliteReads::read(const ListJobs& request) {
  JobsListed page;
  const auto range = id_range(request);
  if (range.empty()) return page;
  const Snapshot snapshot{connection_};
  Merged rows{sources(request.filter, range)};
  std::size_t bytes = 0;
  JobId last = range.end;
  for (std::size_t scanned = 0; !rows.at_end(); ++scanned, rows.advance()) {
    if (scanned >= limits_.rows_max) {
      page.next = last;
      break;
    }
    last = static_cast<JobId>(rows.row().integer(0));
    if (!may_match(request.filter, rows.row())) continue;
    if (page.jobs.size() >= request.limit || bytes > request.bytes_max) {
      page.next = last + 1;  // Must not reveal the ids of jobs that the filter excludes.
      page.full = true;
      break;
    }
    auto job = find(last);
    if (!job || !matches(request.filter, *job)) continue;
    bytes += approximate_bytes(*job);
    page.jobs.push_back(std::move(job));
  }
  return page;
}

BatchFound SqliteReads::read(const FindBatch& request) {
  const ResetAtEnd reset{select_batch_};
  if (!select_batch_.bind(1, static_cast<std::int64_t>(request.id)).step()) return {};
  return {read_batch(select_batch_)};
}

BatchesListed SqliteReads::read(const ListBatches& request) {
  std::string where = "NOT INDEXED WHERE id < ?1";
  if (request.owner)
    where = "INDEXED BY batches_by_owner WHERE id < ?1 AND token = ?2 AND customer = ?3";
  if (request.only_cancelled) {
    where = "INDEXED BY batches_marked WHERE id < ?1 AND marks <> 0 AND marks & 2";
    if (request.owner) where += " AND token = ?2 AND customer = ?3";
  }
  Statement row{connection_, select_batches((where + " ORDER BY id DESC").c_str())};
  constexpr auto id_max = std::numeric_limits<std::int64_t>::max();
  row.bind(1, request.before == 0 ? id_max : static_cast<std::int64_t>(request.before));
  if (request.owner) {
    row.bind(2, std::string_view{request.owner->token});
    row.bind(3, std::string_view{request.owner->customer});
  }
  BatchesListed page;
  while (row.step()) {
    if (page.batches.size() == request.limit) {
      page.next = page.batches.back().id;
      break;
    }
    page.batches.push_back(read_batch(row));
  }
  return page;
}

OldestQueued SqliteReads::read(const FindOldestQueued& request) {
  const Snapshot snapshot{connection_};
  const auto indexed = indexed_id_now();
  std::unordered_map<std::int64_t, std::int64_t> recent;  // By cell.
  const ResetAtEnd reset{select_recent_queued_};
  for (select_recent_queued_.bind(1, indexed); select_recent_queued_.step();) {
    const auto place = select_recent_queued_.integer(1);
    const auto [found, added] = recent.try_emplace(select_recent_queued_.integer(0), place);
    if (!added) found->second = std::min(found->second, place);
  }
  OldestQueued oldest;
  for (const auto& key : request.cells) {
    auto place = no_place;
    if (const auto cell = cell_id(key)) {
      if (const auto found = recent.find(*cell); found != recent.end()) place = found->second;
      place = std::min(place, oldest_indexed(*cell));
    }
    oldest.places.push_back(place == no_place ? 0 : static_cast<JobId>(place));
  }
  return oldest;
}

/// The lowest place of a queued job of the cell among the indexed jobs, or a lower one, if many
/// jobs wait for another attempt. Looks at the first jobs of each routing key and turn.
std::int64_t SqliteReads::oldest_indexed(std::int64_t cell) {
  const ResetAtEnd reset{select_turns_};
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  select_turns_.bind(1, cell).bind(2, least).bind(3, least);
  auto oldest = no_place;
  std::int64_t routing_key = least;
  std::int64_t turn = least;
  bool has_more = false;  // Of this routing key and turn, jobs that may be the oldest.
  std::size_t states = 0;
  for (std::size_t passed = 0; select_turns_.step();) {
    if (select_turns_.integer(0) != routing_key || select_turns_.integer(1) != turn) {
      routing_key = select_turns_.integer(0);
      turn = select_turns_.integer(1);
      has_more = is_turn_of_queued(turn);
      passed = 0;
    }
    const auto place = select_turns_.integer(2);
    if (has_more && place < oldest) {
      if (states++ < limits_.states_max && !is_queued(select_turns_.integer(3))) continue;
      oldest = place;
    }
    has_more = false;
    if (++passed <= limits_.passed_max) continue;
    select_turns_.reset();
    select_turns_.bind(2, routing_key).bind(3, turn + 1);
  }
  return oldest;
}

bool SqliteReads::is_queued(std::int64_t job) {
  const ResetAtEnd reset{select_state_};
  return select_state_.bind(1, job).step() &&
         static_cast<JobState>(select_state_.integer(0)) == JobState::queued;
}

std::optional<std::int64_t> SqliteReads::cell_id(const CellKey& key) {
  const ResetAtEnd reset{select_cell_};
  select_cell_.bind(1, std::string_view{key.customer}).bind(2, std::string_view{key.product});
  return select_cell_.step() ? std::optional{select_cell_.integer(0)} : std::nullopt;
}

std::int64_t SqliteReads::indexed_id_now() {
  const ResetAtEnd reset{select_indexed_id_};
  return select_indexed_id_.step() ? select_indexed_id_.integer(0) : 0;
}

JobPtr SqliteReads::find(JobId id) {
  const ResetAtEnd reset{select_job_};
  if (!select_job_.bind(1, static_cast<std::int64_t>(id)).step()) return nullptr;
  return read_job(select_job_, names_).job;
}

/// Statements that, merged, list a superset of the jobs of this range that match the filter. Uses
/// the most selective index. Each statement has one lower and one upper bound on ids: SQLite would
/// read, and pass over, the rows that a second bound excludes.
std::vector<Statement> SqliteReads::sources(const JobFilter& filter, const IdRange& range) {
  const auto first_recent = static_cast<JobId>(indexed_id_now() + 1);
  const IdRange indexed{range.first, std::min(range.end, first_recent)};
  const IdRange recent{std::max(range.first, first_recent), range.end};
  const auto statement = [this, &filter](const char* from, const char* order, const IdRange& ids) {
    std::string sql = filter_columns;
    if (filter.batch) sql += batch_column;
    sql += " FROM ";
    sql += from;
    sql += order;
    Statement opened{connection_, sql};
    opened.bind(1, static_cast<std::int64_t>(ids.first));
    opened.bind(2, static_cast<std::int64_t>(ids.end));
    return opened;
  };
  constexpr const char* by_id = " AND jobs.id >= ?1 AND jobs.id < ?2 ORDER BY jobs.id DESC";
  constexpr const char* by_job = " AND job >= ?1 AND job < ?2 ORDER BY job DESC";
  std::vector<Statement> opened;
  if (filter.entity_id) {
    const auto hash = entity_hash(*filter.entity_id);
    opened.push_back(statement("jobs_of_entity CROSS JOIN jobs ON jobs.id = job WHERE hash = ?3",
                               by_job, indexed));
    opened.back().bind(3, hash);
    // The ids of a partition are above those of the one before.
    opened.push_back(
        statement("index_partitions AS listed"
                  " CROSS JOIN jobs_of_entity_by_part AS keys ON keys.part = listed.part"
                  " CROSS JOIN jobs ON jobs.id = job"
                  " WHERE index_name = 'jobs_of_entity' AND after_id < ?2 AND hash = ?3"
                  " AND job >= ?1 AND job < ?2",
                  " ORDER BY listed.part DESC, job DESC", indexed));
    opened.back().bind(3, hash);
    opened.push_back(statement("jobs NOT INDEXED WHERE entity_id = ?3", by_id, recent));
    opened.back().bind_copy(3, *filter.entity_id);
  } else if (filter.batch) {
    const auto batch = static_cast<std::int64_t>(*filter.batch);
    opened.push_back(
        statement("jobs_of_batch CROSS JOIN jobs ON jobs.id = job"
                  " WHERE jobs_of_batch.batch = ?3",
                  by_job, indexed));
    opened.back().bind(3, batch);
    opened.push_back(statement("jobs NOT INDEXED WHERE jobs.batch = ?3", by_id, recent));
    opened.back().bind(3, batch);
  } else if (!filter.labels.empty()) {
    const auto& [name, value] = *filter.labels.begin();
    opened.push_back(
        statement("job_labels CROSS JOIN jobs ON jobs.id = job_labels.job"
                  " WHERE name = ?3 AND value = ?4",
                  by_job, range));
    opened.back().bind_copy(3, name).bind_copy(4, value);
  } else if (const auto few = routing_keys(filter)) {
    for (const auto routing_key : *few) {
      opened.push_back(
          statement("jobs_of_origin CROSS JOIN jobs ON jobs.id = job"
                    " WHERE jobs_of_origin.origin = ?3",
                    by_job, indexed));
      opened.back().bind(3, routing_key);
    }
    const auto all = json::dump(json::Value(*few));
    opened.push_back(statement("jobs NOT INDEXED WHERE origin IN (SELECT value FROM json_each(?3))",
                               by_id, recent));
    opened.back().bind_copy(3, all);
  } else if (filter.state && *filter.state != JobState::queued &&
             *filter.state != JobState::succeeded) {
    const auto in_state = [&](JobState state) {
      opened.push_back(statement(
          "jobs INDEXED BY jobs_by_state WHERE state = ?3 AND state NOT IN (1, 5)", by_id, range));
      opened.back().bind(3, static_cast<std::int64_t>(state));
    };
    in_state(*filter.state);
    if (*filter.state == JobState::compensating) in_state(JobState::running);  // An undo.
  } else {
    opened.push_back(statement("jobs NOT INDEXED WHERE true", by_id, range));
  }
  return opened;
}

/// The routing keys that match a filter's customer and product. None if the filter names neither,
/// or if more than `merged_max` match.
std::optional<std::vector<std::int64_t>> SqliteReads::routing_keys(const JobFilter& filter) {
  if (!filter.customer && !filter.product) return std::nullopt;
  std::string sql = "SELECT id FROM origins WHERE ";
  if (filter.customer) sql += "customer = ?1";
  if (filter.customer && filter.product) sql += " AND ";
  if (filter.product) sql += "product = ?2";
  Statement row{connection_, sql + " LIMIT " + std::to_string(limits_.merged_max + 1)};
  if (filter.customer) row.bind(1, std::string_view{*filter.customer});
  if (filter.product) row.bind(2, std::string_view{*filter.product});
  std::vector<std::int64_t> found;
  while (row.step()) found.push_back(row.integer(0));
  if (found.size() > limits_.merged_max) return std::nullopt;
  return found;
}

/// False if the row cannot match. This searches services and labels as text, which can find too
/// much, so the caller decodes a job that passes and checks it again.
bool SqliteReads::may_match(const JobFilter& filter, const Statement& row) {
  if (filter.state && shown_state_of(row) != *filter.state) return false;
  if (filter.batch && static_cast<std::int64_t>(*filter.batch) != row.integer(8)) return false;
  if (filter.unfinished && is_ended(static_cast<JobState>(row.integer(1)))) return false;
  if (filter.customer || filter.product) {
    const auto& routing_key = names_.routing_key(row.integer(2));
    if (filter.customer && *filter.customer != routing_key.customer) return false;
    if (filter.product && *filter.product != routing_key.product) return false;
  }
  if (filter.entity_type && *filter.entity_type != row.text(3)) return false;
  if (filter.entity_id && *filter.entity_id != row.text(4)) return false;
  const auto contains = [](std::string_view text, const std::string& part) {
    return text.find(part) != std::string_view::npos;
  };
  if (filter.service && !contains(row.text(5), json::quote(*filter.service))) return false;
  return std::all_of(filter.labels.begin(), filter.labels.end(), [&](const auto& label) {
    return contains(row.text(6), json::quote(label.first) + ":" + json::quote(label.second));
  });
}

NeedsCounted SqliteReads::read(const CountNeeds& request) {
  const Snapshot snapshot{connection_};
  auto services = json::Value::object();
  for (const auto& name : request.services) services[name] = nullptr;
  auto undos = json::Value::object();
  for (const auto& [name, actions] : request.undos)
    undos[name] = {{"actions", actions.named}, {"others", actions.others ? 1 : 0}};
  return {count_needs(services, may_call_sql), count_needs(undos, may_undo_sql)};
}

std::map<std::string, std::uint64_t> SqliteReads::count_needs(const json::Value& services,
                                                              const char* condition) {
  std::map<std::string, std::uint64_t> jobs;
  if (services.empty()) return jobs;
  const std::string asked = json::dump(services);
  Statement row{connection_, std::string{needs} + condition + " GROUP BY service.value"};
  for (row.bind(1, indexed_id_now()).bind(2, std::string_view{asked}); row.step();) {
    jobs[std::string{row.text(0)}] = static_cast<std::uint64_t>(row.integer(1));
  }
  return jobs;
}

// --- Names -----------------------------------------------------------------------------------

SqliteReads::CachedNames::CachedNames(Connection& connection, std::size_t names_max)
    : names_max_(names_max),
      select_cell_(connection, "SELECT customer, product FROM cells WHERE id = ?1"),
      select_routing_key_(connection, "SELECT customer, product FROM origins WHERE id = ?1"),
      select_lane_(connection, "SELECT service FROM lanes WHERE id = ?1") {}

const CellKey& SqliteReads::CachedNames::cell(std::int64_t id) {
  if (const auto known = cells_.find(id); known != cells_.end()) return known->second;
  const ResetAtEnd reset{select_cell_};
  if (!select_cell_.bind(1, id).step()) throw SqliteFailure("a stored job names an unknown cell");
  if (cells_.size() >= names_max_) cells_.clear();
  return cells_[id] = {std::string{select_cell_.text(0)}, std::string{select_cell_.text(1)}};
}

const RoutingKey& SqliteReads::CachedNames::routing_key(std::int64_t id) {
  if (const auto known = routing_keys_.find(id); known != routing_keys_.end()) return known->second;
  const ResetAtEnd reset{select_routing_key_};
  if (!select_routing_key_.bind(1, id).step()) {
    throw SqliteFailure("a stored job names an unknown routing key");
  }
  if (routing_keys_.size() >= names_max_) routing_keys_.clear();
  return routing_keys_[id] = {std::string{select_routing_key_.text(0)},
                              std::string{select_routing_key_.text(1)}};
}

const std::string& SqliteReads::CachedNames::lane(std::int64_t id) {
  if (const auto known = lanes_.find(id); known != lanes_.end()) return known->second;
  if (id == 0) return lanes_[0];
  const ResetAtEnd reset{select_lane_};
  if (!select_lane_.bind(1, id).step()) throw SqliteFailure("a stored job names an unknown lane");
  return lanes_[id] = select_lane_.text(0);
}

}  // namespace celld::store
