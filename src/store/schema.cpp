#include "src/store/schema.hpp"

#include <array>

#include "cells/model/quota.hpp"
#include "src/store/job_indexes.hpp"
#include "src/store/job_texts.hpp"

namespace celld::store {
namespace {

// Times are milliseconds since 1970 UTC. `state` and the other small numbers are the values of the
// enumerations in cells/model/job.hpp; the view `jobs_for_people` shows their names.
constexpr const char* version_1 = R"sql(
CREATE TABLE cells (
  id       INTEGER PRIMARY KEY,
  customer TEXT NOT NULL,
  product  TEXT NOT NULL,
  UNIQUE (customer, product)
);

-- Where jobs come from.
CREATE TABLE origins (
  id       INTEGER PRIMARY KEY,
  customer TEXT NOT NULL,
  product  TEXT NOT NULL,
  UNIQUE (customer, product)
);
CREATE INDEX origins_product ON origins (product);

-- How many jobs of an origin a cell has; kept in step with `jobs`, so that a start need not count.
CREATE TABLE routes (
  cell         INTEGER NOT NULL REFERENCES cells,
  origin       INTEGER NOT NULL REFERENCES origins,
  scheduled    INTEGER NOT NULL,
  queued       INTEGER NOT NULL,
  running      INTEGER NOT NULL,
  retrying     INTEGER NOT NULL,
  compensating INTEGER NOT NULL,
  settling     INTEGER NOT NULL,  -- Ended, and still in their lines.
  runnable     INTEGER NOT NULL,
  PRIMARY KEY (cell, origin)
) WITHOUT ROWID;

CREATE TABLE pool_overrides (
  cell INTEGER PRIMARY KEY REFERENCES cells,
  size INTEGER NOT NULL
);

-- `epoch`: of the last start. `last_place`: no place was ever greater, unless it was a job's id.
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO settings VALUES ('epoch', 0), ('last_place', 0);

CREATE TABLE jobs (
  id               INTEGER PRIMARY KEY,
  cell             INTEGER NOT NULL REFERENCES cells,
  origin           INTEGER NOT NULL REFERENCES origins,
  -- Where it stands. The columns of this part are the only ones in partial indexes.
  state            INTEGER NOT NULL,
  place            INTEGER,           -- In its entity's line; NULL: not in it.
  marks            INTEGER NOT NULL,  -- 1: heads its line. 2: held. 4: woken from retrying.
  turn             INTEGER,           -- Runnable: 10 - priority. Else, while it is unfinished or
                                      -- in line: 10 + state.
  due_at           INTEGER,           -- When an AdvanceDue has to look at it.
  -- What was asked for.
  action           TEXT NOT NULL,
  entity_type      TEXT NOT NULL,
  entity_subtype   TEXT,
  entity_id        TEXT NOT NULL,
  services         TEXT NOT NULL,     -- JSON array.
  labels           TEXT,              -- JSON object.
  traceparent      TEXT,
  priority         INTEGER NOT NULL,
  timeout_ms       INTEGER NOT NULL,
  max_attempts     INTEGER NOT NULL,
  on_failure       INTEGER NOT NULL,
  created_at       INTEGER NOT NULL,
  run_at           INTEGER,           -- NULL: created_at.
  expires_at       INTEGER,
  -- How far it has come.
  lease_epoch      INTEGER,
  lease_counter    INTEGER,
  step             INTEGER NOT NULL,
  interruptions    INTEGER NOT NULL,
  cancel_requested INTEGER NOT NULL,
  started_at       INTEGER,
  finished_at      INTEGER,
  next_attempt_at  INTEGER,
  settle_until     INTEGER,
  steps            TEXT,              -- JSON array; NULL: none was tried.
  messages         TEXT,              -- JSON array.
  error            TEXT,              -- JSON object.
  properties       TEXT,              -- JSON object.
  parameters       TEXT               -- JSON object, last because it can be large; NULL: {}.
);

-- Who stands in an entity's line. Not by a hash: entities that come together lie together, which
-- keeps a bulk of insertions to few pages.
CREATE INDEX jobs_line ON jobs (origin, entity_type, entity_id, place) WHERE place IS NOT NULL;
-- What a restart has something to do for, and in it, first, the runnable jobs, best first.
CREATE INDEX jobs_turn ON jobs (cell, origin, turn, place) WHERE turn IS NOT NULL;
CREATE INDEX jobs_due ON jobs (cell, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_held ON jobs (marks) WHERE marks & 2;

-- Lists, newest first. Queued and succeeded jobs are too many and too fleeting to be indexed by
-- state; a list of them walks over the others.
CREATE INDEX jobs_by_origin ON jobs (origin);
CREATE INDEX jobs_by_entity ON jobs (entity_id);
CREATE INDEX jobs_by_state ON jobs (state) WHERE state NOT IN (1, 5);
CREATE TABLE job_labels (
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  job   INTEGER NOT NULL REFERENCES jobs,
  PRIMARY KEY (name, value, job)
) WITHOUT ROWID;

CREATE VIEW jobs_for_people AS
SELECT jobs.id, origins.customer, origins.product, cells.customer || '/' || cells.product AS cell,
       CASE state WHEN 0 THEN 'scheduled' WHEN 1 THEN 'queued' WHEN 2 THEN 'running'
                  WHEN 3 THEN 'retrying' WHEN 4 THEN 'compensating' WHEN 5 THEN 'succeeded'
                  WHEN 6 THEN 'failed' WHEN 7 THEN 'cancelled' END AS state,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') AS finished_at,
       action, entity_type, entity_id, services, step, steps, properties, messages, error
FROM jobs JOIN cells ON cells.id = jobs.cell JOIN origins ON origins.id = jobs.origin;
)sql";

// Idempotency keys, each kept as long as its job; and overrides of a cell's state besides its pool
// size.
constexpr const char* version_2 = R"sql(
CREATE TABLE idempotency_keys (
  customer TEXT NOT NULL,
  key      TEXT NOT NULL,
  job      INTEGER NOT NULL REFERENCES jobs,
  digest   TEXT NOT NULL,  -- Of the request.
  PRIMARY KEY (customer, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_job ON idempotency_keys (job);

-- What an administrator changed. `state` is a value of CellState in cells/model/status.hpp.
CREATE TABLE cell_overrides (
  cell      INTEGER PRIMARY KEY REFERENCES cells,
  pool_size INTEGER,
  state     INTEGER NOT NULL
);
INSERT INTO cell_overrides SELECT cell, size, 0 FROM pool_overrides;
DROP TABLE pool_overrides;
)sql";

// Ended jobs that have left their lines, in the order in which retention removes them.
constexpr const char* version_3 = R"sql(
CREATE INDEX jobs_ended ON jobs (finished_at) WHERE turn IS NULL;
)sql";

// Indexes that celld writes behind the commits (behind_index.hpp): of the jobs up to `indexed_id`
// they have all keys, and of those up to `indexing_id` some. The last row of `route_changes` for a
// cell and origin is valid instead of the row of `routes`; the view `route_counts` has the valid
// ones.
constexpr const char* version_4 = R"sql(
-- Who stands in an entity's line, by the hash of the origin, entity type and entity id.
CREATE TABLE lines (
  hash  INTEGER NOT NULL,
  place INTEGER NOT NULL,
  job   INTEGER NOT NULL,
  PRIMARY KEY (hash, place, job)
) WITHOUT ROWID;
-- What a restart has something to do for, and in it, first, the runnable jobs, best first.
CREATE TABLE turns (
  cell   INTEGER NOT NULL,
  origin INTEGER NOT NULL,
  turn   INTEGER NOT NULL,
  place  INTEGER NOT NULL,  -- 0: the job has none.
  job    INTEGER NOT NULL,
  PRIMARY KEY (cell, origin, turn, place, job)
) WITHOUT ROWID;
-- For lists.
CREATE TABLE jobs_of_origin (
  origin INTEGER NOT NULL,
  job    INTEGER NOT NULL,
  PRIMARY KEY (origin, job)
) WITHOUT ROWID;
CREATE TABLE jobs_of_entity (
  hash INTEGER NOT NULL,  -- Of the entity id.
  job  INTEGER NOT NULL,
  PRIMARY KEY (hash, job)
) WITHOUT ROWID;

INSERT INTO lines SELECT line_hash(origin, entity_type, entity_id), place, id FROM jobs
  WHERE place IS NOT NULL ORDER BY 1, 2, 3;
INSERT INTO turns SELECT cell, origin, turn, ifnull(place, 0), id FROM jobs
  WHERE turn IS NOT NULL ORDER BY 1, 2, 3, 4, 5;
INSERT INTO jobs_of_origin SELECT origin, id FROM jobs ORDER BY 1, 2;
INSERT INTO jobs_of_entity SELECT entity_hash(entity_id), id FROM jobs ORDER BY 1, 2;
INSERT INTO settings VALUES
  ('indexed_id', (SELECT ifnull(max(id), 0) FROM jobs)),
  ('indexing_id', (SELECT ifnull(max(id), 0) FROM jobs));
DROP INDEX jobs_line;
DROP INDEX jobs_turn;
DROP INDEX jobs_by_origin;
DROP INDEX jobs_by_entity;

CREATE TABLE route_changes (
  number       INTEGER PRIMARY KEY,
  cell         INTEGER NOT NULL,
  origin       INTEGER NOT NULL,
  scheduled    INTEGER NOT NULL,
  queued       INTEGER NOT NULL,
  running      INTEGER NOT NULL,
  retrying     INTEGER NOT NULL,
  compensating INTEGER NOT NULL,
  settling     INTEGER NOT NULL,
  runnable     INTEGER NOT NULL
);
CREATE VIEW route_counts AS
SELECT cell, origin, scheduled, queued, running, retrying, compensating, settling, runnable
FROM (SELECT *, max(number)
      FROM (SELECT 0 AS number, * FROM routes UNION ALL SELECT * FROM route_changes)
      GROUP BY cell, origin);
)sql";

// Lanes: the queues of a cell. Workers inside celld take the jobs of lane 0, those outside lease
// the jobs of the other lanes, one for each pull service. `marks` now has the lane, times 8; `turn`
// of a runnable job is 100 * lane + 10 - priority; `runnable` counts those of lane 0, and `lanes`
// has the others as "lane:count", separated by spaces.
constexpr const char* version_5 = R"sql(
CREATE TABLE lanes (
  id      INTEGER PRIMARY KEY,
  service TEXT NOT NULL UNIQUE
);
ALTER TABLE routes ADD COLUMN lanes TEXT;
ALTER TABLE route_changes ADD COLUMN lanes TEXT;
DROP VIEW route_counts;
CREATE VIEW route_counts AS
SELECT cell, origin, scheduled, queued, running, retrying, compensating, settling, runnable, lanes
FROM (SELECT *, max(number)
      FROM (SELECT 0 AS number, * FROM routes UNION ALL SELECT * FROM route_changes)
      GROUP BY cell, origin);

-- What only this database knows.
INSERT INTO settings VALUES ('secret_1', random()), ('secret_2', random());
)sql";

