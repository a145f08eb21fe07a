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
INSERT INTO "batches" VALUES(1882728906643996672,'','',1795510203022,1795510203170,0,2,1,0,0,0,0,1,0,0);
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
INSERT INTO "idempotency_keys" VALUES('bolt','key-13',1882728904698047736,'39cdb01c8180528e847e9ef626e2ef877cca4b0d4f3949ae0aee9b953bd68ec2');
CREATE TABLE job_labels (
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  job   INTEGER NOT NULL REFERENCES jobs,
  PRIMARY KEY (name, value, job)
) WITHOUT ROWID;
INSERT INTO "job_labels" VALUES('ticket','T-0',1882728903444999416);
INSERT INTO "job_labels" VALUES('ticket','T-1',1882728903481699576);
INSERT INTO "job_labels" VALUES('ticket','T-10',1882728904152788216);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882728904515595512);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882728904606821624);
INSERT INTO "job_labels" VALUES('ticket','T-12',1882728904656104696);
INSERT INTO "job_labels" VALUES('ticket','T-13',1882728904698047736);
INSERT INTO "job_labels" VALUES('ticket','T-14',1882728904719019256);
INSERT INTO "job_labels" VALUES('ticket','T-15',1882728906730188024);
INSERT INTO "job_labels" VALUES('ticket','T-16',1882728904814439672);
INSERT INTO "job_labels" VALUES('ticket','T-17',1882728906730188025);
INSERT INTO "job_labels" VALUES('ticket','T-18',1882728904821779704);
INSERT INTO "job_labels" VALUES('ticket','T-2',1882728903553002744);
INSERT INTO "job_labels" VALUES('ticket','T-20',1882728904824925432);
INSERT INTO "job_labels" VALUES('ticket','T-22',1882728904389766392);
INSERT INTO "job_labels" VALUES('ticket','T-24',1882728904843799800);
INSERT INTO "job_labels" VALUES('ticket','T-26',1882728905129012472);
INSERT INTO "job_labels" VALUES('ticket','T-28',1882728905481334008);
INSERT INTO "job_labels" VALUES('ticket','T-3',1882728903609625848);
INSERT INTO "job_labels" VALUES('ticket','T-30',1882728906004573432);
INSERT INTO "job_labels" VALUES('ticket','T-32',1882728906386255096);
INSERT INTO "job_labels" VALUES('ticket','T-32',1882728906396740856);
INSERT INTO "job_labels" VALUES('ticket','T-32',1882728906410372344);
INSERT INTO "job_labels" VALUES('ticket','T-4',1882728903627451640);
INSERT INTO "job_labels" VALUES('ticket','T-5',1882728903723920632);
INSERT INTO "job_labels" VALUES('ticket','T-6',1882728903816195320);
INSERT INTO "job_labels" VALUES('ticket','T-7',1882728903861284088);
INSERT INTO "job_labels" VALUES('ticket','T-8',1882728903914761464);
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
INSERT INTO "jobs" VALUES(1882728903444999416,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e0.example','["works","works2"]','{"ticket":"T-0"}',NULL,5,30000,5,0,1795510199971,NULL,NULL,1795510199,3,2,0,0,1795510199974,1795510200091,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510199974,"finished_at":1795510200020},{"state":"succeeded","attempts":1,"started_at":1795510200066,"finished_at":1795510200091}]','[{"time":1795510200019,"severity":"info","service":"works","text":"made"},{"time":1795510200090,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":0,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728903481699576,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e1.example','["works","works2"]','{"ticket":"T-1"}',NULL,5,30000,5,0,1795510200006,NULL,NULL,1795510199,4,2,0,0,1795510200020,1795510200093,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510200020,"finished_at":1795510200051},{"state":"succeeded","attempts":1,"started_at":1795510200066,"finished_at":1795510200093}]','[{"time":1795510200050,"severity":"info","service":"works","text":"made"},{"time":1795510200093,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":1,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728903553002744,1,3,5,NULL,0,NULL,NULL,'create','zone',NULL,'e2.example','["works","works2"]','{"ticket":"T-2"}',NULL,5,30000,5,0,1795510200074,NULL,NULL,1795510199,7,2,0,0,1795510200090,1795510200206,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510200090,"finished_at":1795510200131},{"state":"succeeded","attempts":1,"started_at":1795510200140,"finished_at":1795510200206}]','[{"time":1795510200130,"severity":"info","service":"works","text":"made"},{"time":1795510200206,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":2,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728903609625848,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e3.example','["works","works2"]','{"ticket":"T-3"}',NULL,5,30000,5,0,1795510200128,NULL,NULL,1795510199,9,2,0,0,1795510200135,1795510200237,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510200135,"finished_at":1795510200146},{"state":"succeeded","attempts":1,"started_at":1795510200217,"finished_at":1795510200237}]','[{"time":1795510200146,"severity":"info","service":"works","text":"made"},{"time":1795510200237,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":3,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728903627451640,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e4.example','["works","works2"]','{"ticket":"T-4"}',NULL,5,30000,5,0,1795510200145,NULL,NULL,1795510199,10,2,0,0,1795510200217,1795510200327,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510200217,"finished_at":1795510200237},{"state":"succeeded","attempts":1,"started_at":1795510200318,"finished_at":1795510200327}]','[{"time":1795510200237,"severity":"info","service":"works","text":"made"},{"time":1795510200327,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":4,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728903723920632,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e5.example','["works","works2"]','{"ticket":"T-5"}',NULL,5,30000,5,0,1795510200237,NULL,NULL,1795510199,13,2,0,0,1795510200318,1795510200457,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510200318,"finished_at":1795510200328},{"state":"succeeded","attempts":1,"started_at":1795510200382,"finished_at":1795510200457}]','[{"time":1795510200328,"severity":"info","service":"works","text":"made"},{"time":1795510200456,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":5,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728903816195320,1,3,6,NULL,0,NULL,NULL,'create','zone',NULL,'e6.example','["works","refuses"]','{"ticket":"T-6"}',NULL,5,30000,5,0,1795510200325,NULL,NULL,1795510199,15,1,0,0,1795510200355,1795510200492,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510200355,"finished_at":1795510200383},{"state":"failed","attempts":1,"started_at":1795510200413,"finished_at":1795510200492}]','[{"time":1795510200382,"severity":"info","service":"works","text":"made"},{"time":1795510200492,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":6,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728903861284088,3,4,6,NULL,0,NULL,NULL,'create','zone',NULL,'e7.example','["works","refuses"]','{"ticket":"T-7"}',NULL,5,30000,5,0,1795510200368,NULL,NULL,1795510199,17,1,0,0,1795510200392,1795510200494,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510200392,"finished_at":1795510200434},{"state":"failed","attempts":1,"started_at":1795510200443,"finished_at":1795510200494}]','[{"time":1795510200434,"severity":"info","service":"works","text":"made"},{"time":1795510200494,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":7,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728903914761464,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e8.example','["works","refuses"]','{"ticket":"T-8"}',NULL,5,30000,5,0,1795510200419,NULL,NULL,1795510199,18,1,0,0,1795510200427,1795510200508,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510200427,"finished_at":1795510200492},{"state":"failed","attempts":1,"started_at":1795510200495,"finished_at":1795510200508}]','[{"time":1795510200492,"severity":"info","service":"works","text":"made"},{"time":1795510200508,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":8,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728904152788216,1,3,3,1882728904152788216,1,13,1795510800763,'create','zone',NULL,'e10.example','["waits"]','{"ticket":"T-10"}',NULL,5,30000,5,0,1795510200646,NULL,NULL,1795510199,19,0,0,0,1795510200655,NULL,1795510800763,NULL,'[{"state":"retrying","attempts":1,"started_at":1795510200655}]','[{"time":1795510200763,"severity":"warning","service":"waits","text":"waits answered with HTTP status 503."}]',NULL,NULL,'{"n":10,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728904389766392,1,3,3,1882728904389766392,1,13,1795510229900,'create','zone',NULL,'e22.example','["begins"]','{"ticket":"T-22"}',NULL,5,30000,5,0,1795510200872,NULL,NULL,1795510199,20,0,0,0,1795510200899,NULL,1795510229900,NULL,'[{"state":"running","attempts":1,"started_at":1795510200899,"operation":"{\"request\":0,\"has_begun\":true,\"left_ms\":1000,\"properties\":{\"id\":\"zü/1\"}}"}]',NULL,NULL,NULL,'{"n":22,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728904515595512,3,4,2,1882728904515595512,1,12,NULL,'create','zone',NULL,'e11.example','["works","hangs"]','{"ticket":"T-11"}',NULL,5,30000,5,0,1795510200992,NULL,NULL,1795510199,22,1,0,0,1795510201006,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510201006,"finished_at":1795510201009},{"state":"running","attempts":1,"started_at":1795510201014}]','[{"time":1795510201009,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728904606821624,3,4,1,1882728904606821624,0,11,NULL,'create','zone',NULL,'e11.example','["works"]','{"ticket":"T-11"}',NULL,9,30000,5,0,1795510201079,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728904656104696,1,1,0,NULL,0,10,1798510201126,'create','zone',NULL,'e12.example','["works"]','{"ticket":"T-12"}',NULL,5,30000,5,0,1795510201126,1798510201126,4070908800000,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":12,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728904698047736,2,2,0,NULL,0,10,1798510201166,'create','zone',NULL,'e13.example','["works"]','{"ticket":"T-13"}',NULL,5,30000,5,0,1795510201166,1798510201166,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":13,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728904719019256,1,3,7,NULL,0,NULL,NULL,'create','zone',NULL,'e14.example','["works"]','{"ticket":"T-14"}',NULL,5,30000,5,0,1795510201186,1796510201186,NULL,NULL,NULL,0,0,1,NULL,1795510201214,NULL,NULL,'[{"state":"skipped","attempts":0}]',NULL,'{"code":"cancelled","message":"the job was cancelled","service":""}',NULL,'{"n":14,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728904814439672,1,1,5,NULL,8,NULL,NULL,'create','zone',NULL,'e16.example','["pulled"]','{"ticket":"T-16"}',NULL,5,30000,5,0,1795510201277,NULL,NULL,1795510199,23,1,0,0,1795510201290,1795510201299,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510201290,"finished_at":1795510201299,"progress":0.5,"report":"complete","lease_epoch":1795510199,"lease_counter":23}]','[{"time":1795510201295,"severity":"info","service":"pulled","text":"halfway"}]',NULL,'{"ip":"10.0.0.1"}','{"n":16,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728904821779704,1,3,2,1882728904821779704,9,12,NULL,'create','zone',NULL,'e18.example','["pulled"]','{"ticket":"T-18"}',NULL,5,30000,5,0,1795510201284,NULL,NULL,1795510199,24,0,0,0,1795510201290,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795510201290,"worker":"höst-1"}]',NULL,NULL,NULL,'{"n":18,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728904824925432,1,1,2,1882728904824925432,9,12,NULL,'create','zone',NULL,'e20.example','["pulled"]','{"ticket":"T-20"}',NULL,5,30000,5,0,1795510201287,NULL,NULL,1795510199,41,0,0,0,1795510202828,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795510202828,"worker":"host-2"}]',NULL,NULL,NULL,'{"n":20,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728904843799800,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e24.example','["works","refuses"]','{"ticket":"T-24"}',NULL,5,30000,2,1,1795510201305,NULL,NULL,1795510199,27,0,0,0,1795510201315,1795510201516,NULL,NULL,'[{"state":"undone","attempts":1,"started_at":1795510201315,"finished_at":1795510201516,"undo_attempts":1},{"state":"failed","attempts":1,"started_at":1795510201459,"finished_at":1795510201471}]','[{"time":1795510201442,"severity":"info","service":"works","text":"made"},{"time":1795510201471,"severity":"error","service":"refuses","text":"Unknown zone ü."},{"time":1795510201515,"severity":"info","service":"works","text":"made"}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":24,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728905129012472,1,3,4,1882728905129012472,1,14,1795510801939,'create','zone',NULL,'e26.example','["works","stays","refuses"]','{"ticket":"T-26"}',NULL,5,30000,2,1,1795510201577,NULL,NULL,1795510199,31,1,0,0,1795510201603,NULL,1795510801939,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510201603,"finished_at":1795510201667},{"state":"retrying","attempts":1,"started_at":1795510201723,"undo_attempts":1},{"state":"failed","attempts":1,"started_at":1795510201822,"finished_at":1795510201857}]','[{"time":1795510201666,"severity":"info","service":"works","text":"made"},{"time":1795510201814,"severity":"info","service":"stays","text":"made"},{"time":1795510201857,"severity":"error","service":"refuses","text":"Unknown zone ü."},{"time":1795510201939,"severity":"warning","service":"stays","text":"stays answered with HTTP status 503."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":26,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728905481334008,1,1,4,1882728905481334008,1,14,1795510802543,'create','zone',NULL,'e28.example','["stays","breaks"]','{"ticket":"T-28"}',NULL,5,30000,2,1,1795510201913,NULL,NULL,1795510199,37,0,0,0,1795510201919,NULL,1795510802543,NULL,'[{"state":"retrying","attempts":1,"started_at":1795510201919,"undo_attempts":1},{"state":"undone","attempts":2,"started_at":1795510202038,"finished_at":1795510202444,"in_doubt":1,"undo_attempts":1}]','[{"time":1795510202021,"severity":"info","service":"stays","text":"made"},{"time":1795510202095,"severity":"warning","service":"breaks","text":"The connection to breaks ended before its answer was complete: Server returned nothing (no headers, no data)."},{"time":1795510202390,"severity":"error","service":"breaks","text":"The connection to breaks ended before its answer was complete: Server returned nothing (no headers, no data)."},{"time":1795510202444,"severity":"info","service":"breaks","text":"made"},{"time":1795510202543,"severity":"warning","service":"stays","text":"stays answered with HTTP status 503."}]','{"code":"communications_error","message":"The connection to breaks ended before its answer was complete: Server returned nothing (no headers, no data).","service":"breaks"}','{"name":"zürich","serial":2026112301}','{"n":28,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728906004573432,1,3,2,1882728906004573432,5,12,NULL,'create','zone',NULL,'e30.example','["works","sticks","refuses"]','{"ticket":"T-30"}',NULL,5,30000,2,1,1795510202412,NULL,NULL,1795510199,40,1,0,0,1795510202438,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510202438,"finished_at":1795510202542},{"state":"running","attempts":1,"started_at":1795510202570,"undo_attempts":1},{"state":"failed","attempts":1,"started_at":1795510202626,"finished_at":1795510202659}]','[{"time":1795510202542,"severity":"info","service":"works","text":"made"},{"time":1795510202624,"severity":"info","service":"sticks","text":"made"},{"time":1795510202659,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":30,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728906386255096,1,1,6,NULL,8,NULL,NULL,'create','zone',NULL,'e32.example','["pulled"]','{"ticket":"T-32"}',NULL,5,30000,5,0,1795510202776,NULL,NULL,1795510199,42,0,0,0,1795510202828,1795510202845,NULL,NULL,'[{"state":"failed","attempts":1,"started_at":1795510202828,"finished_at":1795510202845,"report":"fail","lease_epoch":1795510199,"lease_counter":42}]','[{"time":1795510202845,"severity":"error","service":"pulled","text":"x"}]','{"code":"no_room","message":"x","service":"pulled"}',NULL,'{"n":32,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728906396740856,1,1,2,1882728906396740856,1,12,NULL,'create','zone',NULL,'e32.example','["hangs"]','{"ticket":"T-32"}',NULL,5,30000,5,0,1795510202786,NULL,NULL,1795510199,43,0,0,0,1795510202863,NULL,NULL,NULL,'[{"state":"running","attempts":1,"started_at":1795510202863}]',NULL,NULL,NULL,'{"n":32,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,1882728906410372344);
INSERT INTO "jobs" VALUES(1882728906410372344,1,1,1,1882728906410372344,0,11,NULL,'create','zone',NULL,'e32.example','["works"]','{"ticket":"T-32"}',NULL,5,30000,5,0,1795510202799,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":32,"nested":{"list":[1,2.5,null]},"text":"aß€"}',NULL,NULL);
INSERT INTO "jobs" VALUES(1882728906730188024,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e15.example','["works"]','{"ticket":"T-15"}',NULL,5,30000,5,0,1795510203104,NULL,NULL,1795510199,44,1,0,0,1795510203111,1795510203170,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795510203111,"finished_at":1795510203170}]','[{"time":1795510203166,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":15,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1882728906643996672,NULL);
INSERT INTO "jobs" VALUES(1882728906730188025,2,2,0,NULL,0,10,1796510203104,'create','zone',NULL,'e17.example','["works"]','{"ticket":"T-17"}',NULL,5,30000,5,0,1795510203104,1796510203104,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":17,"nested":{"list":[1,2.5,null]},"text":"aß€"}',1882728906643996672,NULL);
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
INSERT INTO "route_changes" VALUES(6,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(7,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(8,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(9,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(10,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(11,1,1,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(12,2,2,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(13,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(14,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(15,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(16,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(17,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(18,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(19,1,3,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(20,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(21,3,4,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(22,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(23,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(24,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(25,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(26,1,1,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(27,2,2,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(28,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(29,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(30,2,2,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(31,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(32,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(33,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(34,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(35,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(36,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(37,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(38,2,2,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(39,1,1,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(40,1,3,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(41,3,4,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(42,1,1,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(43,1,1,0,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(44,1,3,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(45,1,3,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(46,1,3,0,0,0,1,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(47,1,3,0,1,0,1,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(48,1,3,0,0,0,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(49,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(50,3,4,0,1,0,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(51,3,4,0,0,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(52,3,4,0,1,1,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(53,1,1,1,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(54,2,2,1,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(55,1,3,1,0,0,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(56,1,3,0,0,0,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(57,1,1,1,1,0,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(58,1,3,0,1,0,2,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(59,1,1,1,2,0,0,0,0,0,'1:2');
INSERT INTO "route_changes" VALUES(60,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(61,1,3,0,0,1,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(62,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(63,1,1,1,1,0,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(64,1,1,1,2,0,0,0,0,1,'1:1');
INSERT INTO "route_changes" VALUES(65,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(66,1,1,1,2,0,0,0,0,1,'1:1');
INSERT INTO "route_changes" VALUES(67,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(68,1,1,1,1,0,0,1,0,1,'1:1');
INSERT INTO "route_changes" VALUES(69,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(70,1,1,1,1,0,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(71,1,3,0,1,1,2,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(72,1,3,0,0,2,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(73,1,3,0,1,1,2,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(74,1,3,0,0,2,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(75,1,3,0,1,1,2,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(76,1,3,0,0,2,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(77,1,3,0,0,1,2,1,0,1,NULL);
INSERT INTO "route_changes" VALUES(78,1,3,0,0,2,2,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(79,1,1,1,2,0,0,0,0,1,'1:1');
INSERT INTO "route_changes" VALUES(80,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(81,1,3,0,0,1,2,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(82,1,1,1,2,0,0,0,0,1,'1:1');
INSERT INTO "route_changes" VALUES(83,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(84,1,1,1,1,0,1,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(85,1,1,1,1,0,1,0,0,1,'1:1');
INSERT INTO "route_changes" VALUES(86,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(87,1,1,1,1,0,0,1,0,1,'1:1');
INSERT INTO "route_changes" VALUES(88,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(89,1,3,0,1,1,2,1,0,1,NULL);
INSERT INTO "route_changes" VALUES(90,1,3,0,0,2,2,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(91,1,1,1,1,0,0,1,0,1,'1:1');
INSERT INTO "route_changes" VALUES(92,1,1,1,1,1,0,0,0,0,'1:1');
INSERT INTO "route_changes" VALUES(93,1,3,0,1,1,2,1,0,1,NULL);
INSERT INTO "route_changes" VALUES(94,1,1,1,1,0,0,1,0,0,'1:1');
INSERT INTO "route_changes" VALUES(95,1,3,0,0,2,2,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(96,1,3,0,1,1,2,1,0,1,NULL);
INSERT INTO "route_changes" VALUES(97,1,3,0,0,2,2,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(98,1,3,0,0,1,2,2,0,1,NULL);
INSERT INTO "route_changes" VALUES(99,1,3,0,0,2,2,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(100,1,1,1,2,0,0,1,0,0,'1:2');
INSERT INTO "route_changes" VALUES(101,1,1,1,3,0,0,1,0,0,'1:2');
INSERT INTO "route_changes" VALUES(102,1,1,1,4,0,0,1,0,0,'1:2');
INSERT INTO "route_changes" VALUES(103,1,1,1,2,2,0,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(104,1,1,1,2,1,0,1,0,1,NULL);
INSERT INTO "route_changes" VALUES(105,1,1,1,1,2,0,1,0,0,NULL);
INSERT INTO "route_changes" VALUES(106,3,4,0,2,1,0,0,0,1,NULL);
INSERT INTO "route_changes" VALUES(107,2,2,2,0,0,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(108,3,4,0,1,2,0,0,0,0,NULL);
INSERT INTO "route_changes" VALUES(109,3,4,0,1,1,0,0,0,0,NULL);
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
INSERT INTO "settings" VALUES('epoch',1795510199);
INSERT INTO "settings" VALUES('indexed_id',0);
INSERT INTO "settings" VALUES('indexing_id',0);
INSERT INTO "settings" VALUES('last_place',0);
INSERT INTO "settings" VALUES('secret_1',6195713302691152241);
INSERT INTO "settings" VALUES('secret_2',2489484270607709842);
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
