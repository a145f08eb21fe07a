-- Made by celld 0.1.0 with tests/unit/src/store/golden/make. Never edit this file.
PRAGMA application_id = 1128614980;
PRAGMA user_version = 5;
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
INSERT INTO "idempotency_keys" VALUES('bolt','key-13',1882678187058528256,'39cdb01c8180528e847e9ef626e2ef877cca4b0d4f3949ae0aee9b953bd68ec2');
CREATE TABLE job_labels (
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  job   INTEGER NOT NULL REFERENCES jobs,
  PRIMARY KEY (name, value, job)
) WITHOUT ROWID;
INSERT INTO "job_labels" VALUES('ticket','T-0',1882678186913824768);
INSERT INTO "job_labels" VALUES('ticket','T-1',1882678186915921920);
INSERT INTO "job_labels" VALUES('ticket','T-10',1882678186941087744);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882678186997710848);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882678187054333952);
INSERT INTO "job_labels" VALUES('ticket','T-12',1882678187056431104);
INSERT INTO "job_labels" VALUES('ticket','T-13',1882678187058528256);
INSERT INTO "job_labels" VALUES('ticket','T-14',1882678187059576832);
INSERT INTO "job_labels" VALUES('ticket','T-16',1882678187060625408);
INSERT INTO "job_labels" VALUES('ticket','T-18',1882678187061673984);
INSERT INTO "job_labels" VALUES('ticket','T-2',1882678186918019072);
INSERT INTO "job_labels" VALUES('ticket','T-20',1882678187062722560);
INSERT INTO "job_labels" VALUES('ticket','T-3',1882678186921164800);
INSERT INTO "job_labels" VALUES('ticket','T-4',1882678186923261952);
INSERT INTO "job_labels" VALUES('ticket','T-5',1882678186925359104);
INSERT INTO "job_labels" VALUES('ticket','T-6',1882678186927456256);
INSERT INTO "job_labels" VALUES('ticket','T-7',1882678186928504832);
INSERT INTO "job_labels" VALUES('ticket','T-8',1882678186931650560);
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
INSERT INTO "jobs" VALUES(1882678186913824768,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e0.example','["works","works2"]','{"ticket":"T-0"}',NULL,5,30000,5,0,1795461832918,NULL,NULL,1795461832,2,2,0,0,1795461832918,1795461832921,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795461832918,"finished_at":1795461832919},{"state":"succeeded","attempts":1,"started_at":1795461832920,"finished_at":1795461832921}]','[{"time":1795461832919,"severity":"info","service":"works","text":"made"},{"time":1795461832921,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":0,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678186915921920,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e1.example','["works","works2"]','{"ticket":"T-1"}',NULL,5,30000,5,0,1795461832920,NULL,NULL,1795461832,5,2,0,0,1795461832920,1795461832924,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795461832920,"finished_at":1795461832922},{"state":"succeeded","attempts":1,"started_at":1795461832923,"finished_at":1795461832924}]','[{"time":1795461832922,"severity":"info","service":"works","text":"made"},{"time":1795461832924,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":1,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678186918019072,1,3,5,NULL,0,NULL,NULL,'create','zone',NULL,'e2.example','["works","works2"]','{"ticket":"T-2"}',NULL,5,30000,5,0,1795461832922,NULL,NULL,1795461832,6,2,0,0,1795461832922,1795461832926,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795461832922,"finished_at":1795461832924},{"state":"succeeded","attempts":1,"started_at":1795461832925,"finished_at":1795461832926}]','[{"time":1795461832924,"severity":"info","service":"works","text":"made"},{"time":1795461832925,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":2,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678186921164800,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e3.example','["works","works2"]','{"ticket":"T-3"}',NULL,5,30000,5,0,1795461832925,NULL,NULL,1795461832,8,2,0,0,1795461832926,1795461832929,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795461832926,"finished_at":1795461832927},{"state":"succeeded","attempts":1,"started_at":1795461832927,"finished_at":1795461832929}]','[{"time":1795461832927,"severity":"info","service":"works","text":"made"},{"time":1795461832929,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":3,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678186923261952,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e4.example','["works","works2"]','{"ticket":"T-4"}',NULL,5,30000,5,0,1795461832927,NULL,NULL,1795461832,10,2,0,0,1795461832927,1795461832929,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795461832927,"finished_at":1795461832928},{"state":"succeeded","attempts":1,"started_at":1795461832929,"finished_at":1795461832929}]','[{"time":1795461832928,"severity":"info","service":"works","text":"made"},{"time":1795461832929,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":4,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678186925359104,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e5.example','["works","works2"]','{"ticket":"T-5"}',NULL,5,30000,5,0,1795461832929,NULL,NULL,1795461832,13,2,0,0,1795461832930,1795461832933,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795461832930,"finished_at":1795461832931},{"state":"succeeded","attempts":1,"started_at":1795461832932,"finished_at":1795461832933}]','[{"time":1795461832931,"severity":"info","service":"works","text":"made"},{"time":1795461832933,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":5,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678186927456256,1,3,6,NULL,0,NULL,NULL,'create','zone',NULL,'e6.example','["works","refuses"]','{"ticket":"T-6"}',NULL,5,30000,5,0,1795461832931,NULL,NULL,1795461832,15,1,0,0,1795461832931,1795461832935,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795461832931,"finished_at":1795461832933},{"state":"failed","attempts":1,"started_at":1795461832933,"finished_at":1795461832935}]','[{"time":1795461832933,"severity":"info","service":"works","text":"made"},{"time":1795461832935,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":6,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678186928504832,3,4,6,NULL,0,NULL,NULL,'create','zone',NULL,'e7.example','["works","refuses"]','{"ticket":"T-7"}',NULL,5,30000,5,0,1795461832932,NULL,NULL,1795461832,16,1,0,0,1795461832933,1795461832936,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795461832933,"finished_at":1795461832934},{"state":"failed","attempts":1,"started_at":1795461832934,"finished_at":1795461832936}]','[{"time":1795461832934,"severity":"info","service":"works","text":"made"},{"time":1795461832936,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":7,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678186931650560,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e8.example','["works","refuses"]','{"ticket":"T-8"}',NULL,5,30000,5,0,1795461832935,NULL,NULL,1795461832,18,1,0,0,1795461832936,1795461832939,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795461832936,"finished_at":1795461832937},{"state":"failed","attempts":1,"started_at":1795461832938,"finished_at":1795461832939}]','[{"time":1795461832937,"severity":"info","service":"works","text":"made"},{"time":1795461832939,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":8,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678186941087744,1,3,3,1882678186941087744,1,13,1795462432946,'create','zone',NULL,'e10.example','["waits"]','{"ticket":"T-10"}',NULL,5,30000,5,0,1795461832944,NULL,NULL,1795461832,19,0,0,0,1795461832945,NULL,1795462432946,NULL,'[{"state":"retrying","attempts":1,"started_at":1795461832945}]','[{"time":1795461832946,"severity":"warning","service":"waits","text":"waits answered with HTTP status 503."}]',NULL,NULL,'{"n":10,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678186997710848,3,4,2,1882678186997710848,1,12,NULL,'create','zone',NULL,'e11.example','["works","hangs"]','{"ticket":"T-11"}',NULL,5,30000,5,0,1795461832998,NULL,NULL,1795461832,21,1,0,0,1795461832999,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795461832999,"finished_at":1795461833000},{"state":"running","attempts":1,"started_at":1795461833000}]','[{"time":1795461833000,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678187054333952,3,4,1,1882678187054333952,0,11,NULL,'create','zone',NULL,'e11.example','["works"]','{"ticket":"T-11"}',NULL,9,30000,5,0,1795461833052,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678187056431104,1,1,0,NULL,0,10,1798461833054,'create','zone',NULL,'e12.example','["works"]','{"ticket":"T-12"}',NULL,5,30000,5,0,1795461833054,1798461833054,4070908800000,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":12,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678187058528256,2,2,0,NULL,0,10,1798461833056,'create','zone',NULL,'e13.example','["works"]','{"ticket":"T-13"}',NULL,5,30000,5,0,1795461833056,1798461833056,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":13,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678187059576832,1,3,7,NULL,0,NULL,NULL,'create','zone',NULL,'e14.example','["works"]','{"ticket":"T-14"}',NULL,5,30000,5,0,1795461833057,1796461833057,NULL,NULL,NULL,0,0,1,NULL,1795461833057,NULL,NULL,'[{"state":"skipped","attempts":0}]',NULL,'{"code":"cancelled","message":"the job was cancelled","service":""}',NULL,'{"n":14,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678187060625408,1,1,5,NULL,8,NULL,NULL,'create','zone',NULL,'e16.example','["pulled"]','{"ticket":"T-16"}',NULL,5,30000,5,0,1795461833058,NULL,NULL,1795461832,22,1,0,0,1795461833061,1795461833063,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795461833061,"finished_at":1795461833063,"progress":0.5,"report":"complete","lease_epoch":1795461832,"lease_counter":22}]','[{"time":1795461833062,"severity":"info","service":"pulled","text":"halfway"}]',NULL,'{"ip":"10.0.0.1"}','{"n":16,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678187061673984,1,3,2,1882678187061673984,9,12,NULL,'create','zone',NULL,'e18.example','["pulled"]','{"ticket":"T-18"}',NULL,5,30000,5,0,1795461833059,NULL,NULL,1795461832,23,0,0,0,1795461833061,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795461833061,"worker":"höst-1"}]',NULL,NULL,NULL,'{"n":18,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882678187062722560,1,1,1,1882678187062722560,9,105,NULL,'create','zone',NULL,'e20.example','["pulled"]','{"ticket":"T-20"}',NULL,5,30000,5,0,1795461833060,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":20,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
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
INSERT INTO "route_changes" VALUES(2,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(3,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(4,1,1,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(5,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(6,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(7,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(8,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(9,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(10,2,2,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(11,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(12,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(13,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(14,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(15,1,3,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(16,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(17,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(18,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(19,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(20,3,4,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(21,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(22,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(23,1,1,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(24,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(25,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(26,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(27,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(28,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(29,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(30,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(31,2,2,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(32,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(33,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(34,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(35,1,3,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(36,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(37,3,4,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(38,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(39,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(40,1,1,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(41,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(42,1,3,0,0,0,1,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(43,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(44,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(45,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(46,3,4,0,1,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(47,1,1,1,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(48,2,2,1,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(49,1,3,1,0,0,1,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(50,1,3,0,0,0,1,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(51,1,1,1,1,0,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(52,1,3,0,1,0,1,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(53,1,1,1,2,0,0,0,0,0,'1:2');
INSERT INTO "route_changes" VALUES(54,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(55,1,3,0,0,1,1,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(56,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(57,1,1,1,1,0,0,0,0,0,'1:1');
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
INSERT INTO "settings" VALUES('epoch',1795461832);
INSERT INTO "settings" VALUES('indexed_id',0);
INSERT INTO "settings" VALUES('indexing_id',0);
INSERT INTO "settings" VALUES('last_place',0);
INSERT INTO "settings" VALUES('secret_1',-8050106205842496908);
INSERT INTO "settings" VALUES('secret_2',-1777293406330384917);
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
CREATE VIEW route_counts AS
SELECT cell, origin, scheduled, queued, running, retrying, compensating, settling, runnable, lanes
FROM (SELECT *, max(number)
      FROM (SELECT 0 AS number, * FROM routes UNION ALL SELECT * FROM route_changes)
      GROUP BY cell, origin);
COMMIT;