// Batches: jobs that one request submitted. The counts of a batch change with its jobs; a removed
// job stays counted in the state in which it ended.
constexpr const char* version_6 = R"sql(
ALTER TABLE jobs ADD COLUMN batch INTEGER;  -- NULL: none.

CREATE TABLE batches (
  id           INTEGER PRIMARY KEY,
  token        TEXT NOT NULL,     -- The name of the token that posted it; empty: none.
  customer     TEXT NOT NULL,     -- That the token was bound to; empty: none.
  created_at   INTEGER NOT NULL,
  last_end     INTEGER,           -- When a job last ended, or the batch was closed.
  marks        INTEGER NOT NULL,  -- 1: open, more jobs may come. 2: its jobs are being cancelled.
  stored       INTEGER NOT NULL,  -- Jobs that have not been removed.
  scheduled    INTEGER NOT NULL,
  queued       INTEGER NOT NULL,
  running      INTEGER NOT NULL,
  retrying     INTEGER NOT NULL,
  compensating INTEGER NOT NULL,
  succeeded    INTEGER NOT NULL,
  failed       INTEGER NOT NULL,
  cancelled    INTEGER NOT NULL
);
CREATE INDEX batches_by_owner ON batches (token, customer);
CREATE INDEX batches_marked ON batches (marks) WHERE marks <> 0;
CREATE INDEX batches_deserted ON batches (last_end) WHERE stored = 0;

