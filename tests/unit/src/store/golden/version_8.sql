-- Made by celld 0.1.0 with tests/unit/src/store/golden/make. Never edit this file.
PRAGMA application_id = 1128614980;
PRAGMA user_version = 8;
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
INSERT INTO "batches" VALUES(1882730049821474816,'','',1795511293241,1795511293379,0,2,1,0,0,0,0,1,0,0);
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
INSERT INTO "idempotency_keys" VALUES('bolt','key-13',1882730049554134533,'39cdb01c8180528e847e9ef626e2ef877cca4b0d4f3949ae0aee9b953bd68ec2');
CREATE TABLE job_labels (
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  job   INTEGER NOT NULL REFERENCES jobs,
  PRIMARY KEY (name, value, job)
) WITHOUT ROWID;
INSERT INTO "job_labels" VALUES('ticket','T-0',1882730048639776261);
INSERT INTO "job_labels" VALUES('ticket','T-1',1882730048669136389);
INSERT INTO "job_labels" VALUES('ticket','T-10',1882730049135752709);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882730049396848133);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882730049523725829);
INSERT INTO "job_labels" VALUES('ticket','T-12',1882730049533163013);
INSERT INTO "job_labels" VALUES('ticket','T-13',1882730049554134533);
INSERT INTO "job_labels" VALUES('ticket','T-14',1882730049606563333);
INSERT INTO "job_labels" VALUES('ticket','T-15',1882730049839347205);
INSERT INTO "job_labels" VALUES('ticket','T-16',1882730049755461125);
INSERT INTO "job_labels" VALUES('ticket','T-17',1882730049839347206);
INSERT INTO "job_labels" VALUES('ticket','T-18',1882730049785869829);
INSERT INTO "job_labels" VALUES('ticket','T-2',1882730048683816453);
INSERT INTO "job_labels" VALUES('ticket','T-20',1882730049804744197);
INSERT INTO "job_labels" VALUES('ticket','T-22',1882730049197618693);
INSERT INTO "job_labels" VALUES('ticket','T-3',1882730048787625477);
INSERT INTO "job_labels" VALUES('ticket','T-4',1882730048806499845);
INSERT INTO "job_labels" VALUES('ticket','T-5',1882730048833762821);
INSERT INTO "job_labels" VALUES('ticket','T-6',1882730048865220101);
INSERT INTO "job_labels" VALUES('ticket','T-7',1882730048878851589);
INSERT INTO "job_labels" VALUES('ticket','T-8',1882730048917648901);
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
INSERT INTO "jobs" VALUES(1882730048639776261,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e0.example','["works","works2"]','{"ticket":"T-0"}',NULL,5,30000,5,0,1795511292114,NULL,NULL,1795511291,4,2,0,0,1795511292138,1795511292257,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795511292138,"finished_at":1795511292168},{"state":"succeeded","attempts":1,"started_at":1795511292175,"finished_at":1795511292257}]','[{"time":1795511292168,"severity":"info","service":"works","text":"made"},{"time":1795511292257,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":0,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730048669136389,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e1.example','["works","works2"]','{"ticket":"T-1"}',NULL,5,30000,5,0,1795511292142,NULL,NULL,1795511291,5,2,0,0,1795511292151,1795511292273,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795511292151,"finished_at":1795511292176},{"state":"succeeded","attempts":1,"started_at":1795511292183,"finished_at":1795511292273}]','[{"time":1795511292175,"severity":"info","service":"works","text":"made"},{"time":1795511292272,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":1,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730048683816453,1,3,5,NULL,0,NULL,NULL,'create','zone',NULL,'e2.example','["works","works2"]','{"ticket":"T-2"}',NULL,5,30000,5,0,1795511292156,NULL,NULL,1795511291,6,2,0,0,1795511292166,1795511292328,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795511292166,"finished_at":1795511292220},{"state":"succeeded","attempts":1,"started_at":1795511292221,"finished_at":1795511292328}]','[{"time":1795511292219,"severity":"info","service":"works","text":"made"},{"time":1795511292327,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":2,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730048787625477,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e3.example','["works","works2"]','{"ticket":"T-3"}',NULL,5,30000,5,0,1795511292255,NULL,NULL,1795511291,14,2,0,0,1795511292258,1795511292438,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795511292258,"finished_at":1795511292358},{"state":"succeeded","attempts":1,"started_at":1795511292361,"finished_at":1795511292438}]','[{"time":1795511292357,"severity":"info","service":"works","text":"made"},{"time":1795511292438,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":3,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730048806499845,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e4.example','["works","works2"]','{"ticket":"T-4"}',NULL,5,30000,5,0,1795511292273,NULL,NULL,1795511291,15,2,0,0,1795511292274,1795511292480,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795511292274,"finished_at":1795511292358},{"state":"succeeded","attempts":1,"started_at":1795511292402,"finished_at":1795511292480}]','[{"time":1795511292357,"severity":"info","service":"works","text":"made"},{"time":1795511292479,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":4,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730048833762821,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e5.example','["works","works2"]','{"ticket":"T-5"}',NULL,5,30000,5,0,1795511292299,NULL,NULL,1795511291,12,2,0,0,1795511292304,1795511292380,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795511292304,"finished_at":1795511292344},{"state":"succeeded","attempts":1,"started_at":1795511292346,"finished_at":1795511292380}]','[{"time":1795511292343,"severity":"info","service":"works","text":"made"},{"time":1795511292379,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":5,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730048865220101,1,3,6,NULL,0,NULL,NULL,'create','zone',NULL,'e6.example','["works","refuses"]','{"ticket":"T-6"}',NULL,5,30000,5,0,1795511292329,NULL,NULL,1795511291,13,1,0,0,1795511292332,1795511292380,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795511292332,"finished_at":1795511292344},{"state":"failed","attempts":1,"started_at":1795511292347,"finished_at":1795511292380}]','[{"time":1795511292344,"severity":"info","service":"works","text":"made"},{"time":1795511292380,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":6,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730048878851589,3,4,6,NULL,0,NULL,NULL,'create','zone',NULL,'e7.example','["works","refuses"]','{"ticket":"T-7"}',NULL,5,30000,5,0,1795511292342,NULL,NULL,1795511291,16,1,0,0,1795511292344,1795511292480,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795511292344,"finished_at":1795511292360},{"state":"failed","attempts":1,"started_at":1795511292402,"finished_at":1795511292480}]','[{"time":1795511292359,"severity":"info","service":"works","text":"made"},{"time":1795511292480,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":7,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730048917648901,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e8.example','["works","refuses"]','{"ticket":"T-8"}',NULL,5,30000,5,0,1795511292379,NULL,NULL,1795511291,18,1,0,0,1795511292475,1795511292524,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795511292475,"finished_at":1795511292480},{"state":"failed","attempts":1,"started_at":1795511292507,"finished_at":1795511292524}]','[{"time":1795511292480,"severity":"info","service":"works","text":"made"},{"time":1795511292524,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":8,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730049135752709,1,3,3,1882730049135752709,1,13,1795511892640,'create','zone',NULL,'e10.example','["waits"]','{"ticket":"T-10"}',NULL,5,30000,5,0,1795511292587,NULL,NULL,1795511291,19,0,0,0,1795511292588,NULL,1795511892640,NULL,'[{"state":"retrying","attempts":1,"started_at":1795511292588}]','[{"time":1795511292640,"severity":"warning","service":"waits","text":"waits answered with HTTP status 503."}]',NULL,NULL,'{"n":10,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730049197618693,1,3,3,1882730049197618693,1,13,1795511321650,'create','zone',NULL,'e22.example','["begins"]','{"ticket":"T-22"}',NULL,5,30000,5,0,1795511292646,NULL,NULL,1795511291,20,0,0,0,1795511292649,NULL,1795511321650,NULL,'[{"state":"running","attempts":1,"started_at":1795511292649,"operation":"{\"request\":0,\"has_begun\":true,\"left_ms\":1000,\"properties\":{\"id\":\"zü/1\"}}"}]',NULL,NULL,NULL,'{"n":22,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730049396848133,3,4,2,1882730049396848133,1,12,NULL,'create','zone',NULL,'e11.example','["works","hangs"]','{"ticket":"T-11"}',NULL,5,30000,5,0,1795511292836,NULL,NULL,1795511291,22,1,0,0,1795511292854,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795511292854,"finished_at":1795511292886},{"state":"running","attempts":1,"started_at":1795511292888}]','[{"time":1795511292886,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730049523725829,3,4,1,1882730049523725829,0,11,NULL,'create','zone',NULL,'e11.example','["works"]','{"ticket":"T-11"}',NULL,9,30000,5,0,1795511292957,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730049533163013,1,1,0,NULL,0,10,1798511292966,'create','zone',NULL,'e12.example','["works"]','{"ticket":"T-12"}',NULL,5,30000,5,0,1795511292966,1798511292966,4070908800000,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":12,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730049554134533,2,2,0,NULL,0,10,1798511292986,'create','zone',NULL,'e13.example','["works"]','{"ticket":"T-13"}',NULL,5,30000,5,0,1795511292986,1798511292986,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":13,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730049606563333,1,3,7,NULL,0,NULL,NULL,'create','zone',NULL,'e14.example','["works"]','{"ticket":"T-14"}',NULL,5,30000,5,0,1795511293036,1796511293036,NULL,NULL,NULL,0,0,1,NULL,1795511293160,NULL,NULL,'[{"state":"skipped","attempts":0}]',NULL,'{"code":"cancelled","message":"the job was cancelled","service":""}',NULL,'{"n":14,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730049755461125,1,1,5,NULL,8,NULL,NULL,'create','zone',NULL,'e16.example','["pulled"]','{"ticket":"T-16"}',NULL,5,30000,5,0,1795511293178,NULL,NULL,1795511291,23,1,0,0,1795511293228,1795511293237,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795511293228,"finished_at":1795511293237,"progress":0.5,"report":"complete","lease_epoch":1795511291,"lease_counter":23}]','[{"time":1795511293235,"severity":"info","service":"pulled","text":"halfway"}]',NULL,'{"ip":"10.0.0.1"}','{"n":16,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730049785869829,1,3,2,1882730049785869829,9,12,NULL,'create','zone',NULL,'e18.example','["pulled"]','{"ticket":"T-18"}',NULL,5,30000,5,0,1795511293207,NULL,NULL,1795511291,24,0,0,0,1795511293228,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795511293228,"worker":"höst-1"}]',NULL,NULL,NULL,'{"n":18,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730049804744197,1,1,1,1882730049804744197,9,105,NULL,'create','zone',NULL,'e20.example','["pulled"]','{"ticket":"T-20"}',NULL,5,30000,5,0,1795511293225,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":20,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL);
INSERT INTO "jobs" VALUES(1882730049839347205,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e15.example','["works"]','{"ticket":"T-15"}',NULL,5,30000,5,0,1795511293258,NULL,NULL,1795511291,25,1,0,0,1795511293343,1795511293379,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795511293343,"finished_at":1795511293379}]','[{"time":1795511293379,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":15,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1882730049821474816);
INSERT INTO "jobs" VALUES(1882730049839347206,2,2,0,NULL,0,10,1796511293258,'create','zone',NULL,'e17.example','["works"]','{"ticket":"T-17"}',NULL,5,30000,5,0,1795511293258,1796511293258,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":17,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1882730049821474816);
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
INSERT INTO "route_changes" VALUES(5,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(6,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(7,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(8,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(9,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(10,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(11,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(12,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(13,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(14,1,1,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(15,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(16,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(17,2,2,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(18,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(19,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(20,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(21,1,3,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(22,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(23,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(24,3,4,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(25,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(26,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(27,3,4,0,0,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(28,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(29,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(30,3,4,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(31,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(32,3,4,0,2,0,0,0,0,2,NULL);
INSERT INTO "route_changes" VALUES(33,3,4,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(34,1,1,0,2,0,0,0,0,2,NULL);
INSERT INTO "route_changes" VALUES(35,1,3,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(36,2,2,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(37,1,1,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(38,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(39,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(40,3,4,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(41,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(42,1,1,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(43,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(44,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(45,1,3,0,0,0,1,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(46,1,3,0,1,0,1,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(47,1,3,0,0,1,1,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(48,1,3,0,0,0,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(49,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(50,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(51,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(52,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(53,3,4,0,1,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(54,1,1,1,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(55,2,2,1,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(56,1,3,1,0,0,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(57,1,3,0,0,0,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(58,1,1,1,1,0,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(59,1,3,0,1,0,2,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(60,1,1,1,2,0,0,0,0,0,'1:2');
INSERT INTO "route_changes" VALUES(61,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(62,1,3,0,0,1,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(63,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(64,1,1,1,1,0,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(65,3,4,0,2,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(66,2,2,2,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(67,3,4,0,1,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(68,3,4,0,1,1,0,0,0,0,NULL);
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
INSERT INTO "schedules" VALUES('hourly',1795511293391,0,3600000,NULL,NULL,1,2,0,'{"action":"create","customer":"acme","entity_id":"e24.example","entity_subtype":"","entity_type":"zone","labels":{"ticket":"T-24"},"max_attempts":0,"on_failure":"stop","priority":5,"product":"dns","services":["works"],"timeout_ms":0}','{"n":24,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1795514893391,0,0,0,0);
INSERT INTO "schedules" VALUES('nightly',1795511293542,0,NULL,'30 2 * * *','Europe/Berlin',1,2,0,'{"action":"create","customer":"acme","entity_id":"e24.example","entity_subtype":"","entity_type":"zone","labels":{"ticket":"T-24"},"max_attempts":0,"on_failure":"stop","priority":5,"product":"dns","services":["works"],"timeout_ms":0}','{"n":24,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1795570200000,0,0,0,0);
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "settings" VALUES('epoch',1795511291);
INSERT INTO "settings" VALUES('indexed_id',0);
INSERT INTO "settings" VALUES('indexing_id',0);
INSERT INTO "settings" VALUES('last_place',0);
INSERT INTO "settings" VALUES('secret_1',-5163581757676117233);
INSERT INTO "settings" VALUES('secret_2',-5996593169432118455);
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
