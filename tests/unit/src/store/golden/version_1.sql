-- Made by celld 0.1.0 with tests/unit/src/store/golden/make. Never edit this file.
PRAGMA application_id = 1128614980;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE cells (
  id       INTEGER PRIMARY KEY,
  customer TEXT NOT NULL,
  product  TEXT NOT NULL,
  UNIQUE (customer, product)
);
INSERT INTO "cells" VALUES(1,'acme','*');
INSERT INTO "cells" VALUES(2,'*','*');
INSERT INTO "cells" VALUES(3,'bolt','mail');
CREATE TABLE job_labels (
  name  TEXT NOT NULL,
  value TEXT NOT NULL,
  job   INTEGER NOT NULL REFERENCES jobs,
  PRIMARY KEY (name, value, job)
) WITHOUT ROWID;
INSERT INTO "job_labels" VALUES('ticket','T-0',1882613033085173760);
INSERT INTO "job_labels" VALUES('ticket','T-1',1882613033096708096);
INSERT INTO "job_labels" VALUES('ticket','T-10',1882613033180594176);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882613033252945920);
INSERT INTO "job_labels" VALUES('ticket','T-11',1882613033314811904);
INSERT INTO "job_labels" VALUES('ticket','T-12',1882613033324249088);
INSERT INTO "job_labels" VALUES('ticket','T-14',1882613033325297664);
INSERT INTO "job_labels" VALUES('ticket','T-2',1882613033110339584);
INSERT INTO "job_labels" VALUES('ticket','T-3',1882613033130262528);
INSERT INTO "job_labels" VALUES('ticket','T-4',1882613033133408256);
INSERT INTO "job_labels" VALUES('ticket','T-5',1882613033136553984);
INSERT INTO "job_labels" VALUES('ticket','T-6',1882613033138651136);
INSERT INTO "job_labels" VALUES('ticket','T-7',1882613033140748288);
INSERT INTO "job_labels" VALUES('ticket','T-8',1882613033141796864);
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
INSERT INTO "jobs" VALUES(1882613033085173760,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e0.example','["works","works2"]','{"ticket":"T-0"}',NULL,5,30000,5,0,1795399697385,NULL,NULL,1,2,2,0,0,1795399697388,1795399697404,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795399697388,"finished_at":1795399697391},{"state":"succeeded","attempts":1,"started_at":1795399697403,"finished_at":1795399697404}]','[{"time":1795399697391,"severity":"info","service":"works","text":"made"},{"time":1795399697404,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":0,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033096708096,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e1.example','["works","works2"]','{"ticket":"T-1"}',NULL,5,30000,5,0,1795399697396,NULL,NULL,1,5,2,0,0,1795399697408,1795399697430,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795399697408,"finished_at":1795399697412},{"state":"succeeded","attempts":1,"started_at":1795399697428,"finished_at":1795399697430}]','[{"time":1795399697412,"severity":"info","service":"works","text":"made"},{"time":1795399697430,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":1,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033110339584,1,3,5,NULL,0,NULL,NULL,'create','zone',NULL,'e2.example','["works","works2"]','{"ticket":"T-2"}',NULL,5,30000,5,0,1795399697409,NULL,NULL,1,6,2,0,0,1795399697412,1795399697431,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795399697412,"finished_at":1795399697420},{"state":"succeeded","attempts":1,"started_at":1795399697428,"finished_at":1795399697431}]','[{"time":1795399697420,"severity":"info","service":"works","text":"made"},{"time":1795399697431,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":2,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033130262528,3,4,5,NULL,0,NULL,NULL,'create','zone',NULL,'e3.example','["works","works2"]','{"ticket":"T-3"}',NULL,5,30000,5,0,1795399697428,NULL,NULL,1,8,2,0,0,1795399697429,1795399697435,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795399697429,"finished_at":1795399697431},{"state":"succeeded","attempts":1,"started_at":1795399697433,"finished_at":1795399697435}]','[{"time":1795399697431,"severity":"info","service":"works","text":"made"},{"time":1795399697435,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":3,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033133408256,1,1,5,NULL,0,NULL,NULL,'create','zone',NULL,'e4.example','["works","works2"]','{"ticket":"T-4"}',NULL,5,30000,5,0,1795399697431,NULL,NULL,1,17,2,0,0,1795399697433,1795399697448,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795399697433,"finished_at":1795399697441},{"state":"succeeded","attempts":1,"started_at":1795399697446,"finished_at":1795399697448}]','[{"time":1795399697441,"severity":"info","service":"works","text":"made"},{"time":1795399697448,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":4,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033136553984,2,2,5,NULL,0,NULL,NULL,'create','zone',NULL,'e5.example','["works","works2"]','{"ticket":"T-5"}',NULL,5,30000,5,0,1795399697434,NULL,NULL,1,12,2,0,0,1795399697435,1795399697440,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795399697435,"finished_at":1795399697437},{"state":"succeeded","attempts":1,"started_at":1795399697438,"finished_at":1795399697440}]','[{"time":1795399697437,"severity":"info","service":"works","text":"made"},{"time":1795399697440,"severity":"info","service":"works2","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":5,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033138651136,1,3,6,NULL,0,NULL,NULL,'create','zone',NULL,'e6.example','["works","refuses"]','{"ticket":"T-6"}',NULL,5,30000,5,0,1795399697436,NULL,NULL,1,14,1,0,0,1795399697437,1795399697442,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795399697437,"finished_at":1795399697439},{"state":"failed","attempts":1,"started_at":1795399697440,"finished_at":1795399697442}]','[{"time":1795399697439,"severity":"info","service":"works","text":"made"},{"time":1795399697442,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":6,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033140748288,3,4,6,NULL,0,NULL,NULL,'create','zone',NULL,'e7.example','["works","refuses"]','{"ticket":"T-7"}',NULL,5,30000,5,0,1795399697438,NULL,NULL,1,16,1,0,0,1795399697439,1795399697448,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795399697439,"finished_at":1795399697441},{"state":"failed","attempts":1,"started_at":1795399697446,"finished_at":1795399697448}]','[{"time":1795399697441,"severity":"info","service":"works","text":"made"},{"time":1795399697448,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":7,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033141796864,1,1,6,NULL,0,NULL,NULL,'create','zone',NULL,'e8.example','["works","refuses"]','{"ticket":"T-8"}',NULL,5,30000,5,0,1795399697439,NULL,NULL,1,18,1,0,0,1795399697441,1795399697448,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795399697441,"finished_at":1795399697442},{"state":"failed","attempts":1,"started_at":1795399697447,"finished_at":1795399697448}]','[{"time":1795399697442,"severity":"info","service":"works","text":"made"},{"time":1795399697448,"severity":"error","service":"refuses","text":"Unknown zone ü."}]','{"code":"no_such_zone","message":"Unknown zone ü.","service":"refuses"}','{"name":"zürich","serial":2026112301}','{"n":8,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033180594176,1,3,3,1882613033180594176,1,13,1795400297489,'create','zone',NULL,'e10.example','["waits"]','{"ticket":"T-10"}',NULL,5,30000,5,0,1795399697476,NULL,NULL,1,19,0,0,0,1795399697488,NULL,1795400297489,NULL,'[{"state":"retrying","attempts":1,"started_at":1795399697488}]','[{"time":1795399697489,"severity":"warning","service":"waits","text":"waits answered with HTTP status 503."}]',NULL,NULL,'{"n":10,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033252945920,3,4,2,1882613033252945920,1,12,NULL,'create','zone',NULL,'e11.example','["works","hangs"]','{"ticket":"T-11"}',NULL,5,30000,5,0,1795399697545,NULL,NULL,1,21,1,0,0,1795399697546,NULL,NULL,NULL,'[{"state":"succeeded","attempts":1,"started_at":1795399697546,"finished_at":1795399697552},{"state":"running","attempts":1,"started_at":1795399697552}]','[{"time":1795399697552,"severity":"info","service":"works","text":"made"}]',NULL,'{"name":"zürich","serial":2026112301}','{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033314811904,3,4,1,1882613033314811904,0,11,NULL,'create','zone',NULL,'e11.example','["works"]','{"ticket":"T-11"}',NULL,9,30000,5,0,1795399697604,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":11,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033324249088,1,1,0,NULL,0,10,1798399697613,'create','zone',NULL,'e12.example','["works"]','{"ticket":"T-12"}',NULL,5,30000,5,0,1795399697613,1798399697613,4070908800000,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":12,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
INSERT INTO "jobs" VALUES(1882613033325297664,1,3,0,NULL,0,10,1796399697614,'create','zone',NULL,'e14.example','["works"]','{"ticket":"T-14"}',NULL,5,30000,5,0,1795399697614,1796399697614,NULL,NULL,NULL,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"n":14,"nested":{"list":[1,2.5,null]},"text":"aß€"}');
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
CREATE TABLE pool_overrides (
  cell INTEGER PRIMARY KEY REFERENCES cells,
  size INTEGER NOT NULL
);
INSERT INTO "pool_overrides" VALUES(1,7);
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
INSERT INTO "routes" VALUES(1,3,1,0,0,1,0,0,0);
INSERT INTO "routes" VALUES(2,2,0,0,0,0,0,0,0);
INSERT INTO "routes" VALUES(3,4,0,1,1,0,0,0,0);
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "settings" VALUES('epoch',1);
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
COMMIT;