-- For lists; written behind the commits, like jobs_of_origin.
CREATE TABLE jobs_of_batch (
  batch INTEGER NOT NULL,
  job   INTEGER NOT NULL,
  PRIMARY KEY (batch, job)
) WITHOUT ROWID;

DROP VIEW jobs_for_people;
CREATE VIEW jobs_for_people AS
SELECT jobs.id, origins.customer, origins.product, cells.customer || '/' || cells.product AS cell,
       CASE state WHEN 0 THEN 'scheduled' WHEN 1 THEN 'queued' WHEN 2 THEN 'running'
                  WHEN 3 THEN 'retrying' WHEN 4 THEN 'compensating' WHEN 5 THEN 'succeeded'
                  WHEN 6 THEN 'failed' WHEN 7 THEN 'cancelled' END AS state,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') AS finished_at,
       action, entity_type, entity_id, services, step, steps, properties, messages, error, batch
FROM jobs JOIN cells ON cells.id = jobs.cell JOIN origins ON origins.id = jobs.origin;
)sql";

// A step in `steps` may have an `operation`, which an older celld would forget.
constexpr const char* version_7 = "";

// Compensation, which an older celld would not continue: `on_failure` 1, and a step in `steps` may
// have `in_doubt` and `undo_attempts`. A job with an error that has not ended compensates.
// `failed_ahead`: see `Followers` in cells/ports/job_store.hpp.
constexpr const char* version_8 = R"sql(
ALTER TABLE jobs ADD COLUMN failed_ahead INTEGER;  -- NULL: none.

