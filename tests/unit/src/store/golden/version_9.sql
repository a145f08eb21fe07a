-- Made by celld 0.1.0 with tests/unit/src/store/golden/make. Never edit this file.
PRAGMA application_id = 1128614980;
PRAGMA user_version = 9;
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
INSERT INTO "batches" VALUES(1882731936096452608,'','',1795513092133,1795513092147,0,2,1,0,0,0,0,1,0,0);
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
INSERT INTO "idempotency_keys" VALUES('bolt','key-13',1882731935689711265,'39cdb01c8180528e847e9ef626e2ef877cca4b0d4f3949ae0aee9b953bd68ec2');
CREATE TABLE job_labels (
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  job   INTEGER NOT NULL REFERENCES jobs,
  PRIMARY KEY (name, value, job)
) WITHOUT ROWID;
INSERT INTO "job_labels" VALUES('ticket','T-0',1882731934325513889);
INSERT INTO "job_labels" VALUES('ticket','T-1',1882731934328659617);
INSERT INTO "job_labels" VALUES('ticket','T-10',1882731935510404769);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882731935626796705);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882731935685516961);
INSERT INTO "job_labels" VALUES('ticket','T-12',1882731935687614113);
INSERT INTO "job_labels" VALUES('ticket','T-13',1882731935689711265);
INSERT INTO "job_labels" VALUES('ticket','T-14',1882731935691808417);
INSERT INTO "job_labels" VALUES('ticket','T-15',1882731936102850209);
INSERT INTO "job_labels" VALUES('ticket','T-16',1882731935693905569);
INSERT INTO "job_labels" VALUES('ticket','T-17',1882731936102850210);
INSERT INTO "job_labels" VALUES('ticket','T-18',1882731935696002721);
INSERT INTO "job_labels" VALUES('ticket','T-2',1882731934331805345);
INSERT INTO "job_labels" VALUES('ticket','T-20',1882731935697051297);
INSERT INTO "job_labels" VALUES('ticket','T-22',1882731935568076449);
INSERT INTO "job_labels" VALUES('ticket','T-24',1882731935705439905);
INSERT INTO "job_labels" VALUES('ticket','T-26',1882731935762063009);
INSERT INTO "job_labels" VALUES('ticket','T-28',1882731935820783265);
INSERT INTO "job_labels" VALUES('ticket','T-3',1882731934335999649);
INSERT INTO "job_labels" VALUES('ticket','T-30',1882731935941369505);
INSERT INTO "job_labels" VALUES('ticket','T-32',1882731936008478369);
INSERT INTO "job_labels" VALUES('ticket','T-32',1882731936015818401);
INSERT INTO "job_labels" VALUES('ticket','T-32',1882731936027352737);
INSERT INTO "job_labels" VALUES('ticket','T-4',1882731934346485409);
INSERT INTO "job_labels" VALUES('ticket','T-5',1882731934348582561);
INSERT INTO "job_labels" VALUES('ticket','T-6',1882731934353825441);
INSERT INTO "job_labels" VALUES('ticket','T-7',1882731934358019745);
INSERT INTO "job_labels" VALUES('ticket','T-8',1882731934360116897);
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
INSERT INTO "jobs" VALUES(1882731934325513889,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e0.example','["works","works2"]','{"ticket":"T-0"}',NULL,5,30000,5,0,1795513090444,NULL,NULL,1795513090,10,2,0,0,1795513090445,1795513090495,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513090445,"finished_at":1795513090482},{"state":"succeeded","attempts":1,"started_at":1795513090484,"finished_at":1795513090495}]','[{"time":1795513090482,"severity":"info","service":"works","text":"made"},{"time":1795513090495,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":0,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731934328659617,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e1.example','["works","works2"]','{"ticket":"T-1"}',NULL,5,30000,5,0,1795513090447,NULL,NULL,1795513090,11,2,0,0,1795513090448,1795513090496,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513090448,"finished_at":1795513090483},{"state":"succeeded","attempts":1,"started_at":1795513090486,"finished_at":1795513090496}]','[{"time":1795513090483,"severity":"info","service":"works","text":"made"},{"time":1795513090496,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":1,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731934331805345,1,3,5,NULL,0,NULL,NULL,'create','zone',NULL,'e2.example','["works","works2"]','{"ticket":"T-2"}',NULL,5,30000,5,0,1795513090450,NULL,NULL,1795513090,13,2,0,0,1795513090452,1795513090501,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513090452,"finished_at":1795513090483},{"state":"succeeded","attempts":1,"started_at":1795513090487,"finished_at":1795513090501}]','[{"time":1795513090483,"severity":"info","service":"works","text":"made"},{"time":1795513090501,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":2,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731934335999649,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e3.example','["works","works2"]','{"ticket":"T-3"}',NULL,5,30000,5,0,1795513090454,NULL,NULL,1795513090,12,2,0,0,1795513090455,1795513090499,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513090455,"finished_at":1795513090483},{"state":"succeeded","attempts":1,"started_at":1795513090486,"finished_at":1795513090499}]','[{"time":1795513090483,"severity":"info","service":"works","text":"made"},{"time":1795513090499,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":3,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731934346485409,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e4.example','["works","works2"]','{"ticket":"T-4"}',NULL,5,30000,5,0,1795513090464,NULL,NULL,1795513090,14,2,0,0,1795513090465,1795513090503,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513090465,"finished_at":1795513090487},{"state":"succeeded","attempts":1,"started_at":1795513090490,"finished_at":1795513090503}]','[{"time":1795513090487,"severity":"info","service":"works","text":"made"},{"time":1795513090503,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":4,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731934348582561,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e5.example','["works","works2"]','{"ticket":"T-5"}',NULL,5,30000,5,0,1795513090466,NULL,NULL,1795513090,15,2,0,0,1795513090470,1795513090506,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513090470,"finished_at":1795513090490},{"state":"succeeded","attempts":1,"started_at":1795513090491,"finished_at":1795513090506}]','[{"time":1795513090490,"severity":"info","service":"works","text":"made"},{"time":1795513090506,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":5,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731934353825441,1,3,6,NULL,0,NULL,NULL,'create','zone',NULL,'e6.example','["works","refuses"]','{"ticket":"T-6"}',NULL,5,30000,5,0,1795513090471,NULL,NULL,1795513090,16,1,0,0,1795513090474,1795513090505,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513090474,"finished_at":1795513090490},{"state":"failed","attempts":1,"started_at":1795513090492,"finished_at":1795513090505}]','[{"time":1795513090490,"severity":"info","service":"works","text":"made"},{"time":1795513090505,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":6,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731934358019745,3,4,6,NULL,0,NULL,NULL,'create','zone',NULL,'e7.example','["works","refuses"]','{"ticket":"T-7"}',NULL,5,30000,5,0,1795513090475,NULL,NULL,1795513090,17,1,0,0,1795513090476,1795513091531,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513090476,"finished_at":1795513090491},{"state":"failed","attempts":1,"started_at":1795513090494,"finished_at":1795513091531}]','[{"time":1795513090491,"severity":"info","service":"works","text":"made"},{"time":1795513091531,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":7,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731934360116897,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e8.example','["works","refuses"]','{"ticket":"T-8"}',NULL,5,30000,5,0,1795513090477,NULL,NULL,1795513090,18,1,0,0,1795513090483,1795513090506,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513090483,"finished_at":1795513090492},{"state":"failed","attempts":1,"started_at":1795513090499,"finished_at":1795513090506}]','[{"time":1795513090492,"severity":"info","service":"works","text":"made"},{"time":1795513090506,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":8,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935510404769,1,3,3,1882731935510404769,1,13,1795513691578,'create','zone',NULL,'e10.example','["waits"]','{"ticket":"T-10"}',NULL,5,30000,5,0,1795513091574,NULL,NULL,1795513090,19,0,0,0,1795513091575,NULL,1795513691578,NULL,'[{"state":"retrying","attempts":1,"started_at":1795513091575}]','[{"time":1795513091578,"severity":"warning","service":"waits","text":"waits answered with HTTP status 503."}]',NULL,NULL,'{"n":10,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935568076449,1,3,3,1882731935568076449,1,13,1795513120632,'create','zone',NULL,'e22.example','["begins"]','{"ticket":"T-22"}',NULL,5,30000,5,0,1795513091629,NULL,NULL,1795513090,20,0,0,0,1795513091631,NULL,1795513120632,NULL,'[{"state":"running","attempts":1,"started_at":1795513091631,"operation":"{\"request\":0,\"has_begun\":true,\"left_ms\":1000,\"properties\":{\"id\":\"zü/1\"}}"}]',NULL,NULL,NULL,'{"n":22,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935626796705,3,4,2,1882731935626796705,1,12,NULL,'create','zone',NULL,'e11.example','["works","hangs"]','{"ticket":"T-11"}',NULL,5,30000,5,0,1795513091685,NULL,NULL,1795513090,22,1,0,0,1795513091686,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513091686,"finished_at":1795513091689},{"state":"running","attempts":1,"started_at":1795513091690}]','[{"time":1795513091689,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935685516961,3,4,1,1882731935685516961,0,11,NULL,'create','zone',NULL,'e11.example','["works"]','{"ticket":"T-11"}',NULL,9,30000,5,0,1795513091741,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935687614113,1,1,0,NULL,0,10,1798513091743,'create','zone',NULL,'e12.example','["works"]','{"ticket":"T-12"}',NULL,5,30000,5,0,1795513091743,1798513091743,4070908800000,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":12,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935689711265,2,2,0,NULL,0,10,1798513091745,'create','zone',NULL,'e13.example','["works"]','{"ticket":"T-13"}',NULL,5,30000,5,0,1795513091745,1798513091745,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":13,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935691808417,1,3,7,NULL,0,NULL,NULL,'create','zone',NULL,'e14.example','["works"]','{"ticket":"T-14"}',NULL,5,30000,5,0,1795513091747,1796513091747,NULL,NULL,NULL,0,0,1,NULL,1795513091748,NULL,NULL,'[{"state":"skipped","attempts":0}]',NULL,'{"code":"cancelled","message":"the job was cancelled","service":""}',NULL,'{"n":14,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935693905569,1,1,5,NULL,8,NULL,NULL,'create','zone',NULL,'e16.example','["pulled"]','{"ticket":"T-16"}',NULL,5,30000,5,0,1795513091749,NULL,NULL,1795513090,23,1,0,0,1795513091754,1795513091757,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513091754,"finished_at":1795513091757,"progress":0.5,"report":"complete","lease_epoch":1795513090,"lease_counter":23}]','[{"time":1795513091756,"severity":"info","service":"pulled","text":"halfway"}]',NULL,'{"ip":"10.0.0.1"}','{"n":16,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935696002721,1,3,2,1882731935696002721,9,12,NULL,'create','zone',NULL,'e18.example','["pulled"]','{"ticket":"T-18"}',NULL,5,30000,5,0,1795513091751,NULL,NULL,1795513090,24,0,0,0,1795513091754,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795513091754,"worker":"höst-1"}]',NULL,NULL,NULL,'{"n":18,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935697051297,1,1,2,1882731935697051297,9,12,NULL,'create','zone',NULL,'e20.example','["pulled"]','{"ticket":"T-20"}',NULL,5,30000,5,0,1795513091752,NULL,NULL,1795513090,41,0,0,0,1795513092072,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795513092072,"worker":"host-2"}]',NULL,NULL,NULL,'{"n":20,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935705439905,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e24.example','["works","refuses"]','{"ticket":"T-24"}',NULL,5,30000,2,1,1795513091760,NULL,NULL,1795513090,27,0,0,0,1795513091760,1795513091779,NULL,NULL,'[{"state":"undone","attempts":1,"started_at":1795513091760,"finished_at":1795513091779,"undo_attempts":1},{"state":"failed","attempts":1,"started_at":1795513091768,"finished_at":1795513091771}]','[{"time":1795513091767,"severity":"info","service":"works","text":"made"},{"time":1795513091771,"severity":"error","service":"refuses","text":"Unknown zone ü."},{"time":1795513091779,"severity":"info","service":"works","text":"made"}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":24,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935762063009,1,3,4,1882731935762063009,1,14,1795513691849,'create','zone',NULL,'e26.example','["works","stays","refuses"]','{"ticket":"T-26"}',NULL,5,30000,2,1,1795513091814,NULL,NULL,1795513090,31,1,0,0,1795513091816,NULL,1795513691849,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513091816,"finished_at":1795513091822},{"state":"retrying","attempts":1,"started_at":1795513091824,"undo_attempts":1},{"state":"failed","attempts":1,"started_at":1795513091830,"finished_at":1795513091839}]','[{"time":1795513091822,"severity":"info","service":"works","text":"made"},{"time":1795513091827,"severity":"info","service":"stays","text":"made"},{"time":1795513091839,"severity":"error","service":"refuses","text":"Unknown zone ü."},{"time":1795513091849,"severity":"warning","service":"stays","text":"stays answered with HTTP status 503."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":26,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935820783265,1,1,4,1882731935820783265,1,14,1795513692007,'create','zone',NULL,'e28.example','["stays","breaks"]','{"ticket":"T-28"}',NULL,5,30000,2,1,1795513091870,NULL,NULL,1795513090,37,0,0,0,1795513091878,NULL,1795513692007,NULL,'[{"state":"retrying","attempts":1,"started_at":1795513091878,"undo_attempts":1},{"state":"undone","attempts":2,"started_at":1795513091884,"finished_at":1795513091988,"in_doubt":1,"undo_attempts":1}]','[{"time":1795513091883,"severity":"info","service":"stays","text":"made"},{"time":1795513091890,"severity":"warning","service":"breaks","text":"The connection to breaks ended before its answer was complete: Server returned nothing (no headers, no data)."},{"time":1795513091980,"severity":"error","service":"breaks","text":"The connection to breaks ended before its answer was complete: Server returned nothing (no headers, no data)."},{"time":1795513091988,"severity":"info","service":"breaks","text":"made"},{"time":1795513092007,"severity":"warning","service":"stays","text":"stays answered with HTTP status 503."}]','{"code":"communications_error","message":"The connection to breaks ended before its answer was complete: Server returned nothing (no headers, no data).","service":"breaks"}','{"name":"zürich","serial":2026112301}','{"n":28,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731935941369505,1,3,2,1882731935941369505,5,12,NULL,'create','zone',NULL,'e30.example','["works","sticks","refuses"]','{"ticket":"T-30"}',NULL,5,30000,2,1,1795513091985,NULL,NULL,1795513090,40,1,0,0,1795513091994,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513091994,"finished_at":1795513092004},{"state":"running","attempts":1,"started_at":1795513092008,"undo_attempts":1},{"state":"failed","attempts":1,"started_at":1795513092019,"finished_at":1795513092025}]','[{"time":1795513092004,"severity":"info","service":"works","text":"made"},{"time":1795513092015,"severity":"info","service":"sticks","text":"made"},{"time":1795513092025,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":30,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731936008478369,1,1,6,NULL,8,NULL,NULL,'create','zone',NULL,'e32.example','["pulled"]','{"ticket":"T-32"}',NULL,5,30000,5,0,1795513092049,NULL,NULL,1795513090,42,0,0,0,1795513092072,1795513092076,NULL,NULL,'[{"state":"failed","attempts":1,"started_at":1795513092072,"finished_at":1795513092076,"report":"fail","lease_epoch":1795513090,"lease_counter":42}]','[{"time":1795513092076,"severity":"error","service":"pulled","text":"x"}]','{"code":"no_room","message":"x","service":"pulled"}',NULL,'{"n":32,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731936015818401,1,1,2,1882731936015818401,1,12,NULL,'create','zone',NULL,'e32.example','["hangs"]','{"ticket":"T-32"}',NULL,5,30000,5,0,1795513092056,NULL,NULL,1795513090,43,0,0,0,1795513092078,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795513092078}]',NULL,NULL,NULL,'{"n":32,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,1882731936027352737);
INSERT INTO "jobs" VALUES(1882731936027352737,1,1,1,1882731936027352737,0,11,NULL,'create','zone',NULL,'e32.example','["works"]','{"ticket":"T-32"}',NULL,5,30000,5,0,1795513092067,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":32,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882731936102850209,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e15.example','["works"]','{"ticket":"T-15"}',NULL,5,30000,5,0,1795513092139,NULL,NULL,1795513090,44,1,0,0,1795513092143,1795513092147,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795513092143,"finished_at":1795513092147}]','[{"time":1795513092147,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":15,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1882731936096452608,NULL);
INSERT INTO "jobs" VALUES(1882731936102850210,2,2,0,NULL,0,10,1796513092139,'create','zone',NULL,'e17.example','["works"]','{"ticket":"T-17"}',NULL,5,30000,5,0,1795513092139,1796513092139,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":17,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1882731936096452608,NULL);
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
INSERT INTO "route_changes" VALUES(7,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(8,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(9,1,1,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(10,1,1,0,0,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(11,2,2,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(12,2,2,0,0,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(13,1,3,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(14,1,3,0,0,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(15,3,4,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(16,3,4,0,0,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(17,1,1,0,1,2,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(18,1,1,0,1,2,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(19,2,2,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(20,1,3,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(21,3,4,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(22,1,1,0,1,2,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(23,2,2,0,0,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(24,3,4,0,0,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(25,1,3,0,0,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(26,2,2,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(27,1,3,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(28,1,1,0,0,3,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(29,3,4,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(30,2,2,0,0,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(31,1,1,0,1,2,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(32,1,3,0,0,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(33,3,4,0,0,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(34,1,1,0,1,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(35,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(36,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(37,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(38,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(39,1,3,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(40,1,1,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(41,2,2,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(42,3,4,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(43,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(44,1,3,0,0,0,1,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(45,1,3,0,1,0,1,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(46,1,3,0,0,0,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(47,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(48,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(49,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(50,3,4,0,1,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(51,1,1,1,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(52,2,2,1,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(53,1,3,1,0,0,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(54,1,3,0,0,0,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(55,1,1,1,1,0,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(56,1,3,0,1,0,2,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(57,1,1,1,2,0,0,0,0,0,'1:2');
INSERT INTO "route_changes" VALUES(58,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(59,1,3,0,0,1,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(60,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(61,1,1,1,1,0,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(62,1,1,1,2,0,0,0,0,1,'1:1');
INSERT INTO "route_changes" VALUES(63,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(64,1,1,1,2,0,0,0,0,1,'1:1');
INSERT INTO "route_changes" VALUES(65,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(66,1,1,1,1,0,0,1,0,1,'1:1');
INSERT INTO "route_changes" VALUES(67,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(68,1,1,1,1,0,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(69,1,3,0,1,1,2,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(70,1,3,0,0,2,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(71,1,3,0,1,1,2,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(72,1,3,0,0,2,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(73,1,3,0,1,1,2,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(74,1,3,0,0,2,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(75,1,3,0,0,1,2,1,0,1,NULL);
INSERT INTO "route_changes" VALUES(76,1,3,0,0,2,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(77,1,3,0,0,1,2,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(78,1,1,1,2,0,0,0,0,1,'1:1');
INSERT INTO "route_changes" VALUES(79,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(80,1,1,1,2,0,0,0,0,1,'1:1');
INSERT INTO "route_changes" VALUES(81,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(82,1,1,1,1,0,1,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(83,1,1,1,1,0,1,0,0,1,'1:1');
INSERT INTO "route_changes" VALUES(84,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(85,1,1,1,1,0,0,1,0,1,'1:1');
INSERT INTO "route_changes" VALUES(86,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(87,1,3,0,1,1,2,1,0,1,NULL);
INSERT INTO "route_changes" VALUES(88,1,1,1,1,0,0,1,0,1,'1:1');
INSERT INTO "route_changes" VALUES(89,1,3,0,0,2,2,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(90,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(91,1,3,0,1,1,2,1,0,1,NULL);
INSERT INTO "route_changes" VALUES(92,1,1,1,1,0,0,1,0,0,'1:1');
INSERT INTO "route_changes" VALUES(93,1,3,0,0,2,2,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(94,1,3,0,1,1,2,1,0,1,NULL);
INSERT INTO "route_changes" VALUES(95,1,3,0,0,2,2,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(96,1,3,0,0,1,2,2,0,1,NULL);
INSERT INTO "route_changes" VALUES(97,1,3,0,0,2,2,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(98,1,1,1,2,0,0,1,0,0,'1:2');
INSERT INTO "route_changes" VALUES(99,1,1,1,3,0,0,1,0,0,'1:2');
INSERT INTO "route_changes" VALUES(100,1,1,1,4,0,0,1,0,0,'1:2');
INSERT INTO "route_changes" VALUES(101,1,1,1,2,2,0,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(102,1,1,1,2,1,0,1,0,1,NULL);
INSERT INTO "route_changes" VALUES(103,1,1,1,1,2,0,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(104,3,4,0,2,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(105,2,2,2,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(106,3,4,0,1,1,0,0,0,0,NULL);
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
INSERT INTO "schedules" VALUES('hourly',1795513092148,0,3600000,NULL,NULL,1,2,0,'{"action":"create","customer":"acme","entity_id":"e24.example","entity_subtype":"","entity_type":"zone","labels":{"ticket":"T-24"},"max_attempts":0,"on_failure":"stop","priority":5,"product":"dns","services":["works"],"timeout_ms":0}','{"n":24,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1795516692148,0,0,0,0);
INSERT INTO "schedules" VALUES('nightly',1795513092164,0,NULL,'30 2 * * *','Europe/Berlin',1,2,0,'{"action":"create","customer":"acme","entity_id":"e24.example","entity_subtype":"","entity_type":"zone","labels":{"ticket":"T-24"},"max_attempts":0,"on_failure":"stop","priority":5,"product":"dns","services":["works"],"timeout_ms":0}','{"n":24,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1795570200000,0,0,0,0);
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "settings" VALUES('epoch',1795513090);
INSERT INTO "settings" VALUES('indexed_id',0);
INSERT INTO "settings" VALUES('indexing_id',0);
INSERT INTO "settings" VALUES('last_place',0);
INSERT INTO "settings" VALUES('secret_1',-2697112453404995814);
INSERT INTO "settings" VALUES('secret_2',-6186109777214047232);
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
       CASE state WHEN 0 THEN 'scheduled' WHEN 1 THEN 'queued'
                  WHEN 2 THEN iif(error IS NULL, 'running', 'compensating')
                  WHEN 3 THEN 'retrying' WHEN 4 THEN 'compensating' WHEN 5 THEN 'succeeded'
                  WHEN 6 THEN 'failed' WHEN 7 THEN 'cancelled' END AS state,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', finished_at / 1000.0, 'unixepoch') AS finished_at,
       action, entity_type, entity_id, services, step, steps, properties, messages, error, batch
FROM jobs JOIN cells ON cells.id = jobs.cell JOIN origins ON origins.id = jobs.origin;
COMMIT;
