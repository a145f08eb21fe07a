"""A database with many jobs, written without celld, which would need minutes to accept a million."""

import collections
import functools
import os
import sqlite3
import time

PRODUCTS = 4
A_WEEK_MS = 7 * 86_400_000
ACTION, TYPE, SERVICES = "create", "zone", '["slow"]'

# The kinds of job in each group of ten, in the terms of src/store/schema.cpp: (state, marks, turn,
# how many jobs earlier the head of its line is).
SCHEDULED, QUEUED, SUCCEEDED = 0, 1, 5
HEAD = 1
ALONE = (QUEUED, HEAD, 5, 0)
GROUP = ((SCHEDULED, 0, 10, 0), (SUCCEEDED, 0, None, 0), ALONE, (QUEUED, 0, 11, 1),
         (QUEUED, 0, 11, 2), ALONE, ALONE, ALONE, ALONE, ALONE)
QUEUED_IN_GROUP = sum(kind[0] == QUEUED for kind in GROUP)
RUNNABLE_IN_GROUP = GROUP.count(ALONE)


def _jobs(count, origins, parameters, now_ms):
    for number in range(1, count + 1):
        group, share = divmod(number - 1, len(GROUP))
        state, marks, turn, behind = GROUP[share]
        due_at = now_ms + A_WEEK_MS if state == SCHEDULED else None
        place = number if state == QUEUED else None
        ended = int(state == SUCCEEDED)
        entity = (number - behind) * 7919 % 1_000_003  # Neighbours are far apart in an index.
        yield (number, 1 + group % origins, state, place, marks, turn, due_at, f"e{entity}",
               f'{{"ticket":"T-{number}"}}', now_ms, due_at, ended, now_ms if ended else None,
               parameters)


def _fnv(text, state=0xcbf29ce484222325):
    """The hash of src/store/job_indexes.hpp, before its sign."""
    for byte in text.encode():
        state = (state ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return state


def _signed(state):
    return state - (1 << 64) if state >> 63 else state


def _index(database, count):
    """The tables that celld writes behind the commits: see src/store/behind_index.hpp."""
    lines = functools.cache(lambda origin: _fnv(f"{origin}\0{TYPE}\0"))
    database.create_function("line_hash", 2, lambda origin, entity: _signed(
        _fnv(entity, lines(origin))), deterministic=True)
    database.create_function("entity_hash", 1, lambda entity: _signed(_fnv(entity)),
                             deterministic=True)
    for sql in ("lines SELECT line_hash(origin, entity_id), place, id FROM jobs "
                "WHERE place IS NOT NULL ORDER BY 1, 2, 3",
                "turns SELECT cell, origin, turn, ifnull(place, 0), id FROM jobs "
                "WHERE turn IS NOT NULL ORDER BY 1, 2, 3, 4, 5",
                "jobs_of_origin SELECT origin, id FROM jobs ORDER BY 1, 2",
                "jobs_of_entity SELECT entity_hash(entity_id), id FROM jobs ORDER BY 1, 2"):
        database.execute("INSERT INTO " + sql)
    database.execute("UPDATE settings SET value = ?1 WHERE name IN ('indexed_id', 'indexing_id')",
                     (count,))


def _fill(database, count, origins, parameters):
    now_ms = int(time.time() * 1000)
    groups = collections.Counter(1 + group % origins for group in range(count // len(GROUP)))
    database.execute("INSERT INTO cells VALUES (1, '*', '*')")
    database.executemany("INSERT INTO origins VALUES (?1, ?2, ?3)",
                         ((origin, f"c{origin // PRODUCTS}", f"p{origin % PRODUCTS}")
                          for origin in groups))
    database.executemany("INSERT INTO routes (cell, origin, scheduled, queued, running, retrying,"
                         " compensating, settling, runnable, stored)"
                         " VALUES (1, ?1, ?2, ?3, 0, 0, 0, 0, ?4, ?5)",
                         ((origin, size, size * QUEUED_IN_GROUP, size * RUNNABLE_IN_GROUP,
                           size * len(GROUP))
                          for origin, size in groups.items()))
    database.executemany(
        "INSERT INTO jobs (id, cell, origin, state, place, marks, turn, due_at, action,"
        " entity_type, entity_id, services, labels, priority, timeout_ms, max_attempts, on_failure,"
        " created_at, run_at, step, interruptions, cancel_requested, finished_at, parameters)"
        f" VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7, '{ACTION}', '{TYPE}', ?8, '{SERVICES}', ?9, 5,"
        " 60000, 3, 0, ?10, ?11, ?12, 0, 0, ?13, ?14)",
        _jobs(count, origins, parameters, now_ms))
    database.executemany("INSERT INTO job_labels VALUES ('ticket', ?1, ?2)",
                         ((f"T-{number}", number) for number in range(1, count + 1)))
    _index(database, count)


def make(path, count, origins, parameter_bytes=300):
    """Replaces the empty database that celld left at `path` by one with `count` jobs of `origins`
    pairs of customer and product. celld adds its checksums at the next start."""
    with sqlite3.connect(path) as empty:
        schema = [row[0] for row in empty.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")]
        settings = list(empty.execute("SELECT * FROM settings"))
        pragmas = [f"PRAGMA {name} = {empty.execute(f'PRAGMA {name}').fetchone()[0]}"
                   for name in ("application_id", "user_version")]
    empty.close()
    os.unlink(path)
    full = sqlite3.connect(path, isolation_level=None)
    full.execute("PRAGMA journal_mode = OFF")
    full.execute("PRAGMA synchronous = OFF")
    full.execute("BEGIN")
    for sql in (*pragmas, *schema):
        full.execute(sql)
    full.executemany("INSERT INTO settings VALUES (?1, ?2)", settings)
    _fill(full, count, origins, f'{{"text":"{"x" * parameter_bytes}"}}')
    full.execute("COMMIT")
    full.close()