DROP VIEW jobs_for_people;
CREATE VIEW jobs_for_people AS
SELECT jobs.id, origins.customer, origins.product, cells.customer || '/' || cells.product AS cell,
       CASE state WHEN 0 THEN 'scheduled' WHEN 1 THEN 'queued'
                  WHEN 2 THEN iif(error IS NULL, 'running', 'compensating')
                  WHEN 3 THEN 'retrying' WHEN 4 THEN 'compensating' WHEN 5 THEN 'succeeded'
                  WHEN 6 THEN 'failed' WHEN 7 THEN 'cancelled' END AS state,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') AS finished_at,
       action, entity_type, entity_id, services, step, steps, properties, messages, error, batch
FROM jobs JOIN cells ON cells.id = jobs.cell JOIN origins ON origins.id = jobs.origin;
)sql";

// Schedules. A row changes in the commit of the job that it submits.
constexpr const char* version_9 = R"sql(
CREATE TABLE schedules (
  name       TEXT PRIMARY KEY,
  revision   INTEGER NOT NULL,  -- Of what a client or the configuration wants.
  configured INTEGER NOT NULL,
  every_ms   INTEGER,           -- NULL: at the times of `cron`.
  cron       TEXT,
  time_zone  TEXT,
  overlap    INTEGER NOT NULL,
  catch_up   INTEGER NOT NULL,
  paused     INTEGER NOT NULL,
  job        TEXT NOT NULL,     -- JSON object: what is submitted.
  parameters TEXT,              -- Of the job: JSON object; NULL: {}.
  -- How far it has come.
  next_at    INTEGER,           -- The due time that is settled next.
  last_job   INTEGER,
  fired      INTEGER NOT NULL,
  skipped    INTEGER NOT NULL,
  missed     INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

// Quotas: `bytes` sums what the unfinished jobs of a cell and origin count for in a quota of bytes,
// and `quota_overrides` has the limits that an administrator set. The burst and the weight of a
// pool can be overridden, too.
constexpr const char* version_10 = R"sql(
ALTER TABLE routes ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE route_changes ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

CREATE TEMP TABLE sums (cell INTEGER, origin INTEGER, bytes INTEGER, PRIMARY KEY (cell, origin));
WITH indexed (id) AS (SELECT value FROM settings WHERE name = 'indexed_id'),
     unfinished (cell, origin, bytes) AS (
       SELECT jobs.cell, jobs.origin, job_bytes(parameters, entity_id, labels)
       FROM turns CROSS JOIN jobs ON jobs.id = turns.job
       WHERE turns.job <= (SELECT id FROM indexed) AND state < 5
       UNION ALL
       SELECT cell, origin, job_bytes(parameters, entity_id, labels)
       FROM jobs NOT INDEXED WHERE id > (SELECT id FROM indexed) AND state < 5)
INSERT INTO sums SELECT cell, origin, sum(bytes) FROM unfinished GROUP BY cell, origin;
UPDATE routes SET bytes = ifnull(
  (SELECT sums.bytes FROM sums WHERE sums.cell = routes.cell AND sums.origin = routes.origin), 0);
UPDATE route_changes SET bytes = ifnull(
  (SELECT sums.bytes FROM sums
   WHERE sums.cell = route_changes.cell AND sums.origin = route_changes.origin), 0);
DROP TABLE sums;

DROP VIEW route_counts;
CREATE VIEW route_counts AS
SELECT cell, origin, scheduled, queued, running, retrying, compensating, settling, runnable, lanes,
       bytes
FROM (SELECT *, max(number)
      FROM (SELECT 0 AS number, * FROM routes UNION ALL SELECT * FROM route_changes)
      GROUP BY cell, origin);

CREATE TABLE quota_overrides (
  cell  INTEGER NOT NULL REFERENCES cells,
  name  TEXT NOT NULL,  -- Of the setting.
  value REAL NOT NULL,  -- 0: no limit.
  PRIMARY KEY (cell, name)
) WITHOUT ROWID;

ALTER TABLE cell_overrides ADD COLUMN pool_burst INTEGER;
ALTER TABLE cell_overrides ADD COLUMN pool_weight INTEGER;
)sql";

