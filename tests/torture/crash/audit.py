"""Audits that do not rely on celld's answers alone: of its database, its providers' logs and the
machine's processes. Each compares its source with a ledger, and adds faults to the ledger.
"""

import collections
import contextlib
import os
import re
import sqlite3

from commands import TICK_S
from daemon import SLOWDOWN
from ledger import ENDED

# The longest time from celld's decision to start a call until the provider notes it.
BEGINNING_S = 1.0 * SLOWDOWN
# The longest time from a provider's answer until celld has committed it, under load.
ON_THE_WAY_S = 1.0 * SLOWDOWN
# The longest time from celld's closing a connection until the provider notices, under load.
HUNG_UP_S = 1.0 * SLOWDOWN


def audit_database(ledger, path, jobs, whole=False):
    """`jobs`: as the API has just shown them. `whole` runs SQLite's slower, complete check."""
    faults = ledger.faults
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        check = "integrity_check" if whole else "quick_check"
        [(verdict,)] = database.execute(f"PRAGMA {check}").fetchmany(1)
        faults.expect(verdict == "ok", "the database is corrupt", verdict)
        orphan = database.execute("PRAGMA foreign_key_check").fetchone()
        faults.expect(orphan is None, "a foreign key has no parent row", orphan)
        database.execute("BEGIN")
        rows = database.execute(
            "SELECT value, jobs_for_people.state FROM job_labels "
            "JOIN jobs_for_people ON id = job WHERE name = 'key'").fetchall()
        keys = dict(database.execute(
            "SELECT key, count(*) FROM idempotency_keys GROUP BY key").fetchall())
        [(total,)] = database.execute("SELECT count(*) FROM jobs").fetchall()
        _audit_counts(faults, database)
    _audit_rows(ledger, rows, keys, total, jobs)


def _audit_rows(ledger, rows, keys, total, jobs):
    faults = ledger.faults
    states = dict(rows)
    faults.expect(len(states) == len(rows) == total, "requests and job rows do not correspond",
                  len(states), len(rows), total)
    for entry in ledger.entries.values():
        if entry.accepted:
            faults.expect(entry.key in states, "an accepted job is not in the database", entry.id)
            faults.expect(keys.get(entry.key) == 1, "an idempotency key is lost", entry.key)
    for job in jobs.values():
        stored = states.get(job["labels"]["key"])
        faults.expect(job["state"] not in ENDED or stored == job["state"],
                      "database and API disagree", job, stored)


def _audit_counts(faults, database):
    """The stored counts must match the rows, and no entity may have two running jobs."""
    counted = database.execute(
        "SELECT cell, origin, scheduled, queued, running, retrying, compensating FROM routes "
        "WHERE scheduled + queued + running + retrying + compensating > 0 "
        "ORDER BY cell, origin").fetchall()
    actual = database.execute(
        "SELECT cell, origin, sum(state = 0), sum(state = 1), sum(state = 2), sum(state = 3), "
        "sum(state = 4) FROM jobs WHERE state < 5 GROUP BY cell, origin "
        "ORDER BY cell, origin").fetchall()
    faults.expect(counted == actual, "a cell's stored counts are wrong", counted, actual)
    twice = database.execute(
        "SELECT origin, entity_type, entity_id FROM jobs WHERE state = 2 "
        "GROUP BY origin, entity_type, entity_id HAVING count(*) > 1").fetchone()
    faults.expect(twice is None, "two jobs of an entity are running in the database", twice)


