-- Made by celld 0.1.0 with tests/unit/src/store/golden/make. Never edit this file.
PRAGMA application_id = 1128614980;
PRAGMA user_version = 3;
BEGIN TRANSACTION;
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
INSERT INTO "idempotency_keys" VALUES('bolt','key-13',1882613435232944128,'39cdb01c8180528e847e9ef626e2ef877cca4b0d4f3949ae0aee9b953bd68ec2');
CREATE TABLE job_labels (
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  job   INTEGER NOT NULL REFERENCES jobs,
  PRIMARY KEY (name, value, job)
) WITHOUT ROWID;
INSERT INTO "job_labels" VALUES('ticket','T-0',1882613435148009472);
INSERT INTO "job_labels" VALUES('ticket','T-1',1882613435149058048);
INSERT INTO "job_labels" VALUES('ticket','T-10',1882613435172126720);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882613435174223872);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882613435229798400);
INSERT INTO "job_labels" VALUES('ticket','T-12',1882613435230846976);
INSERT INTO "job_labels" VALUES('ticket','T-13',1882613435232944128);
INSERT INTO "job_labels" VALUES('ticket','T-14',1882613435232944129);
INSERT INTO "job_labels" VALUES('ticket','T-2',1882613435152203776);
INSERT INTO "job_labels" VALUES('ticket','T-3',1882613435153252352);
INSERT INTO "job_labels" VALUES('ticket','T-4',1882613435155349504);
INSERT INTO "job_labels" VALUES('ticket','T-5',1882613435158495232);
INSERT INTO "job_labels" VALUES('ticket','T-6',1882613435159543808);
INSERT INTO "job_labels" VALUES('ticket','T-7',1882613435161640960);
INSERT INTO "job_labels" VALUES('ticket','T-8',1882613435163738112);
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
INSERT INTO "jobs" VALUES(1882613435148009472,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e0.example','["works","works2"]','{"ticket":"T-0"}',NULL,5,30000,5,0,1795400080822,NULL,NULL,1795400080,2,2,0,0,1795400080822,1795400080825,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795400080822,"finished_at":1795400080823},{"state":"succeeded","attempts":1,"started_at":1795400080824,"finished_at":1795400080825}]','[{"time":1795400080823,"severity":"info","service":"works","text":"made"},{"time":1795400080825,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":0,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435149058048,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e1.example','["works","works2"]','{"ticket":"T-1"}',NULL,5,30000,5,0,1795400080823,NULL,NULL,1795400080,4,2,0,0,1795400080824,1795400080828,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795400080824,"finished_at":1795400080825},{"state":"succeeded","attempts":1,"started_at":1795400080826,"finished_at":1795400080828}]','[{"time":1795400080825,"severity":"info","service":"works","text":"made"},{"time":1795400080828,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":1,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435152203776,1,3,5,NULL,0,NULL,NULL,'create','zone',NULL,'e2.example','["works","works2"]','{"ticket":"T-2"}',NULL,5,30000,5,0,1795400080826,NULL,NULL,1795400080,7,2,0,0,1795400080826,1795400080830,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795400080826,"finished_at":1795400080828},{"state":"succeeded","attempts":1,"started_at":1795400080829,"finished_at":1795400080830}]','[{"time":1795400080828,"severity":"info","service":"works","text":"made"},{"time":1795400080830,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":2,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435153252352,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e3.example','["works","works2"]','{"ticket":"T-3"}',NULL,5,30000,5,0,1795400080827,NULL,NULL,1795400080,8,2,0,0,1795400080828,1795400080831,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795400080828,"finished_at":1795400080829},{"state":"succeeded","attempts":1,"started_at":1795400080830,"finished_at":1795400080831}]','[{"time":1795400080829,"severity":"info","service":"works","text":"made"},{"time":1795400080831,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":3,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435155349504,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e4.example','["works","works2"]','{"ticket":"T-4"}',NULL,5,30000,5,0,1795400080829,NULL,NULL,1795400080,11,2,0,0,1795400080830,1795400080834,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795400080830,"finished_at":1795400080832},{"state":"succeeded","attempts":1,"started_at":1795400080833,"finished_at":1795400080834}]','[{"time":1795400080832,"severity":"info","service":"works","text":"made"},{"time":1795400080834,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":4,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435158495232,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e5.example','["works","works2"]','{"ticket":"T-5"}',NULL,5,30000,5,0,1795400080832,NULL,NULL,1795400080,13,2,0,0,1795400080832,1795400080836,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795400080832,"finished_at":1795400080834},{"state":"succeeded","attempts":1,"started_at":1795400080834,"finished_at":1795400080836}]','[{"time":1795400080834,"severity":"info","service":"works","text":"made"},{"time":1795400080836,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":5,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435159543808,1,3,6,NULL,0,NULL,NULL,'create','zone',NULL,'e6.example','["works","refuses"]','{"ticket":"T-6"}',NULL,5,30000,5,0,1795400080833,NULL,NULL,1795400080,15,1,0,0,1795400080833,1795400080837,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795400080833,"finished_at":1795400080835},{"state":"failed","attempts":1,"started_at":1795400080836,"finished_at":1795400080837}]','[{"time":1795400080835,"severity":"info","service":"works","text":"made"},{"time":1795400080837,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":6,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435161640960,3,4,6,NULL,0,NULL,NULL,'create','zone',NULL,'e7.example','["works","refuses"]','{"ticket":"T-7"}',NULL,5,30000,5,0,1795400080835,NULL,NULL,1795400080,16,1,0,0,1795400080836,1795400080838,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795400080836,"finished_at":1795400080837},{"state":"failed","attempts":1,"started_at":1795400080837,"finished_at":1795400080838}]','[{"time":1795400080836,"severity":"info","service":"works","text":"made"},{"time":1795400080838,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":7,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435163738112,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e8.example','["works","refuses"]','{"ticket":"T-8"}',NULL,5,30000,5,0,1795400080837,NULL,NULL,1795400080,18,1,0,0,1795400080838,1795400080841,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795400080838,"finished_at":1795400080839},{"state":"failed","attempts":1,"started_at":1795400080840,"finished_at":1795400080841}]','[{"time":1795400080839,"severity":"info","service":"works","text":"made"},{"time":1795400080841,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":8,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435172126720,1,3,3,1882613435172126720,1,13,1795400680846,'create','zone',NULL,'e10.example','["waits"]','{"ticket":"T-10"}',NULL,5,30000,5,0,1795400080845,NULL,NULL,1795400080,19,0,0,0,1795400080845,NULL,1795400680846,NULL,'[{"state":"retrying","attempts":1,"started_at":1795400080845}]','[{"time":1795400080846,"severity":"warning","service":"waits","text":"waits answered with HTTP status 503."}]',NULL,NULL,'{"n":10,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435174223872,3,4,2,1882613435174223872,1,12,NULL,'create','zone',NULL,'e11.example','["works","hangs"]','{"ticket":"T-11"}',NULL,5,30000,5,0,1795400080847,NULL,NULL,1795400080,21,1,0,0,1795400080847,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795400080847,"finished_at":1795400080848},{"state":"running","attempts":1,"started_at":1795400080849}]','[{"time":1795400080848,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435229798400,3,4,1,1882613435229798400,0,11,NULL,'create','zone',NULL,'e11.example','["works"]','{"ticket":"T-11"}',NULL,9,30000,5,0,1795400080900,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435230846976,1,1,0,NULL,0,10,1798400080901,'create','zone',NULL,'e12.example','["works"]','{"ticket":"T-12"}',NULL,5,30000,5,0,1795400080901,1798400080901,4070908800000,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":12,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435232944128,2,2,0,NULL,0,10,1798400080903,'create','zone',NULL,'e13.example','["works"]','{"ticket":"T-13"}',NULL,5,30000,5,0,1795400080903,1798400080903,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":13,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613435232944129,1,3,7,NULL,0,NULL,NULL,'create','zone',NULL,'e14.example','["works"]','{"ticket":"T-14"}',NULL,5,30000,5,0,1795400080903,1796400080903,NULL,NULL,NULL,0,0,1,NULL,1795400080905,NULL,NULL,'[{"state":"skipped","attempts":0}]',NULL,'{"code":"cancelled","message":"the job was cancelled","service":""}',NULL,'{"n":14,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
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
INSERT INTO "routes" VALUES(1,1,1,0,0,0,0,0,0);
INSERT INTO "routes" VALUES(1,3,0,0,0,1,0,0,0);
INSERT INTO "routes" VALUES(2,2,1,0,0,0,0,0,0);
INSERT INTO "routes" VALUES(3,4,0,1,1,0,0,0,0);
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "settings" VALUES('epoch',1795400080);
INSERT INTO "settings" VALUES('last_place',0);
CREATE INDEX origins_product ON origins (product);
CREATE INDEX jobs_line ON jobs (origin, entity_type, entity_id, place) WHERE place IS NOT NULL;
CREATE INDEX jobs_turn ON jobs (cell, origin, turn, place) WHERE turn IS NOT NULL;
CREATE INDEX jobs_due ON jobs (cell, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_held ON jobs (marks) WHERE marks & 2;
CREATE INDEX jobs_by_origin ON jobs (origin);
CREATE INDEX jobs_by_entity ON jobs (entity_id);
CREATE INDEX jobs_by_state ON jobs (state) WHERE state NOT IN (1, 5);
CREATE VIEW jobs_for_people AS
SELECT jobs.id, origins.customer, origins.product, cells.customer || '/' || cells.product AS cell,
       CASE state WHEN 0 THEN 'scheduled' WHEN 1 THEN 'queued' WHEN 2 THEN 'running'
                  WHEN 3 THEN 'retrying' WHEN 4 THEN 'compensating' WHEN 5 THEN 'succeeded'
                  WHEN 6 THEN 'failed' WHEN 7 THEN 'cancelled' END AS state,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') AS finished_at,
       action, entity_type, entity_id, services, step, steps, properties, messages, error
FROM jobs JOIN cells ON cells.id = jobs.cell JOIN origins ON origins.id = jobs.origin;
CREATE INDEX idempotency_keys_by_job ON idempotency_keys (job);
CREATE INDEX jobs_ended ON jobs (finished_at) WHERE turn IS NULL;
COMMIT;