// Rows without jobs are deleted. `stored` counts all jobs of a cell and origin, ended ones
// included. When it reaches 0, celld deletes the row, and then cells and origins without rows in
// `routes`. The greatest ids stay, because celld counts on from them.
constexpr const char* version_11 = R"sql(
CREATE TEMP TABLE valid AS SELECT * FROM route_counts;
CREATE TEMP TABLE totals AS SELECT cell, origin, count(*) AS stored FROM jobs GROUP BY cell, origin;
DELETE FROM route_changes;
DELETE FROM routes;
ALTER TABLE routes ADD COLUMN stored INTEGER NOT NULL DEFAULT 0;
ALTER TABLE route_changes ADD COLUMN stored INTEGER NOT NULL DEFAULT 0;
INSERT INTO routes (cell, origin, scheduled, queued, running, retrying, compensating, settling,
                    runnable, lanes, bytes, stored)
SELECT cell, origin, ifnull(scheduled, 0), ifnull(queued, 0), ifnull(running, 0),
       ifnull(retrying, 0), ifnull(compensating, 0), ifnull(settling, 0), ifnull(runnable, 0),
       lanes, ifnull(bytes, 0), stored
FROM totals LEFT JOIN valid USING (cell, origin) ORDER BY cell, origin;
DROP TABLE valid;
DROP TABLE totals;
CREATE INDEX routes_by_origin ON routes (origin);
DELETE FROM cells WHERE id < (SELECT max(id) FROM cells)
  AND id NOT IN (SELECT cell FROM routes UNION SELECT cell FROM cell_overrides
                 UNION SELECT cell FROM quota_overrides);
