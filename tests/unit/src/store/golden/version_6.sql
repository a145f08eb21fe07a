-- Made by celld 0.1.0 with tests/unit/src/store/golden/make. Never edit this file.
PRAGMA application_id = 1128614980;
PRAGMA user_version = 6;
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
INSERT INTO "batches" VALUES(1882679599017492480,'','',1795463179605,1795463179607,0,2,1,0,0,0,0,1,0,0);
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
INSERT INTO "idempotency_keys" VALUES('bolt','key-13',1882679599009103872,'39cdb01c8180528e847e9ef626e2ef877cca4b0d4f3949ae0aee9b953bd68ec2');
CREATE TABLE job_labels (
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  job   INTEGER NOT NULL REFERENCES jobs,
  PRIMARY KEY (name, value, job)
) WITHOUT ROWID;
INSERT INTO "job_labels" VALUES('ticket','T-0',1882679598868594688);
INSERT INTO "job_labels" VALUES('ticket','T-1',1882679598869643264);
INSERT INTO "job_labels" VALUES('ticket','T-10',1882679598892711936);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882679598950383616);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882679599007006720);
INSERT INTO "job_labels" VALUES('ticket','T-12',1882679599008055296);
INSERT INTO "job_labels" VALUES('ticket','T-13',1882679599009103872);
INSERT INTO "job_labels" VALUES('ticket','T-14',1882679599010152448);
INSERT INTO "job_labels" VALUES('ticket','T-15',1882679599017492480);
INSERT INTO "job_labels" VALUES('ticket','T-16',1882679599012249600);
INSERT INTO "job_labels" VALUES('ticket','T-17',1882679599017492481);
INSERT INTO "job_labels" VALUES('ticket','T-18',1882679599013298176);
INSERT INTO "job_labels" VALUES('ticket','T-2',1882679598871740416);
INSERT INTO "job_labels" VALUES('ticket','T-20',1882679599014346752);
INSERT INTO "job_labels" VALUES('ticket','T-3',1882679598874886144);
INSERT INTO "job_labels" VALUES('ticket','T-4',1882679598876983296);
INSERT INTO "job_labels" VALUES('ticket','T-5',1882679598879080448);
INSERT INTO "job_labels" VALUES('ticket','T-6',1882679598881177600);
INSERT INTO "job_labels" VALUES('ticket','T-7',1882679598882226176);
INSERT INTO "job_labels" VALUES('ticket','T-8',1882679598884323328);
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
INSERT INTO "jobs" VALUES(1882679598868594688,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e0.example','["works","works2"]','{"ticket":"T-0"}',NULL,5,30000,5,0,1795463179463,NULL,NULL,1795463179,3,2,0,0,1795463179463,1795463179467,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795463179463,"finished_at":1795463179465},{"state":"succeeded","attempts":1,"started_at":1795463179466,"finished_at":1795463179467}]','[{"time":1795463179465,"severity":"info","service":"works","text":"made"},{"time":1795463179467,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":0,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679598869643264,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e1.example','["works","works2"]','{"ticket":"T-1"}',NULL,5,30000,5,0,1795463179464,NULL,NULL,1795463179,5,2,0,0,1795463179465,1795463179469,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795463179465,"finished_at":1795463179468},{"state":"succeeded","attempts":1,"started_at":1795463179468,"finished_at":1795463179469}]','[{"time":1795463179467,"severity":"info","service":"works","text":"made"},{"time":1795463179469,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":1,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679598871740416,1,3,5,NULL,0,NULL,NULL,'create','zone',NULL,'e2.example','["works","works2"]','{"ticket":"T-2"}',NULL,5,30000,5,0,1795463179466,NULL,NULL,1795463179,6,2,0,0,1795463179466,1795463179470,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795463179466,"finished_at":1795463179469},{"state":"succeeded","attempts":1,"started_at":1795463179469,"finished_at":1795463179470}]','[{"time":1795463179469,"severity":"info","service":"works","text":"made"},{"time":1795463179470,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":2,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679598874886144,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e3.example','["works","works2"]','{"ticket":"T-3"}',NULL,5,30000,5,0,1795463179469,NULL,NULL,1795463179,8,2,0,0,1795463179470,1795463179473,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795463179470,"finished_at":1795463179471},{"state":"succeeded","attempts":1,"started_at":1795463179471,"finished_at":1795463179473}]','[{"time":1795463179471,"severity":"info","service":"works","text":"made"},{"time":1795463179473,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":3,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679598876983296,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e4.example','["works","works2"]','{"ticket":"T-4"}',NULL,5,30000,5,0,1795463179471,NULL,NULL,1795463179,11,2,0,0,1795463179472,1795463179475,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795463179472,"finished_at":1795463179473},{"state":"succeeded","attempts":1,"started_at":1795463179474,"finished_at":1795463179475}]','[{"time":1795463179473,"severity":"info","service":"works","text":"made"},{"time":1795463179475,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":4,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679598879080448,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e5.example','["works","works2"]','{"ticket":"T-5"}',NULL,5,30000,5,0,1795463179473,NULL,NULL,1795463179,12,2,0,0,1795463179473,1795463179476,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795463179473,"finished_at":1795463179474},{"state":"succeeded","attempts":1,"started_at":1795463179475,"finished_at":1795463179476}]','[{"time":1795463179474,"severity":"info","service":"works","text":"made"},{"time":1795463179476,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":5,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679598881177600,1,3,6,NULL,0,NULL,NULL,'create','zone',NULL,'e6.example','["works","refuses"]','{"ticket":"T-6"}',NULL,5,30000,5,0,1795463179475,NULL,NULL,1795463179,15,1,0,0,1795463179475,1795463179478,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795463179475,"finished_at":1795463179476},{"state":"failed","attempts":1,"started_at":1795463179477,"finished_at":1795463179478}]','[{"time":1795463179476,"severity":"info","service":"works","text":"made"},{"time":1795463179478,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":6,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679598882226176,3,4,6,NULL,0,NULL,NULL,'create','zone',NULL,'e7.example','["works","refuses"]','{"ticket":"T-7"}',NULL,5,30000,5,0,1795463179476,NULL,NULL,1795463179,16,1,0,0,1795463179477,1795463179480,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795463179477,"finished_at":1795463179478},{"state":"failed","attempts":1,"started_at":1795463179479,"finished_at":1795463179480}]','[{"time":1795463179478,"severity":"info","service":"works","text":"made"},{"time":1795463179480,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":7,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679598884323328,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e8.example','["works","refuses"]','{"ticket":"T-8"}',NULL,5,30000,5,0,1795463179478,NULL,NULL,1795463179,18,1,0,0,1795463179479,1795463179482,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795463179479,"finished_at":1795463179481},{"state":"failed","attempts":1,"started_at":1795463179481,"finished_at":1795463179482}]','[{"time":1795463179481,"severity":"info","service":"works","text":"made"},{"time":1795463179482,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":8,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679598892711936,1,3,3,1882679598892711936,1,13,1795463779489,'create','zone',NULL,'e10.example','["waits"]','{"ticket":"T-10"}',NULL,5,30000,5,0,1795463179486,NULL,NULL,1795463179,19,0,0,0,1795463179488,NULL,1795463779489,NULL,'[{"state":"retrying","attempts":1,"started_at":1795463179488}]','[{"time":1795463179489,"severity":"warning","service":"waits","text":"waits answered with HTTP status 503."}]',NULL,NULL,'{"n":10,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679598950383616,3,4,2,1882679598950383616,1,12,NULL,'create','zone',NULL,'e11.example','["works","hangs"]','{"ticket":"T-11"}',NULL,5,30000,5,0,1795463179541,NULL,NULL,1795463179,21,1,0,0,1795463179542,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795463179542,"finished_at":1795463179543},{"state":"running","attempts":1,"started_at":1795463179543}]','[{"time":1795463179543,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679599007006720,3,4,1,1882679599007006720,0,11,NULL,'create','zone',NULL,'e11.example','["works"]','{"ticket":"T-11"}',NULL,9,30000,5,0,1795463179595,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679599008055296,1,1,0,NULL,0,10,1798463179596,'create','zone',NULL,'e12.example','["works"]','{"ticket":"T-12"}',NULL,5,30000,5,0,1795463179596,1798463179596,4070908800000,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":12,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679599009103872,2,2,0,NULL,0,10,1798463179597,'create','zone',NULL,'e13.example','["works"]','{"ticket":"T-13"}',NULL,5,30000,5,0,1795463179597,1798463179597,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":13,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679599010152448,1,3,7,NULL,0,NULL,NULL,'create','zone',NULL,'e14.example','["works"]','{"ticket":"T-14"}',NULL,5,30000,5,0,1795463179598,1796463179598,NULL,NULL,NULL,0,0,1,NULL,1795463179599,NULL,NULL,'[{"state":"skipped","attempts":0}]',NULL,'{"code":"cancelled","message":"the job was cancelled","service":""}',NULL,'{"n":14,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679599012249600,1,1,5,NULL,8,NULL,NULL,'create','zone',NULL,'e16.example','["pulled"]','{"ticket":"T-16"}',NULL,5,30000,5,0,1795463179600,NULL,NULL,1795463179,22,1,0,0,1795463179602,1795463179604,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795463179602,"finished_at":1795463179604,"progress":0.5,"report":"complete","lease_epoch":1795463179,"lease_counter":22}]','[{"time":1795463179603,"severity":"info","service":"pulled","text":"halfway"}]',NULL,'{"ip":"10.0.0.1"}','{"n":16,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679599013298176,1,3,2,1882679599013298176,9,12,NULL,'create','zone',NULL,'e18.example','["pulled"]','{"ticket":"T-18"}',NULL,5,30000,5,0,1795463179601,NULL,NULL,1795463179,23,0,0,0,1795463179602,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795463179602,"worker":"höst-1"}]',NULL,NULL,NULL,'{"n":18,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679599014346752,1,1,1,1882679599014346752,9,105,NULL,'create','zone',NULL,'e20.example','["pulled"]','{"ticket":"T-20"}',NULL,5,30000,5,0,1795463179602,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":20,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882679599017492480,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e15.example','["works"]','{"ticket":"T-15"}',NULL,5,30000,5,0,1795463179605,NULL,NULL,1795463179,24,1,0,0,1795463179606,1795463179607,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795463179606,"finished_at":1795463179607}]','[{"time":1795463179607,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":15,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1882679599017492480);
INSERT INTO "jobs" VALUES(1882679599017492481,2,2,0,NULL,0,10,1796463179605,'create','zone',NULL,'e17.example','["works"]','{"ticket":"T-17"}',NULL,5,30000,5,0,1795463179605,1796463179605,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":17,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1882679599017492480);
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
CREATE TABLE lanes (
  id      INTEGER PRIMARY KEY,
  service TEXT NOT NULL UNIQUE
);
INSERT INTO "lanes" VALUES(1,'pulled');
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
, lanes TEXT);
INSERT INTO "route_changes" VALUES(1,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(2,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(3,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(4,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(5,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(6,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(7,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(8,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(9,1,1,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(10,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(11,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(12,2,2,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(13,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(14,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(15,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(16,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(17,1,3,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(18,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(19,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(20,3,4,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(21,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(22,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(23,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(24,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(25,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(26,1,1,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(27,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(28,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(29,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(30,2,2,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(31,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(32,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(33,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(34,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(35,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(36,1,3,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(37,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(38,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(39,3,4,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(40,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(41,1,1,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(42,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(43,1,3,0,0,0,1,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(44,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(45,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(46,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(47,3,4,0,1,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(48,1,1,1,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(49,2,2,1,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(50,1,3,1,0,0,1,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(51,1,3,0,0,0,1,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(52,1,1,1,1,0,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(53,1,3,0,1,0,1,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(54,1,1,1,2,0,0,0,0,0,'1:2');
INSERT INTO "route_changes" VALUES(55,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(56,1,3,0,0,1,1,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(57,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(58,1,1,1,1,0,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(59,3,4,0,2,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(60,2,2,2,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(61,3,4,0,1,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(62,3,4,0,1,1,0,0,0,0,NULL);
CREATE TABLE routes (
  cell         INTEGER NOT NULL REFERENCES cells,
  origin       INTEGER NOT NULL REFERENCES origins,
  scheduled    INTEGER NOT NULL,
  queued       INTEGER NOT NULL,
  running      INTEGER NOT NULL,
  retrying     INTEGER NOT NULL,
  compensating INTEGER NOT NULL,
  settling     INTEGER NOT NULL,  -- Ended, and still in their lines.
  runnable     INTEGER NOT NULL, lanes TEXT,
  PRIMARY KEY (cell, origin)
) WITHOUT ROWID;
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "settings" VALUES('epoch',1795463179);
INSERT INTO "settings" VALUES('indexed_id',0);
INSERT INTO "settings" VALUES('indexing_id',0);
INSERT INTO "settings" VALUES('last_place',0);
INSERT INTO "settings" VALUES('secret_1',-6986972976240375363);
INSERT INTO "settings" VALUES('secret_2',1954040633165159235);
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
SELECT cell, origin, scheduled, queued, running, retrying, compensating, settling, runnable, lanes
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
