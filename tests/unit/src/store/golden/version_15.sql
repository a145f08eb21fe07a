-- Made by celld 0.1.0 with tests/unit/src/store/golden/make. Never edit this file.
PRAGMA application_id = 1128614980;
PRAGMA user_version = 15;
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
INSERT INTO "batches" VALUES(1883054499851927552,'','',1795820712902,1795820712908,0,2,1,0,0,0,0,1,0,0,NULL,0);
INSERT INTO "batches" VALUES(1883054499858219008,'','',1795820712908,1795820712910,4,2,2,0,0,0,0,0,0,0,'[2,null,2,0,0,0,0,0,0,0]',0);
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
INSERT INTO "idempotency_keys" VALUES('bolt','key-13',1883054499198730801,'39cdb01c8180528e847e9ef626e2ef877cca4b0d4f3949ae0aee9b953bd68ec2');
CREATE TABLE index_partitions (
  index_name TEXT NOT NULL,     -- `lines` or `jobs_of_entity`.
  part       INTEGER NOT NULL,
  after_id   INTEGER NOT NULL,
  jobs       INTEGER NOT NULL,  -- That have come; it may have fewer keys.
  PRIMARY KEY (index_name, part)
) WITHOUT ROWID;
CREATE TABLE job_labels (
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  job   INTEGER NOT NULL REFERENCES jobs,
  PRIMARY KEY (name, value, job)
) WITHOUT ROWID;
INSERT INTO "job_labels" VALUES('ticket','T-0',1883054498913518129);
INSERT INTO "job_labels" VALUES('ticket','T-1',1883054498916663857);
INSERT INTO "job_labels" VALUES('ticket','T-10',1883054499011035697);
INSERT INTO "job_labels" VALUES('ticket','T-11',1883054499130573361);
INSERT INTO "job_labels" VALUES('ticket','T-11',1883054499192439345);
INSERT INTO "job_labels" VALUES('ticket','T-12',1883054499195585073);
INSERT INTO "job_labels" VALUES('ticket','T-13',1883054499198730801);
INSERT INTO "job_labels" VALUES('ticket','T-14',1883054499200827953);
INSERT INTO "job_labels" VALUES('ticket','T-15',1883054499854090801);
INSERT INTO "job_labels" VALUES('ticket','T-16',1883054499205022257);
INSERT INTO "job_labels" VALUES('ticket','T-17',1883054499854090802);
INSERT INTO "job_labels" VALUES('ticket','T-18',1883054499207119409);
INSERT INTO "job_labels" VALUES('ticket','T-2',1883054498920858161);
INSERT INTO "job_labels" VALUES('ticket','T-20',1883054499209216561);
INSERT INTO "job_labels" VALUES('ticket','T-22',1883054499070804529);
INSERT INTO "job_labels" VALUES('ticket','T-24',1883054499216556593);
INSERT INTO "job_labels" VALUES('ticket','T-26',1883054499274228273);
INSERT INTO "job_labels" VALUES('ticket','T-28',1883054499332948529);
INSERT INTO "job_labels" VALUES('ticket','T-3',1883054498927149617);
INSERT INTO "job_labels" VALUES('ticket','T-30',1883054499720921649);
INSERT INTO "job_labels" VALUES('ticket','T-32',1883054499781739057);
INSERT INTO "job_labels" VALUES('ticket','T-32',1883054499784884785);
INSERT INTO "job_labels" VALUES('ticket','T-32',1883054499786981937);
INSERT INTO "job_labels" VALUES('ticket','T-4',1883054498933441073);
INSERT INTO "job_labels" VALUES('ticket','T-5',1883054498936586801);
INSERT INTO "job_labels" VALUES('ticket','T-6',1883054498940781105);
INSERT INTO "job_labels" VALUES('ticket','T-7',1883054498943926833);
INSERT INTO "job_labels" VALUES('ticket','T-8',1883054498947072561);
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
INSERT INTO "jobs" VALUES(1883054498913518129,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e0.example','["works","works2"]','{"ticket":"T-0"}',NULL,5,30000,5,0,1795820712007,NULL,NULL,1795820711,3,2,0,0,1795820712008,1795820712016,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712008,"finished_at":1795820712013},{"state":"succeeded","attempts":1,"started_at":1795820712014,"finished_at":1795820712016}]','[{"time":1795820712013,"severity":"info","service":"works","text":"made"},{"time":1795820712016,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":0,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054498916663857,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e1.example','["works","works2"]','{"ticket":"T-1"}',NULL,5,30000,5,0,1795820712010,NULL,NULL,1795820711,5,2,0,0,1795820712012,1795820712019,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712012,"finished_at":1795820712015},{"state":"succeeded","attempts":1,"started_at":1795820712017,"finished_at":1795820712019}]','[{"time":1795820712015,"severity":"info","service":"works","text":"made"},{"time":1795820712019,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":1,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054498920858161,1,3,5,NULL,0,NULL,NULL,'create','zone',NULL,'e2.example','["works","works2"]','{"ticket":"T-2"}',NULL,5,30000,5,0,1795820712014,NULL,NULL,1795820711,6,2,0,0,1795820712016,1795820712024,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712016,"finished_at":1795820712018},{"state":"succeeded","attempts":1,"started_at":1795820712020,"finished_at":1795820712024}]','[{"time":1795820712018,"severity":"info","service":"works","text":"made"},{"time":1795820712024,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":2,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054498927149617,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e3.example','["works","works2"]','{"ticket":"T-3"}',NULL,5,30000,5,0,1795820712020,NULL,NULL,1795820711,8,2,0,0,1795820712022,1795820712027,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712022,"finished_at":1795820712025},{"state":"succeeded","attempts":1,"started_at":1795820712026,"finished_at":1795820712027}]','[{"time":1795820712025,"severity":"info","service":"works","text":"made"},{"time":1795820712027,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":3,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054498933441073,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e4.example','["works","works2"]','{"ticket":"T-4"}',NULL,5,30000,5,0,1795820712026,NULL,NULL,1795820711,11,2,0,0,1795820712027,1795820712033,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712027,"finished_at":1795820712029},{"state":"succeeded","attempts":1,"started_at":1795820712030,"finished_at":1795820712033}]','[{"time":1795820712029,"severity":"info","service":"works","text":"made"},{"time":1795820712033,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":4,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054498936586801,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e5.example','["works","works2"]','{"ticket":"T-5"}',NULL,5,30000,5,0,1795820712029,NULL,NULL,1795820711,12,2,0,0,1795820712030,1795820712035,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712030,"finished_at":1795820712032},{"state":"succeeded","attempts":1,"started_at":1795820712034,"finished_at":1795820712035}]','[{"time":1795820712032,"severity":"info","service":"works","text":"made"},{"time":1795820712035,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":5,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054498940781105,1,3,6,NULL,0,NULL,NULL,'create','zone',NULL,'e6.example','["works","refuses"]','{"ticket":"T-6"}',NULL,5,30000,5,0,1795820712033,NULL,NULL,1795820711,15,1,0,0,1795820712035,1795820712040,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712035,"finished_at":1795820712037},{"state":"failed","attempts":1,"started_at":1795820712038,"finished_at":1795820712040}]','[{"time":1795820712037,"severity":"info","service":"works","text":"made"},{"time":1795820712040,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":6,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054498943926833,3,4,6,NULL,0,NULL,NULL,'create','zone',NULL,'e7.example','["works","refuses"]','{"ticket":"T-7"}',NULL,5,30000,5,0,1795820712036,NULL,NULL,1795820711,16,1,0,0,1795820712037,1795820712041,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712037,"finished_at":1795820712038},{"state":"failed","attempts":1,"started_at":1795820712039,"finished_at":1795820712041}]','[{"time":1795820712038,"severity":"info","service":"works","text":"made"},{"time":1795820712041,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":7,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054498947072561,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e8.example','["works","refuses"]','{"ticket":"T-8"}',NULL,5,30000,5,0,1795820712039,NULL,NULL,1795820711,18,1,0,0,1795820712040,1795820712046,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712040,"finished_at":1795820712043},{"state":"failed","attempts":1,"started_at":1795820712044,"finished_at":1795820712046}]','[{"time":1795820712043,"severity":"info","service":"works","text":"made"},{"time":1795820712046,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":8,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499011035697,1,3,3,1883054499011035697,1,13,1795821312103,'create','zone',NULL,'e10.example','["waits"]','{"ticket":"T-10"}',NULL,5,30000,5,0,1795820712100,NULL,NULL,1795820711,19,0,0,0,1795820712102,NULL,1795821312103,NULL,'[{"state":"retrying","attempts":1,"started_at":1795820712102}]','[{"time":1795820712103,"severity":"warning","service":"waits","text":"waits answered with HTTP status 503."}]',NULL,NULL,'{"n":10,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499070804529,1,3,3,1883054499070804529,1,13,1795820741160,'create','zone',NULL,'e22.example','["begins"]','{"ticket":"T-22"}',NULL,5,30000,5,0,1795820712157,NULL,NULL,1795820711,20,0,0,0,1795820712159,NULL,1795820741160,NULL,'[{"state":"running","attempts":1,"started_at":1795820712159,"operation":"{\"request\":0,\"has_begun\":true,\"left_ms\":1000,\"properties\":{\"id\":\"zü/1\"},\"due_ms\":28577070}"}]',NULL,NULL,NULL,'{"n":22,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499130573361,3,4,2,1883054499130573361,1,12,NULL,'create','zone',NULL,'e11.example','["works","hangs"]','{"ticket":"T-11"}',NULL,5,30000,5,0,1795820712214,NULL,NULL,1795820711,22,1,0,0,1795820712216,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712216,"finished_at":1795820712220},{"state":"running","attempts":1,"started_at":1795820712222}]','[{"time":1795820712220,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499192439345,3,4,1,1883054499192439345,0,11,NULL,'create','zone',NULL,'e11.example','["works"]','{"ticket":"T-11"}',NULL,9,30000,5,0,1795820712273,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499195585073,1,1,0,NULL,0,10,1798820712276,'create','zone',NULL,'e12.example','["works"]','{"ticket":"T-12"}',NULL,5,30000,5,0,1795820712276,1798820712276,4070908800000,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":12,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499198730801,2,2,0,NULL,0,10,1798820712279,'create','zone',NULL,'e13.example','["works"]','{"ticket":"T-13"}',NULL,5,30000,5,0,1795820712279,1798820712279,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":13,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499200827953,1,3,7,NULL,0,NULL,NULL,'create','zone',NULL,'e14.example','["works"]','{"ticket":"T-14"}',NULL,5,30000,5,0,1795820712281,1796820712281,NULL,NULL,NULL,0,0,1,NULL,1795820712283,NULL,NULL,'[{"state":"skipped","attempts":0}]',NULL,'{"code":"cancelled","message":"the job was cancelled","service":""}',NULL,'{"n":14,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499205022257,1,1,5,NULL,8,NULL,NULL,'create','zone',NULL,'e16.example','["pulled"]','{"ticket":"T-16"}',NULL,5,30000,5,0,1795820712285,NULL,NULL,1795820711,23,1,0,0,1795820712291,1795820712294,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712291,"finished_at":1795820712294,"progress":0.5,"report":"complete","lease_epoch":1795820711,"lease_counter":23}]','[{"time":1795820712293,"severity":"info","service":"pulled","text":"halfway"}]',NULL,'{"ip":"10.0.0.1"}','{"n":16,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499207119409,1,3,2,1883054499207119409,9,12,NULL,'create','zone',NULL,'e18.example','["pulled"]','{"ticket":"T-18"}',NULL,5,30000,5,0,1795820712287,NULL,NULL,1795820711,24,0,0,0,1795820712291,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795820712291,"worker":"höst-1"}]',NULL,NULL,NULL,'{"n":18,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499209216561,1,1,2,1883054499209216561,9,12,NULL,'create','zone',NULL,'e20.example','["pulled"]','{"ticket":"T-20"}',NULL,5,30000,5,0,1795820712289,NULL,NULL,1795820711,41,0,0,0,1795820712842,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795820712842,"worker":"host-2"}]',NULL,NULL,NULL,'{"n":20,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499216556593,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e24.example','["works","refuses"]','{"ticket":"T-24"}',NULL,5,30000,2,1,1795820712296,NULL,NULL,1795820711,27,0,0,0,1795820712297,1795820712305,NULL,NULL,'[{"state":"undone","attempts":1,"started_at":1795820712297,"finished_at":1795820712305,"undo_attempts":1},{"state":"failed","attempts":1,"started_at":1795820712301,"finished_at":1795820712303}]','[{"time":1795820712300,"severity":"info","service":"works","text":"made"},{"time":1795820712303,"severity":"error","service":"refuses","text":"Unknown zone ü."},{"time":1795820712305,"severity":"info","service":"works","text":"made"}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":24,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499274228273,1,3,4,1883054499274228273,1,14,1795821312365,'create','zone',NULL,'e26.example','["works","stays","refuses"]','{"ticket":"T-26"}',NULL,5,30000,2,1,1795820712351,NULL,NULL,1795820711,31,1,0,0,1795820712353,NULL,1795821312365,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712353,"finished_at":1795820712356},{"state":"retrying","attempts":1,"started_at":1795820712357,"undo_attempts":1},{"state":"failed","attempts":1,"started_at":1795820712360,"finished_at":1795820712362}]','[{"time":1795820712356,"severity":"info","service":"works","text":"made"},{"time":1795820712359,"severity":"info","service":"stays","text":"made"},{"time":1795820712362,"severity":"error","service":"refuses","text":"Unknown zone ü."},{"time":1795820712365,"severity":"warning","service":"stays","text":"stays answered with HTTP status 503."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":26,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499332948529,1,1,4,1883054499332948529,1,14,1795821312782,'create','zone',NULL,'e28.example','["stays","breaks"]','{"ticket":"T-28"}',NULL,5,30000,2,1,1795820712407,NULL,NULL,1795820711,36,0,0,0,1795820712409,NULL,1795821312782,NULL,'[{"state":"retrying","attempts":1,"started_at":1795820712409,"undo_attempts":1},{"state":"undone","attempts":2,"started_at":1795820712414,"finished_at":1795820712776,"in_doubt":1,"undo_attempts":1}]','[{"time":1795820712412,"severity":"info","service":"stays","text":"made"},{"time":1795820712416,"severity":"warning","service":"breaks","text":"The connection to breaks ended before its answer was complete: Server returned nothing (no headers, no data)."},{"time":1795820712773,"severity":"error","service":"breaks","text":"The connection to breaks ended before its answer was complete: Server returned nothing (no headers, no data)."},{"time":1795820712776,"severity":"info","service":"breaks","text":"made"},{"time":1795820712782,"severity":"warning","service":"stays","text":"stays answered with HTTP status 503."}]','{"code":"communications_error","message":"The connection to breaks ended before its answer was complete: Server returned nothing (no headers, no data).","service":"breaks"}','{"name":"zürich","serial":2026112301}','{"n":28,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499720921649,1,3,2,1883054499720921649,5,12,NULL,'create','zone',NULL,'e30.example','["works","sticks","refuses"]','{"ticket":"T-30"}',NULL,5,30000,2,1,1795820712777,NULL,NULL,1795820711,40,1,0,0,1795820712779,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712779,"finished_at":1795820712782},{"state":"running","attempts":1,"started_at":1795820712784,"undo_attempts":1},{"state":"failed","attempts":1,"started_at":1795820712786,"finished_at":1795820712788}]','[{"time":1795820712782,"severity":"info","service":"works","text":"made"},{"time":1795820712785,"severity":"info","service":"sticks","text":"made"},{"time":1795820712788,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":30,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499781739057,1,1,6,NULL,8,NULL,NULL,'create','zone',NULL,'e32.example','["pulled"]','{"ticket":"T-32"}',NULL,5,30000,5,0,1795820712835,NULL,NULL,1795820711,42,0,0,0,1795820712842,1795820712844,NULL,NULL,'[{"state":"failed","attempts":1,"started_at":1795820712842,"finished_at":1795820712844,"report":"fail","lease_epoch":1795820711,"lease_counter":42}]','[{"time":1795820712844,"severity":"error","service":"pulled","text":"x"}]','{"code":"no_room","message":"x","service":"pulled"}',NULL,'{"n":32,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499784884785,1,1,2,1883054499784884785,1,12,NULL,'create','zone',NULL,'e32.example','["hangs"]','{"ticket":"T-32"}',NULL,5,30000,5,0,1795820712838,NULL,NULL,1795820711,43,0,0,0,1795820712845,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795820712845}]',NULL,NULL,NULL,'{"n":32,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,1883054499786981937);
INSERT INTO "jobs" VALUES(1883054499786981937,1,1,1,1883054499786981937,0,11,NULL,'create','zone',NULL,'e32.example','["works"]','{"ticket":"T-32"}',NULL,5,30000,5,0,1795820712840,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":32,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1883054499854090801,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e15.example','["works"]','{"ticket":"T-15"}',NULL,5,30000,5,0,1795820712904,NULL,NULL,1795820711,44,1,0,0,1795820712905,1795820712908,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795820712905,"finished_at":1795820712908}]','[{"time":1795820712908,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":15,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1883054499851927552,NULL);
INSERT INTO "jobs" VALUES(1883054499854090802,2,2,0,NULL,0,10,1796820712904,'create','zone',NULL,'e17.example','["works"]','{"ticket":"T-17"}',NULL,5,30000,5,0,1795820712904,1796820712904,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":17,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1883054499851927552,NULL);
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
CREATE TABLE jobs_of_entity_by_part (
  part INTEGER NOT NULL,
  hash INTEGER NOT NULL,
  job  INTEGER NOT NULL,
  PRIMARY KEY (part, hash, job)
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
CREATE TABLE lines_by_part (
  part  INTEGER NOT NULL,
  hash  INTEGER NOT NULL,
  place INTEGER NOT NULL,
  job   INTEGER NOT NULL,
  PRIMARY KEY (part, hash, place, job)
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
INSERT INTO "route_changes" VALUES(2,1,1,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(3,2,2,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(4,2,2,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(5,1,1,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(6,1,1,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(7,1,3,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(8,2,2,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(9,1,1,0,0,0,0,0,0,0,NULL,0,1);
INSERT INTO "route_changes" VALUES(10,1,3,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(11,2,2,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(12,1,3,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(13,2,2,0,0,0,0,0,0,0,NULL,0,1);
INSERT INTO "route_changes" VALUES(14,1,3,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(15,3,4,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(16,3,4,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(17,1,3,0,0,0,0,0,0,0,NULL,0,1);
INSERT INTO "route_changes" VALUES(18,3,4,0,1,0,0,0,0,1,NULL,585,1);
INSERT INTO "route_changes" VALUES(19,3,4,0,0,1,0,0,0,0,NULL,585,1);
INSERT INTO "route_changes" VALUES(20,1,1,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(21,1,1,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(22,3,4,0,0,0,0,0,0,0,NULL,0,1);
INSERT INTO "route_changes" VALUES(23,2,2,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(24,1,1,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(25,2,2,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(26,1,1,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(27,1,1,0,0,0,0,0,0,0,NULL,0,2);
INSERT INTO "route_changes" VALUES(28,1,3,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(29,2,2,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(30,2,2,0,0,0,0,0,0,0,NULL,0,2);
INSERT INTO "route_changes" VALUES(31,1,3,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(32,3,4,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(33,1,3,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(34,3,4,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(35,1,3,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(36,3,4,0,1,0,0,0,0,1,NULL,585,2);
INSERT INTO "route_changes" VALUES(37,1,1,0,1,0,0,0,0,1,NULL,585,3);
INSERT INTO "route_changes" VALUES(38,3,4,0,0,1,0,0,0,0,NULL,585,2);
INSERT INTO "route_changes" VALUES(39,1,3,0,0,0,0,0,0,0,NULL,0,2);
INSERT INTO "route_changes" VALUES(40,1,1,0,0,1,0,0,0,0,NULL,585,3);
INSERT INTO "route_changes" VALUES(41,3,4,0,0,0,0,0,0,0,NULL,0,2);
INSERT INTO "route_changes" VALUES(42,1,1,0,1,0,0,0,0,1,NULL,585,3);
INSERT INTO "route_changes" VALUES(43,1,1,0,0,0,0,0,0,0,NULL,0,3);
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
INSERT INTO "route_changes" VALUES(89,1,3,0,1,1,2,1,0,1,NULL,2940,8);
INSERT INTO "route_changes" VALUES(90,1,1,1,1,1,0,0,0,0,'1:1',1764,8);
INSERT INTO "route_changes" VALUES(91,1,3,0,0,2,2,1,0,0,NULL,2940,8);
INSERT INTO "route_changes" VALUES(92,1,1,1,1,0,0,1,0,0,'1:1',1764,8);
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
INSERT INTO "schedules" VALUES('hourly',1795820712912,0,3600000,NULL,NULL,1,2,0,'{"action":"create","customer":"acme","entity_id":"e24.example","entity_subtype":"","entity_type":"zone","labels":{"ticket":"T-24"},"max_attempts":0,"on_failure":"stop","priority":5,"product":"dns","services":["works"],"timeout_ms":0}','{"n":24,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1795824312912,0,0,0,0);
INSERT INTO "schedules" VALUES('nightly',1795820712922,0,NULL,'30 2 * * *','Europe/Berlin',1,2,0,'{"action":"create","customer":"acme","entity_id":"e24.example","entity_subtype":"","entity_type":"zone","labels":{"ticket":"T-24"},"max_attempts":0,"on_failure":"stop","priority":5,"product":"dns","services":["works"],"timeout_ms":0}','{"n":24,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1795829400000,0,0,0,0);
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "settings" VALUES('epoch',1795820711);
INSERT INTO "settings" VALUES('indexed_id',0);
INSERT INTO "settings" VALUES('indexing_id',0);
INSERT INTO "settings" VALUES('last_place',0);
INSERT INTO "settings" VALUES('secret_1',-7202067186124719658);
INSERT INTO "settings" VALUES('secret_2',6376126106012130607);
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
CREATE INDEX jobs_held ON jobs (cell) WHERE marks & 2;
COMMIT;