DELETE FROM origins WHERE id < (SELECT max(id) FROM origins)
  AND id NOT IN (SELECT origin FROM routes);

DROP VIEW route_counts;
CREATE VIEW route_counts AS
SELECT cell, origin, scheduled, queued, running, retrying, compensating, settling, runnable, lanes,
       bytes, stored
FROM (SELECT *, max(number)
      FROM (SELECT 0 AS number, * FROM routes UNION ALL SELECT * FROM route_changes)
      GROUP BY cell, origin);
)sql";

// Small tables beside those whose keys are random; version 14 drops them. A key is in one of the
// two.
constexpr const char* version_12 = R"sql(
CREATE TABLE lines_buffer (
  hash  INTEGER NOT NULL,
  place INTEGER NOT NULL,
  job   INTEGER NOT NULL,
  PRIMARY KEY (hash, place, job)
) WITHOUT ROWID;
CREATE TABLE jobs_of_entity_buffer (
  hash INTEGER NOT NULL,
  job  INTEGER NOT NULL,
  PRIMARY KEY (hash, job)
) WITHOUT ROWID;

-- The keys that a move has begun to write: it begins anew, and writes them to the buffers.
CREATE TEMP TABLE moving AS SELECT id, origin, place, entity_type, entity_id FROM jobs NOT INDEXED
  WHERE id > (SELECT value FROM settings WHERE name = 'indexed_id')
    AND id <= (SELECT value FROM settings WHERE name = 'indexing_id');
DELETE FROM lines WHERE (hash, place, job) IN
  (SELECT line_hash(origin, entity_type, entity_id), place, id FROM moving);
DELETE FROM jobs_of_entity WHERE (hash, job) IN (SELECT entity_hash(entity_id), id FROM moving);
DROP TABLE moving;
)sql";

// The counts of batches over their jobs in memory. A new mark of a batch, 4: its column in_memory
// is not NULL.
constexpr const char* version_13 = R"sql(
-- [jobs that have not been removed, the latest end or null, scheduled, queued, running, retrying,
-- compensating, succeeded, failed, cancelled]. They are part of the other counts.
ALTER TABLE batches ADD COLUMN in_memory TEXT;
-- Jobs in memory that had not ended when celld did.
ALTER TABLE batches ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
)sql";

// Partitions of the indexes whose keys are random: see partitions.hpp. `lines` and `jobs_of_entity`
// keep the keys of jobs that are in no partition.
constexpr const char* version_14 = R"sql(
-- A partition has keys of jobs with ids above `after_id`, and not above that of the next one.
CREATE TABLE index_partitions (
  index_name TEXT NOT NULL,     -- `lines` or `jobs_of_entity`.
  part       INTEGER NOT NULL,
  after_id   INTEGER NOT NULL,
  jobs       INTEGER NOT NULL,  -- That have come; it may have fewer keys.
  PRIMARY KEY (index_name, part)
) WITHOUT ROWID;
CREATE TABLE lines_by_part (
  part  INTEGER NOT NULL,
  hash  INTEGER NOT NULL,
  place INTEGER NOT NULL,
  job   INTEGER NOT NULL,
  PRIMARY KEY (part, hash, place, job)
) WITHOUT ROWID;
CREATE TABLE jobs_of_entity_by_part (
  part INTEGER NOT NULL,
  hash INTEGER NOT NULL,
  job  INTEGER NOT NULL,
  PRIMARY KEY (part, hash, job)
) WITHOUT ROWID;

INSERT OR IGNORE INTO lines SELECT hash, place, job FROM lines_buffer ORDER BY 1, 2, 3;
INSERT OR IGNORE INTO jobs_of_entity SELECT hash, job FROM jobs_of_entity_buffer ORDER BY 1, 2;
DROP TABLE lines_buffer;
DROP TABLE jobs_of_entity_buffer;
)sql";

constexpr const char* version_15 = R"sql(
DROP INDEX jobs_held;
CREATE INDEX jobs_held ON jobs (cell) WHERE marks & 2;
)sql";

