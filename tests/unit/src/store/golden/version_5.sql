-- Made by celld 0.1.0 with tests/unit/src/store/golden/make. Never edit this file.
PRAGMA application_id = 1128614980;
PRAGMA user_version = 5;
BEGIN TRANSACTION;
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
INSERT INTO "batches" VALUES(1882674396409102336,'','',1795458218011,1795458218014,0,2,1,0,0,0,0,1,0,0);
CREATE TABLE cell_overrides (
  cell      INTEGER PRIMARY KEY REFERENCES cells,
  pool_size INTEGER,
  state     INTEGER NOT NULL
);
INSERT INTO "cell_overrides" VALUES(1,7,0);
INSERT INTO "cell_overrides" VALUES(2,NULL,1);
CREATE TABLE cells (
  id       INTEGER PRIMARY KEY,
  customer TEXT NOT NULL,
  product  TEXT NOT NULL,
  UNIQUE (customer, product)
);
INSERT INTO "cells" VALUES(1,'acme','*');
INSERT INTO "cells" VALUES(2,'*','*');
INSERT INTO "cells" VALUES(3,'bolt','mail');
CREATE TABLE idempotency_keys (
  customer TEXT NOT NULL,
  key      TEXT NOT NULL,
  job      INTEGER NOT NULL REFERENCES jobs,
  digest   TEXT NOT NULL,  -- Of the request.
  PRIMARY KEY (customer, key)
) WITHOUT ROWID;
INSERT INTO "idempotency_keys" VALUES('bolt','key-13',1882674396405956608,'39cdb01c8180528e847e9ef626e2ef877cca4b0d4f3949ae0aee9b953bd68ec2');
CREATE TABLE job_labels (
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  job   INTEGER NOT NULL REFERENCES jobs,
  PRIMARY KEY (name, value, job)
) WITHOUT ROWID;
INSERT INTO "job_labels" VALUES('ticket','T-0',1882674396161638400);
INSERT INTO "job_labels" VALUES('ticket','T-1',1882674396168978432);
INSERT INTO "job_labels" VALUES('ticket','T-10',1882674396250767360);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882674396306341888);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882674396400713728);
INSERT INTO "job_labels" VALUES('ticket','T-12',1882674396404908032);
INSERT INTO "job_labels" VALUES('ticket','T-13',1882674396405956608);
INSERT INTO "job_labels" VALUES('ticket','T-14',1882674396407005184);
INSERT INTO "job_labels" VALUES('ticket','T-15',1882674396410150912);
INSERT INTO "job_labels" VALUES('ticket','T-16',1882674396410150913);
INSERT INTO "job_labels" VALUES('ticket','T-2',1882674396180512768);
INSERT INTO "job_labels" VALUES('ticket','T-3',1882674396200435712);
INSERT INTO "job_labels" VALUES('ticket','T-4',1882674396205678592);
INSERT INTO "job_labels" VALUES('ticket','T-5',1882674396209872896);
INSERT INTO "job_labels" VALUES('ticket','T-6',1882674396217212928);
INSERT INTO "job_labels" VALUES('ticket','T-7',1882674396221407232);
INSERT INTO "job_labels" VALUES('ticket','T-8',1882674396226650112);
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
, batch INTEGER);
INSERT INTO "jobs" VALUES(1882674396161638400,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e0.example','["works","works2"]','{"ticket":"T-0"}',NULL,5,30000,5,0,1795458217775,NULL,NULL,1795458217,3,2,0,0,1795458217775,1795458217796,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795458217775,"finished_at":1795458217783},{"state":"succeeded","attempts":1,"started_at":1795458217795,"finished_at":1795458217796}]','[{"time":1795458217783,"severity":"info","service":"works","text":"made"},{"time":1795458217796,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":0,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396168978432,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e1.example','["works","works2"]','{"ticket":"T-1"}',NULL,5,30000,5,0,1795458217782,NULL,NULL,1795458217,4,2,0,0,1795458217790,1795458217808,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795458217790,"finished_at":1795458217792},{"state":"succeeded","attempts":1,"started_at":1795458217802,"finished_at":1795458217808}]','[{"time":1795458217792,"severity":"info","service":"works","text":"made"},{"time":1795458217808,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":1,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396180512768,1,3,5,NULL,0,NULL,NULL,'create','zone',NULL,'e2.example','["works","works2"]','{"ticket":"T-2"}',NULL,5,30000,5,0,1795458217793,NULL,NULL,1795458217,7,2,0,0,1795458217807,1795458217820,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795458217807,"finished_at":1795458217813},{"state":"succeeded","attempts":1,"started_at":1795458217818,"finished_at":1795458217820}]','[{"time":1795458217813,"severity":"info","service":"works","text":"made"},{"time":1795458217820,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":2,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396200435712,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e3.example','["works","works2"]','{"ticket":"T-3"}',NULL,5,30000,5,0,1795458217812,NULL,NULL,1795458217,9,2,0,0,1795458217815,1795458217829,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795458217815,"finished_at":1795458217820},{"state":"succeeded","attempts":1,"started_at":1795458217822,"finished_at":1795458217829}]','[{"time":1795458217820,"severity":"info","service":"works","text":"made"},{"time":1795458217828,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":3,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396205678592,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e4.example','["works","works2"]','{"ticket":"T-4"}',NULL,5,30000,5,0,1795458217817,NULL,NULL,1795458217,11,2,0,0,1795458217819,1795458217828,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795458217819,"finished_at":1795458217821},{"state":"succeeded","attempts":1,"started_at":1795458217823,"finished_at":1795458217828}]','[{"time":1795458217821,"severity":"info","service":"works","text":"made"},{"time":1795458217828,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":4,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396209872896,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e5.example','["works","works2"]','{"ticket":"T-5"}',NULL,5,30000,5,0,1795458217821,NULL,NULL,1795458217,12,2,0,0,1795458217822,1795458217830,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795458217822,"finished_at":1795458217828},{"state":"succeeded","attempts":1,"started_at":1795458217829,"finished_at":1795458217830}]','[{"time":1795458217828,"severity":"info","service":"works","text":"made"},{"time":1795458217830,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":5,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396217212928,1,3,6,NULL,0,NULL,NULL,'create','zone',NULL,'e6.example','["works","refuses"]','{"ticket":"T-6"}',NULL,5,30000,5,0,1795458217828,NULL,NULL,1795458217,14,1,0,0,1795458217830,1795458217836,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795458217830,"finished_at":1795458217831},{"state":"failed","attempts":1,"started_at":1795458217835,"finished_at":1795458217836}]','[{"time":1795458217831,"severity":"info","service":"works","text":"made"},{"time":1795458217836,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":6,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396221407232,3,4,6,NULL,0,NULL,NULL,'create','zone',NULL,'e7.example','["works","refuses"]','{"ticket":"T-7"}',NULL,5,30000,5,0,1795458217832,NULL,NULL,1795458217,16,1,0,0,1795458217835,1795458217844,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795458217835,"finished_at":1795458217837},{"state":"failed","attempts":1,"started_at":1795458217840,"finished_at":1795458217844}]','[{"time":1795458217837,"severity":"info","service":"works","text":"made"},{"time":1795458217844,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":7,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396226650112,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e8.example','["works","refuses"]','{"ticket":"T-8"}',NULL,5,30000,5,0,1795458217837,NULL,NULL,1795458217,18,1,0,0,1795458217840,1795458217854,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795458217840,"finished_at":1795458217845},{"state":"failed","attempts":1,"started_at":1795458217850,"finished_at":1795458217854}]','[{"time":1795458217844,"severity":"info","service":"works","text":"made"},{"time":1795458217854,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":8,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396250767360,1,3,3,1882674396250767360,1,13,1795458817863,'create','zone',NULL,'e10.example','["waits"]','{"ticket":"T-10"}',NULL,5,30000,5,0,1795458217860,NULL,NULL,1795458217,19,0,0,0,1795458217860,NULL,1795458817863,NULL,'[{"state":"retrying","attempts":1,"started_at":1795458217860}]','[{"time":1795458217863,"severity":"warning","service":"waits","text":"waits answered with HTTP status 503."}]',NULL,NULL,'{"n":10,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396306341888,3,4,2,1882674396306341888,1,12,NULL,'create','zone',NULL,'e11.example','["works","hangs"]','{"ticket":"T-11"}',NULL,5,30000,5,0,1795458217913,NULL,NULL,1795458217,21,1,0,0,1795458217916,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795458217916,"finished_at":1795458217918},{"state":"running","attempts":1,"started_at":1795458217919}]','[{"time":1795458217918,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396400713728,3,4,1,1882674396400713728,0,11,NULL,'create','zone',NULL,'e11.example','["works"]','{"ticket":"T-11"}',NULL,9,30000,5,0,1795458218003,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396404908032,1,1,0,NULL,0,10,1798458218007,'create','zone',NULL,'e12.example','["works"]','{"ticket":"T-12"}',NULL,5,30000,5,0,1795458218007,1798458218007,4070908800000,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":12,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396405956608,2,2,0,NULL,0,10,1798458218008,'create','zone',NULL,'e13.example','["works"]','{"ticket":"T-13"}',NULL,5,30000,5,0,1795458218008,1798458218008,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":13,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396407005184,1,3,7,NULL,0,NULL,NULL,'create','zone',NULL,'e14.example','["works"]','{"ticket":"T-14"}',NULL,5,30000,5,0,1795458218009,1796458218009,NULL,NULL,NULL,0,0,1,NULL,1795458218010,NULL,NULL,'[{"state":"skipped","attempts":0}]',NULL,'{"code":"cancelled","message":"the job was cancelled","service":""}',NULL,'{"n":14,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882674396410150912,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e15.example','["works"]','{"ticket":"T-15"}',NULL,5,30000,5,0,1795458218012,NULL,NULL,1795458217,22,1,0,0,1795458218013,1795458218014,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795458218013,"finished_at":1795458218014}]','[{"time":1795458218014,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":15,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1882674396409102336);
INSERT INTO "jobs" VALUES(1882674396410150913,1,1,0,NULL,0,10,1796458218012,'create','zone',NULL,'e16.example','["works"]','{"ticket":"T-16"}',NULL,5,30000,5,0,1795458218012,1796458218012,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":16,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1882674396409102336);
CREATE TABLE jobs_of_batch (
  batch INTEGER NOT NULL,
  job   INTEGER NOT NULL,
  PRIMARY KEY (batch, job)
) WITHOUT ROWID;
CREATE TABLE jobs_of_entity (
  hash INTEGER NOT NULL,  -- Of the entity id.
  job  INTEGER NOT NULL,
  PRIMARY KEY (hash, job)
) WITHOUT ROWID;
CREATE TABLE jobs_of_origin (
  origin INTEGER NOT NULL,
  job    INTEGER NOT NULL,
  PRIMARY KEY (origin, job)
) WITHOUT ROWID;
CREATE TABLE lines (
  hash  INTEGER NOT NULL,
  place INTEGER NOT NULL,
  job   INTEGER NOT NULL,
  PRIMARY KEY (hash, place, job)
) WITHOUT ROWID;
CREATE TABLE origins (
  id       INTEGER PRIMARY KEY,
  customer TEXT NOT NULL,
  product  TEXT NOT NULL,
  UNIQUE (customer, product)
);
INSERT INTO "origins" VALUES(1,'acme','dns');
INSERT INTO "origins" VALUES(2,'bolt','dns');
INSERT INTO "origins" VALUES(3,'acme','mail');
INSERT INTO "origins" VALUES(4,'bolt','mail');
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
INSERT INTO "route_changes" VALUES(1,1,1,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(2,1,1,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(3,2,2,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(4,1,1,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(5,2,2,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(6,2,2,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(7,1,3,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(8,1,1,0,0,0,0,0,0,0);
INSERT INTO "route_changes" VALUES(9,2,2,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(10,1,3,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(11,2,2,0,0,0,0,0,0,0);
INSERT INTO "route_changes" VALUES(12,3,4,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(13,1,3,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(14,3,4,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(15,1,1,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(16,1,3,0,0,0,0,0,0,0);
INSERT INTO "route_changes" VALUES(17,1,1,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(18,3,4,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(19,2,2,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(20,1,1,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(21,3,4,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(22,2,2,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(23,1,1,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(24,2,2,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(25,1,1,0,0,0,0,0,0,0);
INSERT INTO "route_changes" VALUES(26,1,3,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(27,3,4,0,0,0,0,0,0,0);
INSERT INTO "route_changes" VALUES(28,2,2,0,0,0,0,0,0,0);
INSERT INTO "route_changes" VALUES(29,1,3,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(30,1,3,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(31,3,4,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(32,1,3,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(33,3,4,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(34,1,3,0,0,0,0,0,0,0);
INSERT INTO "route_changes" VALUES(35,3,4,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(36,1,1,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(37,3,4,0,0,0,0,0,0,0);
INSERT INTO "route_changes" VALUES(38,1,1,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(39,1,1,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(40,1,1,0,0,0,0,0,0,0);
INSERT INTO "route_changes" VALUES(41,1,3,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(42,1,3,0,0,0,1,0,0,0);
INSERT INTO "route_changes" VALUES(43,3,4,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(44,3,4,0,1,0,0,0,0,1);
INSERT INTO "route_changes" VALUES(45,3,4,0,0,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(46,3,4,0,1,1,0,0,0,0);
INSERT INTO "route_changes" VALUES(47,1,1,1,0,0,0,0,0,0);
INSERT INTO "route_changes" VALUES(48,2,2,1,0,0,0,0,0,0);
INSERT INTO "route_changes" VALUES(49,1,3,1,0,0,1,0,0,0);
INSERT INTO "route_changes" VALUES(50,1,3,0,0,0,1,0,0,0);
INSERT INTO "route_changes" VALUES(51,3,4,0,2,1,0,0,0,1);
INSERT INTO "route_changes" VALUES(52,1,1,2,0,0,0,0,0,0);
INSERT INTO "route_changes" VALUES(53,3,4,0,1,2,0,0,0,0);
INSERT INTO "route_changes" VALUES(54,3,4,0,1,1,0,0,0,0);
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
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "settings" VALUES('epoch',1795458217);
INSERT INTO "settings" VALUES('indexed_id',0);
INSERT INTO "settings" VALUES('indexing_id',0);
INSERT INTO "settings" VALUES('last_place',0);
CREATE TABLE turns (
  cell   INTEGER NOT NULL,
  origin INTEGER NOT NULL,
  turn   INTEGER NOT NULL,
  place  INTEGER NOT NULL,  -- 0: the job has none.
  job    INTEGER NOT NULL,
  PRIMARY KEY (cell, origin, turn, place, job)
) WITHOUT ROWID;
CREATE INDEX origins_product ON origins (product);
CREATE INDEX jobs_due ON jobs (cell, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_held ON jobs (marks) WHERE marks & 2;
CREATE INDEX jobs_by_state ON jobs (state) WHERE state NOT IN (1, 5);
CREATE INDEX idempotency_keys_by_job ON idempotency_keys (job);
CREATE INDEX jobs_ended ON jobs (finished_at) WHERE turn IS NULL;
CREATE VIEW route_counts AS
SELECT cell, origin, scheduled, queued, running, retrying, compensating, settling, runnable
FROM (SELECT *, max(number)
      FROM (SELECT 0 AS number, * FROM routes UNION ALL SELECT * FROM route_changes)
      GROUP BY cell, origin);
CREATE INDEX batches_by_owner ON batches (token, customer);
CREATE INDEX batches_marked ON batches (marks) WHERE marks <> 0;
CREATE INDEX batches_deserted ON batches (last_end) WHERE stored = 0;
CREATE VIEW jobs_for_people AS
SELECT jobs.id, origins.customer, origins.product, cells.customer || '/' || cells.product AS cell,
       CASE state WHEN 0 THEN 'scheduled' WHEN 1 THEN 'queued' WHEN 2 THEN 'running'
                  WHEN 3 THEN 'retrying' WHEN 4 THEN 'compensating' WHEN 5 THEN 'succeeded'
                  WHEN 6 THEN 'failed' WHEN 7 THEN 'cancelled' END AS state,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') AS finished_at,
       action, entity_type, entity_id, services, step, steps, properties, messages, error, batch
FROM jobs JOIN cells ON cells.id = jobs.cell JOIN origins ON origins.id = jobs.origin;
COMMIT;
