-- Made by celld 0.1.0 with tests/unit/src/store/golden/make. Never edit this file.
PRAGMA application_id = 1128614980;
PRAGMA user_version = 13;
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
, in_memory TEXT, forgotten INTEGER NOT NULL DEFAULT 0);
INSERT INTO "batches" VALUES(1882960781641777152,'','',1795731336252,1795731336255,0,2,1,0,0,0,0,1,0,0,NULL,0);
INSERT INTO "batches" VALUES(1882960781645971456,'','',1795731336256,1795731336257,4,2,2,0,0,0,0,0,0,0,'[2,null,2,0,0,0,0,0,0,0]',0);
CREATE TABLE cell_overrides (
  cell      INTEGER PRIMARY KEY REFERENCES cells,
  pool_size INTEGER,
  state     INTEGER NOT NULL
, pool_burst INTEGER, pool_weight INTEGER);
INSERT INTO "cell_overrides" VALUES(1,7,0,9,3);
INSERT INTO "cell_overrides" VALUES(2,NULL,1,NULL,NULL);
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
INSERT INTO "idempotency_keys" VALUES('bolt','key-13',1882960780416158426,'39cdb01c8180528e847e9ef626e2ef877cca4b0d4f3949ae0aee9b953bd68ec2');
CREATE TABLE job_labels (
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  job   INTEGER NOT NULL REFERENCES jobs,
  PRIMARY KEY (name, value, job)
) WITHOUT ROWID;
INSERT INTO "job_labels" VALUES('ticket','T-0',1882960780191763162);
INSERT INTO "job_labels" VALUES('ticket','T-1',1882960780195957466);
INSERT INTO "job_labels" VALUES('ticket','T-10',1882960780238949082);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882960780354292442);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882960780413012698);
INSERT INTO "job_labels" VALUES('ticket','T-12',1882960780414061274);
INSERT INTO "job_labels" VALUES('ticket','T-13',1882960780416158426);
INSERT INTO "job_labels" VALUES('ticket','T-14',1882960780417207002);
INSERT INTO "job_labels" VALUES('ticket','T-15',1882960781642992346);
INSERT INTO "job_labels" VALUES('ticket','T-16',1882960780420352730);
INSERT INTO "job_labels" VALUES('ticket','T-17',1882960781642992347);
INSERT INTO "job_labels" VALUES('ticket','T-18',1882960780421401306);
INSERT INTO "job_labels" VALUES('ticket','T-2',1882960780198054618);
INSERT INTO "job_labels" VALUES('ticket','T-20',1882960780422449882);
INSERT INTO "job_labels" VALUES('ticket','T-22',1882960780295572186);
INSERT INTO "job_labels" VALUES('ticket','T-24',1882960780427692762);
INSERT INTO "job_labels" VALUES('ticket','T-26',1882960780485364442);
INSERT INTO "job_labels" VALUES('ticket','T-28',1882960780543036122);
INSERT INTO "job_labels" VALUES('ticket','T-3',1882960780203297498);
INSERT INTO "job_labels" VALUES('ticket','T-30',1882960781520308954);
INSERT INTO "job_labels" VALUES('ticket','T-32',1882960781577980634);
INSERT INTO "job_labels" VALUES('ticket','T-32',1882960781580077786);
INSERT INTO "job_labels" VALUES('ticket','T-32',1882960781581126362);
INSERT INTO "job_labels" VALUES('ticket','T-4',1882960780206443226);
INSERT INTO "job_labels" VALUES('ticket','T-5',1882960780211686106);
INSERT INTO "job_labels" VALUES('ticket','T-6',1882960780214831834);
INSERT INTO "job_labels" VALUES('ticket','T-7',1882960780219026138);
INSERT INTO "job_labels" VALUES('ticket','T-8',1882960780222171866);
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
, batch INTEGER, failed_ahead INTEGER);
INSERT INTO "jobs" VALUES(1882960780191763162,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e0.example','["works","works2"]','{"ticket":"T-0"}',NULL,5,30000,5,0,1795731334869,NULL,NULL,1795731334,2,2,0,0,1795731334869,1795731334875,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731334869,"finished_at":1795731334872},{"state":"succeeded","attempts":1,"started_at":1795731334873,"finished_at":1795731334875}]','[{"time":1795731334872,"severity":"info","service":"works","text":"made"},{"time":1795731334875,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":0,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780195957466,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e1.example','["works","works2"]','{"ticket":"T-1"}',NULL,5,30000,5,0,1795731334873,NULL,NULL,1795731334,5,2,0,0,1795731334874,1795731334882,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731334874,"finished_at":1795731334878},{"state":"succeeded","attempts":1,"started_at":1795731334880,"finished_at":1795731334882}]','[{"time":1795731334878,"severity":"info","service":"works","text":"made"},{"time":1795731334882,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":1,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780198054618,1,3,5,NULL,0,NULL,NULL,'create','zone',NULL,'e2.example','["works","works2"]','{"ticket":"T-2"}',NULL,5,30000,5,0,1795731334875,NULL,NULL,1795731334,6,2,0,0,1795731334878,1795731334883,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731334878,"finished_at":1795731334880},{"state":"succeeded","attempts":1,"started_at":1795731334881,"finished_at":1795731334883}]','[{"time":1795731334880,"severity":"info","service":"works","text":"made"},{"time":1795731334883,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":2,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780203297498,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e3.example','["works","works2"]','{"ticket":"T-3"}',NULL,5,30000,5,0,1795731334880,NULL,NULL,1795731334,9,2,0,0,1795731334881,1795731334889,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731334881,"finished_at":1795731334884},{"state":"succeeded","attempts":1,"started_at":1795731334887,"finished_at":1795731334889}]','[{"time":1795731334884,"severity":"info","service":"works","text":"made"},{"time":1795731334889,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":3,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780206443226,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e4.example','["works","works2"]','{"ticket":"T-4"}',NULL,5,30000,5,0,1795731334883,NULL,NULL,1795731334,11,2,0,0,1795731334886,1795731334895,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731334886,"finished_at":1795731334888},{"state":"succeeded","attempts":1,"started_at":1795731334891,"finished_at":1795731334895}]','[{"time":1795731334888,"severity":"info","service":"works","text":"made"},{"time":1795731334895,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":4,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780211686106,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e5.example','["works","works2"]','{"ticket":"T-5"}',NULL,5,30000,5,0,1795731334888,NULL,NULL,1795731334,13,2,0,0,1795731334889,1795731334897,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731334889,"finished_at":1795731334892},{"state":"succeeded","attempts":1,"started_at":1795731334895,"finished_at":1795731334897}]','[{"time":1795731334892,"severity":"info","service":"works","text":"made"},{"time":1795731334897,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":5,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780214831834,1,3,6,NULL,0,NULL,NULL,'create','zone',NULL,'e6.example','["works","refuses"]','{"ticket":"T-6"}',NULL,5,30000,5,0,1795731334891,NULL,NULL,1795731334,14,1,0,0,1795731334892,1795731334899,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731334892,"finished_at":1795731334894},{"state":"failed","attempts":1,"started_at":1795731334896,"finished_at":1795731334899}]','[{"time":1795731334894,"severity":"info","service":"works","text":"made"},{"time":1795731334899,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":6,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780219026138,3,4,6,NULL,0,NULL,NULL,'create','zone',NULL,'e7.example','["works","refuses"]','{"ticket":"T-7"}',NULL,5,30000,5,0,1795731334895,NULL,NULL,1795731334,18,1,0,0,1795731334896,1795731334908,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731334896,"finished_at":1795731334903},{"state":"failed","attempts":1,"started_at":1795731334906,"finished_at":1795731334908}]','[{"time":1795731334903,"severity":"info","service":"works","text":"made"},{"time":1795731334908,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":7,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780222171866,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e8.example','["works","refuses"]','{"ticket":"T-8"}',NULL,5,30000,5,0,1795731334898,NULL,NULL,1795731334,17,1,0,0,1795731334899,1795731334908,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731334899,"finished_at":1795731334903},{"state":"failed","attempts":1,"started_at":1795731334906,"finished_at":1795731334908}]','[{"time":1795731334902,"severity":"info","service":"works","text":"made"},{"time":1795731334908,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":8,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780238949082,1,3,3,1882960780238949082,1,13,1795731934918,'create','zone',NULL,'e10.example','["waits"]','{"ticket":"T-10"}',NULL,5,30000,5,0,1795731334914,NULL,NULL,1795731334,19,0,0,0,1795731334915,NULL,1795731934918,NULL,'[{"state":"retrying","attempts":1,"started_at":1795731334915}]','[{"time":1795731334918,"severity":"warning","service":"waits","text":"waits answered with HTTP status 503."}]',NULL,NULL,'{"n":10,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780295572186,1,3,3,1882960780295572186,1,13,1795731363971,'create','zone',NULL,'e22.example','["begins"]','{"ticket":"T-22"}',NULL,5,30000,5,0,1795731334968,NULL,NULL,1795731334,20,0,0,0,1795731334969,NULL,1795731363971,NULL,'[{"state":"running","attempts":1,"started_at":1795731334969,"operation":"{\"request\":0,\"has_begun\":true,\"left_ms\":1000,\"properties\":{\"id\":\"zü/1\"},\"due_ms\":26258789}"}]',NULL,NULL,NULL,'{"n":22,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780354292442,3,4,2,1882960780354292442,1,12,NULL,'create','zone',NULL,'e11.example','["works","hangs"]','{"ticket":"T-11"}',NULL,5,30000,5,0,1795731335024,NULL,NULL,1795731334,22,1,0,0,1795731335024,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731335024,"finished_at":1795731335027},{"state":"running","attempts":1,"started_at":1795731335027}]','[{"time":1795731335026,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780413012698,3,4,1,1882960780413012698,0,11,NULL,'create','zone',NULL,'e11.example','["works"]','{"ticket":"T-11"}',NULL,9,30000,5,0,1795731335080,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780414061274,1,1,0,NULL,0,10,1798731335081,'create','zone',NULL,'e12.example','["works"]','{"ticket":"T-12"}',NULL,5,30000,5,0,1795731335081,1798731335081,4070908800000,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":12,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780416158426,2,2,0,NULL,0,10,1798731335083,'create','zone',NULL,'e13.example','["works"]','{"ticket":"T-13"}',NULL,5,30000,5,0,1795731335083,1798731335083,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":13,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780417207002,1,3,7,NULL,0,NULL,NULL,'create','zone',NULL,'e14.example','["works"]','{"ticket":"T-14"}',NULL,5,30000,5,0,1795731335084,1796731335084,NULL,NULL,NULL,0,0,1,NULL,1795731335086,NULL,NULL,'[{"state":"skipped","attempts":0}]',NULL,'{"code":"cancelled","message":"the job was cancelled","service":""}',NULL,'{"n":14,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780420352730,1,1,5,NULL,8,NULL,NULL,'create','zone',NULL,'e16.example','["pulled"]','{"ticket":"T-16"}',NULL,5,30000,5,0,1795731335087,NULL,NULL,1795731334,23,1,0,0,1795731335090,1795731335093,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731335090,"finished_at":1795731335093,"progress":0.5,"report":"complete","lease_epoch":1795731334,"lease_counter":23}]','[{"time":1795731335092,"severity":"info","service":"pulled","text":"halfway"}]',NULL,'{"ip":"10.0.0.1"}','{"n":16,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780421401306,1,3,2,1882960780421401306,9,12,NULL,'create','zone',NULL,'e18.example','["pulled"]','{"ticket":"T-18"}',NULL,5,30000,5,0,1795731335088,NULL,NULL,1795731334,24,0,0,0,1795731335090,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795731335090,"worker":"höst-1"}]',NULL,NULL,NULL,'{"n":18,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780422449882,1,1,2,1882960780422449882,9,12,NULL,'create','zone',NULL,'e20.example','["pulled"]','{"ticket":"T-20"}',NULL,5,30000,5,0,1795731335089,NULL,NULL,1795731334,41,0,0,0,1795731336196,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795731336196,"worker":"host-2"}]',NULL,NULL,NULL,'{"n":20,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780427692762,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e24.example','["works","refuses"]','{"ticket":"T-24"}',NULL,5,30000,2,1,1795731335094,NULL,NULL,1795731334,27,0,0,0,1795731335094,1795731335100,NULL,NULL,'[{"state":"undone","attempts":1,"started_at":1795731335094,"finished_at":1795731335100,"undo_attempts":1},{"state":"failed","attempts":1,"started_at":1795731335097,"finished_at":1795731335099}]','[{"time":1795731335097,"severity":"info","service":"works","text":"made"},{"time":1795731335099,"severity":"error","service":"refuses","text":"Unknown zone ü."},{"time":1795731335100,"severity":"info","service":"works","text":"made"}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":24,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780485364442,1,3,4,1882960780485364442,1,14,1795731935157,'create','zone',NULL,'e26.example','["works","stays","refuses"]','{"ticket":"T-26"}',NULL,5,30000,2,1,1795731335149,NULL,NULL,1795731334,31,1,0,0,1795731335150,NULL,1795731935157,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731335150,"finished_at":1795731335152},{"state":"retrying","attempts":1,"started_at":1795731335153,"undo_attempts":1},{"state":"failed","attempts":1,"started_at":1795731335155,"finished_at":1795731335156}]','[{"time":1795731335152,"severity":"info","service":"works","text":"made"},{"time":1795731335154,"severity":"info","service":"stays","text":"made"},{"time":1795731335156,"severity":"error","service":"refuses","text":"Unknown zone ü."},{"time":1795731335157,"severity":"warning","service":"stays","text":"stays answered with HTTP status 503."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":26,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960780543036122,1,1,4,1882960780543036122,1,14,1795731936123,'create','zone',NULL,'e28.example','["stays","breaks"]','{"ticket":"T-28"}',NULL,5,30000,2,1,1795731335204,NULL,NULL,1795731334,36,0,0,0,1795731335204,NULL,1795731936123,NULL,'[{"state":"retrying","attempts":1,"started_at":1795731335204,"undo_attempts":1},{"state":"undone","attempts":2,"started_at":1795731335207,"finished_at":1795731336121,"in_doubt":1,"undo_attempts":1}]','[{"time":1795731335207,"severity":"info","service":"stays","text":"made"},{"time":1795731335208,"severity":"warning","service":"breaks","text":"The connection to breaks ended before its answer was complete: Server returned nothing (no headers, no data)."},{"time":1795731336119,"severity":"error","service":"breaks","text":"The connection to breaks ended before its answer was complete: Server returned nothing (no headers, no data)."},{"time":1795731336121,"severity":"info","service":"breaks","text":"made"},{"time":1795731336123,"severity":"warning","service":"stays","text":"stays answered with HTTP status 503."}]','{"code":"communications_error","message":"The connection to breaks ended before its answer was complete: Server returned nothing (no headers, no data).","service":"breaks"}','{"name":"zürich","serial":2026112301}','{"n":28,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960781520308954,1,3,2,1882960781520308954,5,12,NULL,'create','zone',NULL,'e30.example','["works","sticks","refuses"]','{"ticket":"T-30"}',NULL,5,30000,2,1,1795731336136,NULL,NULL,1795731334,40,1,0,0,1795731336137,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731336137,"finished_at":1795731336140},{"state":"running","attempts":1,"started_at":1795731336140,"undo_attempts":1},{"state":"failed","attempts":1,"started_at":1795731336142,"finished_at":1795731336143}]','[{"time":1795731336139,"severity":"info","service":"works","text":"made"},{"time":1795731336141,"severity":"info","service":"sticks","text":"made"},{"time":1795731336143,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":30,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960781577980634,1,1,6,NULL,8,NULL,NULL,'create','zone',NULL,'e32.example','["pulled"]','{"ticket":"T-32"}',NULL,5,30000,5,0,1795731336191,NULL,NULL,1795731334,42,0,0,0,1795731336196,1795731336197,NULL,NULL,'[{"state":"failed","attempts":1,"started_at":1795731336196,"finished_at":1795731336197,"report":"fail","lease_epoch":1795731334,"lease_counter":42}]','[{"time":1795731336197,"severity":"error","service":"pulled","text":"x"}]','{"code":"no_room","message":"x","service":"pulled"}',NULL,'{"n":32,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960781580077786,1,1,2,1882960781580077786,1,12,NULL,'create','zone',NULL,'e32.example','["hangs"]','{"ticket":"T-32"}',NULL,5,30000,5,0,1795731336193,NULL,NULL,1795731334,43,0,0,0,1795731336198,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795731336198}]',NULL,NULL,NULL,'{"n":32,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,1882960781581126362);
INSERT INTO "jobs" VALUES(1882960781581126362,1,1,1,1882960781581126362,0,11,NULL,'create','zone',NULL,'e32.example','["works"]','{"ticket":"T-32"}',NULL,5,30000,5,0,1795731336194,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":32,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882960781642992346,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e15.example','["works"]','{"ticket":"T-15"}',NULL,5,30000,5,0,1795731336253,NULL,NULL,1795731334,44,1,0,0,1795731336253,1795731336255,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795731336253,"finished_at":1795731336255}]','[{"time":1795731336255,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":15,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1882960781641777152,NULL);
INSERT INTO "jobs" VALUES(1882960781642992347,2,2,0,NULL,0,10,1796731336253,'create','zone',NULL,'e17.example','["works"]','{"ticket":"T-17"}',NULL,5,30000,5,0,1795731336253,1796731336253,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":17,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1882960781641777152,NULL);
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
CREATE TABLE jobs_of_entity_buffer (
  hash INTEGER NOT NULL,
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
CREATE TABLE lines_buffer (
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
CREATE TABLE quota_overrides (
  cell  INTEGER NOT NULL REFERENCES cells,
  name  TEXT NOT NULL,  -- Of the setting.
  value REAL NOT NULL,  -- 0: no limit.
  PRIMARY KEY (cell, name)
) WITHOUT ROWID;
INSERT INTO "quota_overrides" VALUES(1,'customers.quota.max_jobs',70.0);
INSERT INTO "quota_overrides" VALUES(1,'customers.quota.max_running',0.0);
INSERT INTO "quota_overrides" VALUES(1,'queue.submissions_per_s',2.5);
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
, lanes TEXT, bytes INTEGER NOT NULL DEFAULT 0, stored INTEGER NOT NULL DEFAULT 0);
INSERT INTO "route_changes" VALUES(1,1,1,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(2,1,1,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(3,2,2,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(4,1,1,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(5,2,2,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(6,1,3,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(7,1,1,0,0,0,0,0,0,0,NULL,0,1);
INSERT INTO "route_changes" VALUES(8,1,3,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(9,2,2,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(10,1,3,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(11,2,2,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(12,3,4,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(13,1,3,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(14,3,4,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(15,2,2,0,0,0,0,0,0,0,NULL,0,1);
INSERT INTO "route_changes" VALUES(16,1,1,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(17,1,3,0,0,0,0,0,0,0,NULL,0,1);
INSERT INTO "route_changes" VALUES(18,3,4,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(19,1,1,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(20,3,4,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(21,2,2,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(22,1,1,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(23,2,2,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(24,3,4,0,0,0,0,0,0,0,NULL,0,1);
INSERT INTO "route_changes" VALUES(25,1,3,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(26,1,1,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(27,2,2,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(28,1,3,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(29,1,3,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(30,3,4,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(31,2,2,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(32,1,1,0,0,0,0,0,0,0,NULL,0,2);
INSERT INTO "route_changes" VALUES(33,1,3,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(34,3,4,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(35,2,2,0,0,0,0,0,0,0,NULL,0,2);
INSERT INTO "route_changes" VALUES(36,1,1,0,1,0,0,0,0,1,NULL,585,3);
INSERT INTO "route_changes" VALUES(37,1,3,0,0,0,0,0,0,0,NULL,0,2);
INSERT INTO "route_changes" VALUES(38,1,1,0,0,1,0,0,0,0,NULL,585,3);
INSERT INTO "route_changes" VALUES(39,1,1,0,1,0,0,0,0,1,NULL,585,3);
INSERT INTO "route_changes" VALUES(40,3,4,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(41,1,1,0,0,0,0,0,0,0,NULL,0,3);
INSERT INTO "route_changes" VALUES(42,3,4,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(43,3,4,0,0,0,0,0,0,0,NULL,0,2);
INSERT INTO "route_changes" VALUES(44,1,3,0,1,0,0,0,0,1,NULL,588,3);
INSERT INTO "route_changes" VALUES(45,1,3,0,0,0,1,0,0,0,NULL,588,3);
INSERT INTO "route_changes" VALUES(46,1,3,0,1,0,1,0,0,1,NULL,1176,4);
INSERT INTO "route_changes" VALUES(47,1,3,0,0,0,2,0,0,0,NULL,1176,4);
INSERT INTO "route_changes" VALUES(48,3,4,0,1,0,0,0,0,1,NULL,588,3);
INSERT INTO "route_changes" VALUES(49,3,4,0,1,0,0,0,0,1,NULL,588,3);
INSERT INTO "route_changes" VALUES(50,3,4,0,0,1,0,0,0,0,NULL,588,3);
INSERT INTO "route_changes" VALUES(51,3,4,0,1,1,0,0,0,0,NULL,1176,4);
INSERT INTO "route_changes" VALUES(52,1,1,1,0,0,0,0,0,0,NULL,588,4);
INSERT INTO "route_changes" VALUES(53,2,2,1,0,0,0,0,0,0,NULL,588,3);
INSERT INTO "route_changes" VALUES(54,1,3,1,0,0,2,0,0,0,NULL,1764,5);
INSERT INTO "route_changes" VALUES(55,1,3,0,0,0,2,0,0,0,NULL,1176,5);
INSERT INTO "route_changes" VALUES(56,1,1,1,1,0,0,0,0,0,'1:1',1176,5);
INSERT INTO "route_changes" VALUES(57,1,3,0,1,0,2,0,0,0,'1:1',1764,6);
INSERT INTO "route_changes" VALUES(58,1,1,1,2,0,0,0,0,0,'1:2',1764,6);
INSERT INTO "route_changes" VALUES(59,1,1,1,1,1,0,0,0,0,'1:1',1764,6);
INSERT INTO "route_changes" VALUES(60,1,3,0,0,1,2,0,0,0,NULL,1764,6);
INSERT INTO "route_changes" VALUES(61,1,1,1,1,1,0,0,0,0,'1:1',1764,6);
INSERT INTO "route_changes" VALUES(62,1,1,1,1,0,0,0,0,0,'1:1',1176,6);
INSERT INTO "route_changes" VALUES(63,1,1,1,2,0,0,0,0,1,'1:1',1764,7);
INSERT INTO "route_changes" VALUES(64,1,1,1,1,1,0,0,0,0,'1:1',1764,7);
INSERT INTO "route_changes" VALUES(65,1,1,1,2,0,0,0,0,1,'1:1',1764,7);
INSERT INTO "route_changes" VALUES(66,1,1,1,1,1,0,0,0,0,'1:1',1764,7);
INSERT INTO "route_changes" VALUES(67,1,1,1,1,0,0,1,0,1,'1:1',1764,7);
INSERT INTO "route_changes" VALUES(68,1,1,1,1,1,0,0,0,0,'1:1',1764,7);
INSERT INTO "route_changes" VALUES(69,1,1,1,1,0,0,0,0,0,'1:1',1176,7);
INSERT INTO "route_changes" VALUES(70,1,3,0,1,1,2,0,0,1,NULL,2352,7);
INSERT INTO "route_changes" VALUES(71,1,3,0,0,2,2,0,0,0,NULL,2352,7);
INSERT INTO "route_changes" VALUES(72,1,3,0,1,1,2,0,0,1,NULL,2352,7);
INSERT INTO "route_changes" VALUES(73,1,3,0,0,2,2,0,0,0,NULL,2352,7);
INSERT INTO "route_changes" VALUES(74,1,3,0,1,1,2,0,0,1,NULL,2352,7);
INSERT INTO "route_changes" VALUES(75,1,3,0,0,2,2,0,0,0,NULL,2352,7);
INSERT INTO "route_changes" VALUES(76,1,3,0,0,1,2,1,0,1,NULL,2352,7);
INSERT INTO "route_changes" VALUES(77,1,3,0,0,2,2,0,0,0,NULL,2352,7);
INSERT INTO "route_changes" VALUES(78,1,3,0,0,1,2,1,0,0,NULL,2352,7);
INSERT INTO "route_changes" VALUES(79,1,1,1,2,0,0,0,0,1,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(80,1,1,1,1,1,0,0,0,0,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(81,1,1,1,2,0,0,0,0,1,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(82,1,1,1,1,1,0,0,0,0,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(83,1,1,1,1,0,1,0,0,0,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(84,1,1,1,1,0,1,0,0,1,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(85,1,1,1,1,1,0,0,0,0,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(86,1,1,1,1,0,0,1,0,1,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(87,1,1,1,1,1,0,0,0,0,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(88,1,1,1,1,0,0,1,0,1,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(89,1,1,1,1,1,0,0,0,0,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(90,1,1,1,1,0,0,1,0,0,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(91,1,3,0,1,1,2,1,0,1,NULL,2940,8);
INSERT INTO "route_changes" VALUES(92,1,3,0,0,2,2,1,0,0,NULL,2940,8);
INSERT INTO "route_changes" VALUES(93,1,3,0,1,1,2,1,0,1,NULL,2940,8);
INSERT INTO "route_changes" VALUES(94,1,3,0,0,2,2,1,0,0,NULL,2940,8);
INSERT INTO "route_changes" VALUES(95,1,3,0,1,1,2,1,0,1,NULL,2940,8);
INSERT INTO "route_changes" VALUES(96,1,3,0,0,2,2,1,0,0,NULL,2940,8);
INSERT INTO "route_changes" VALUES(97,1,3,0,0,1,2,2,0,1,NULL,2940,8);
INSERT INTO "route_changes" VALUES(98,1,3,0,0,2,2,1,0,0,NULL,2940,8);
INSERT INTO "route_changes" VALUES(99,1,1,1,2,0,0,1,0,0,'1:2',2352,9);
INSERT INTO "route_changes" VALUES(100,1,1,1,3,0,0,1,0,0,'1:2',2940,10);
INSERT INTO "route_changes" VALUES(101,1,1,1,4,0,0,1,0,0,'1:2',3528,11);
INSERT INTO "route_changes" VALUES(102,1,1,1,2,2,0,1,0,0,NULL,3528,11);
INSERT INTO "route_changes" VALUES(103,1,1,1,2,1,0,1,0,1,NULL,2940,11);
INSERT INTO "route_changes" VALUES(104,1,1,1,1,2,0,1,0,0,NULL,2940,11);
INSERT INTO "route_changes" VALUES(105,3,4,0,2,1,0,0,0,1,NULL,1764,5);
INSERT INTO "route_changes" VALUES(106,2,2,2,0,0,0,0,0,0,NULL,1176,4);
INSERT INTO "route_changes" VALUES(107,3,4,0,1,2,0,0,0,0,NULL,1764,5);
INSERT INTO "route_changes" VALUES(108,3,4,0,1,1,0,0,0,0,NULL,1176,5);
CREATE TABLE routes (
  cell         INTEGER NOT NULL REFERENCES cells,
  origin       INTEGER NOT NULL REFERENCES origins,
  scheduled    INTEGER NOT NULL,
  queued       INTEGER NOT NULL,
  running      INTEGER NOT NULL,
  retrying     INTEGER NOT NULL,
  compensating INTEGER NOT NULL,
  settling     INTEGER NOT NULL,  -- Ended, and still in their lines.
  runnable     INTEGER NOT NULL, lanes TEXT, bytes INTEGER NOT NULL DEFAULT 0, stored INTEGER NOT NULL DEFAULT 0,
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
INSERT INTO "schedules" VALUES('hourly',1795731336258,0,3600000,NULL,NULL,1,2,0,'{"action":"create","customer":"acme","entity_id":"e24.example","entity_subtype":"","entity_type":"zone","labels":{"ticket":"T-24"},"max_attempts":0,"on_failure":"stop","priority":5,"product":"dns","services":["works"],"timeout_ms":0}','{"n":24,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1795734936258,0,0,0,0);
INSERT INTO "schedules" VALUES('nightly',1795731336262,0,NULL,'30 2 * * *','Europe/Berlin',1,2,0,'{"action":"create","customer":"acme","entity_id":"e24.example","entity_subtype":"","entity_type":"zone","labels":{"ticket":"T-24"},"max_attempts":0,"on_failure":"stop","priority":5,"product":"dns","services":["works"],"timeout_ms":0}','{"n":24,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1795743000000,0,0,0,0);
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "settings" VALUES('epoch',1795731334);
INSERT INTO "settings" VALUES('indexed_id',0);
INSERT INTO "settings" VALUES('indexing_id',0);
INSERT INTO "settings" VALUES('last_place',0);
INSERT INTO "settings" VALUES('secret_1',5108267531792971762);
INSERT INTO "settings" VALUES('secret_2',4112810946892807492);
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
CREATE INDEX batches_by_owner ON batches (token, customer);
CREATE INDEX batches_marked ON batches (marks) WHERE marks <> 0;
CREATE INDEX batches_deserted ON batches (last_end) WHERE stored = 0;
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
CREATE INDEX routes_by_origin ON routes (origin);
CREATE VIEW route_counts AS
SELECT cell, origin, scheduled, queued, running, retrying, compensating, settling, runnable, lanes,
       bytes, stored
FROM (SELECT *, max(number)
      FROM (SELECT 0 AS number, * FROM routes UNION ALL SELECT * FROM route_changes)
      GROUP BY cell, origin);
COMMIT;