def processes_of(run):
    """(pid, life, arguments) of each process with CRASH_RUN=`run` in its environment."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/environ", "rb") as file:
                environment = file.read().split(b"\0")
            if b"CRASH_RUN=" + run.encode() not in environment:
                continue
            life = [int(v[11:]) for v in environment if v.startswith(b"CRASH_LIFE=")]
            with open(f"/proc/{name}/cmdline", "rb") as file:
                arguments = file.read().replace(b"\0", b" ").decode(errors="replace")
            found.append((int(name), life[0], arguments))
    return found


def audit_processes(ledger, processes, life):
    """No process of a life before `life` may be left."""
    for pid, of_life, arguments in processes:
        ledger.faults.expect(of_life >= life, "a process outlived its celld", pid,
                             f"life {of_life} of {life}", arguments)


def audit_sizes(ledger, targets, configured, now):
    """`targets`: the size of each pool as celld shows it, by cell. `configured`: the sizes before
    any resize."""
    for cell, target in targets.items():
        allowed = ledger.sizes_in_force(cell, configured[cell], now, now)
        ledger.faults.expect(target in allowed, "an acknowledged resize is lost", cell, target,
                             allowed)


def audit_calls(ledger, calls, pool_size):
    """`calls`: all that the providers noted. `pool_size`: configured sizes of the resized cells."""
    for call in calls:
        ledger.faults.expect(call.job in ledger.by_id, "a call for an unknown job", call)
    known = sorted((call for call in calls if call.job in ledger.by_id),
                   key=lambda call: call.began_at)
    _audit_late(ledger, known)
    _audit_steps(ledger, known)
    _audit_keys(ledger, known)
    # A command's call shorter than its clock's tick says nothing about overlaps.
    timed = [call for call in known if call.ended_at is None or call.ended_at > call.began_at]
    _audit_entities(ledger, timed)
    _audit_pools(ledger, timed, pool_size)


def _audit_late(ledger, calls):
    """No call may start for a job or step that was already seen to have ended. A call that celld
    hung up on may be noted late."""
    for call in calls:
        entry = ledger.by_id[call.job]
        since = call.began_at - TICK_S
        ledger.faults.expect(entry.final is None or since < entry.final_at or call.broken,
                             "a call for a job that had ended", call, entry.final_at)
        done_at = entry.steps_done.get(call.service, float("inf"))
        ledger.faults.expect(since < done_at or call.broken,
                             "a call for a step that had succeeded", call, done_at)


def _answer_may_be_lost(ledger, call):
    """Whether celld may have died before it recorded the call's answer. A stop waits for answers
    that were sent before it; but only the command knows when a command's answer was sent."""
    life = ledger.lives[call.life]
    if life["signalled"] is None:
        return False
    sent = life["how"] == "stop" and call.key is not None
    return call.ended_at >= life["signalled"] - (0 if sent else ON_THE_WAY_S)


def _audit_steps(ledger, calls):
    """A step that succeeded may be called again only if celld lost the answer: to a crash or a
    stop, and then in a later life, or to a cancellation during the call."""
    answered = {}
    for call in calls:
        step = (call.job, call.service)
        first = answered.get(step)
        if first is not None:
            lost = call.life != first.life and _answer_may_be_lost(ledger, first)
            cancelled = any(
                first.began_at - ON_THE_WAY_S <= asked_at <= first.ended_at + ON_THE_WAY_S
                for asked_at in ledger.by_id[call.job].cancels)
            ledger.faults.expect(lost or cancelled, "a step was called again after its success",
                                 first, call)
        if call.succeeded:
            answered[step] = call
    for entry in ledger.by_id.values():
        for service in entry.steps_done:
            ledger.faults.expect((entry.id, service) in answered, "a step succeeded without a call",
                                 entry.id, service)


def _audit_keys(ledger, calls):
    """The idempotency key names the job and the step, so that a provider recognises a repeat from
    any life of celld."""
    for call in calls:
        ledger.faults.expect(call.key in (None, f"{call.job}.{call.service}"),
                             "a call with another step's idempotency key", call)


def _end_of(ledger, call):
    """When the call ended: at the latest with its life, although the provider may notice later."""
    ends = [at for at in (call.ended_at, ledger.lives[call.life]["died"]) if at is not None]
    return min(ends, default=float("inf"))


def _certainly_overlaps(ledger, before, call):
    """Whether `before` was certainly running when `call` began. A provider may notice late that
    celld hung up."""
    late_s = HUNG_UP_S if before.broken else 0
    return _end_of(ledger, before) - late_s > call.began_at


def _audit_entities(ledger, calls):
    """An entity's calls must not overlap. Overlapping commands detect each other (commands.py)."""
    last = {}
    for call in calls:
        before = last.get(call.entity)
        # A new life starts only after the previous one was reaped, so no clock is needed.
        overlap = (before is not None and before.life == call.life and
                   _certainly_overlaps(ledger, before, call))
        ledger.faults.expect(not overlap, "two calls for one entity at once", before, call)
        last[call.entity] = call


def _audit_pools(ledger, calls, pool_size):
    """When a call starts, the calls of its cell must not exceed the pool's size."""
    of_cell = collections.defaultdict(list)
    for call in calls:
        of_cell[call.cell, call.life].append(call)
    for (cell, _), cell_calls in of_cell.items():
        name = re.sub("/.*", "/*", cell)
        if name not in pool_size:
            continue
        running = []
        for call in cell_calls:
            running = [r for r in running if _end_of(ledger, r) > call.began_at]
            overlapping = [r for r in running if _certainly_overlaps(ledger, r, call)] + [call]
            running.append(call)
            allowed = max(ledger.sizes_in_force(name, pool_size[name],
                                                call.began_at - BEGINNING_S, call.began_at))
            ledger.faults.expect(len(overlapping) <= allowed, "a pool's size was exceeded", cell,
                                 f"{len(overlapping)} > {allowed} at {call.began_at}", overlapping)