/// Step i turns version i into version i + 1.
constexpr std::array migrations{version_1,  version_2,  version_3,  version_4,  version_5,
                                version_6,  version_7,  version_8,  version_9,  version_10,
                                version_11, version_12, version_13, version_14, version_15};

std::string_view text_of(sqlite3_value* value) {
  const auto* data = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return {data == nullptr ? "" : data, static_cast<std::size_t>(sqlite3_value_bytes(value))};
}

// Functions of SQL, for migrations: the hashes of job_indexes.hpp, and the bytes of a job.
void sql_entity_hash(sqlite3_context* context, int, sqlite3_value** arguments) {
  sqlite3_result_int64(context, entity_hash(text_of(arguments[0])));
}
void sql_line_hash(sqlite3_context* context, int, sqlite3_value** arguments) {
  sqlite3_result_int64(context, line_hash(sqlite3_value_int64(arguments[0]), text_of(arguments[1]),
                                          text_of(arguments[2])));
}

/// What version 10 sums: cells::queued_bytes, from the columns of a row.
void sql_job_bytes(sqlite3_context* context, int, sqlite3_value** arguments) {
  cells::JobSpec spec;
  if (sqlite3_value_type(arguments[0]) != SQLITE_NULL) spec.parameters = text_of(arguments[0]);
  spec.entity.id = text_of(arguments[1]);
  try {
    if (sqlite3_value_type(arguments[2]) != SQLITE_NULL) {
      spec.labels = read_labels(text_of(arguments[2]));
    }
  } catch (const SqliteFailure& failure) {
    return sqlite3_result_error(context, failure.what(), -1);
  }
  sqlite3_result_int64(context, static_cast<sqlite3_int64>(queued_bytes(spec)));
}

void define_functions(Connection& connection) {
  constexpr int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
  const auto define = [&](const char* name, int arguments, auto* function) {
    if (sqlite3_create_function_v2(connection.handle(), name, arguments, flags, nullptr, function,
                                   nullptr, nullptr, nullptr) != SQLITE_OK) {
      connection.fail("defining a function failed");
    }
  };
  define("entity_hash", 1, sql_entity_hash);
  define("line_hash", 3, sql_line_hash);
  define("job_bytes", 3, sql_job_bytes);
}

/// "CELD": marks the file as a database of celld.
constexpr std::int64_t application_id = 0x43454c44;

void check_application_id(Connection& connection) {
  if (connection.query_integer("PRAGMA application_id") == application_id) return;
  if (connection.query_integer("SELECT count(*) FROM sqlite_master") != 0) {
    throw SqliteFailure("it belongs to another program");
  }
  connection.execute(("PRAGMA application_id = " + std::to_string(application_id)).c_str());
}

void apply_migration(Connection& connection, std::size_t step) {
  connection.execute("BEGIN IMMEDIATE");
  connection.execute(migrations[step]);
  connection.execute(("PRAGMA user_version = " + std::to_string(step + 1)).c_str());
  connection.execute("COMMIT");
}

}  // namespace

const std::int64_t schema_version = migrations.size();

void migrate(Connection& connection, std::int64_t version) {
  check_application_id(connection);
  const auto found = connection.query_integer("PRAGMA user_version");
  if (found > schema_version) {
    throw SqliteFailure("it was written by a newer celld: its schema version is " +
                        std::to_string(found) + ", but this celld supports versions up to " +
                        std::to_string(schema_version));
  }
  define_functions(connection);
  for (auto step = static_cast<std::size_t>(found); step < static_cast<std::size_t>(version);
       ++step) {
    apply_migration(connection, step);
  }
}

std::string_view migration_sql(std::int64_t version) {
  return migrations.at(static_cast<std::size_t>(version - 1));
}

bool holds_older_schema(Connection& connection) {
  const auto found = connection.query_integer("PRAGMA user_version");
  return found > 0 && found < schema_version;
}

}  // namespace celld::store
