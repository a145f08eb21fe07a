"""Looks for broken promises where celld cannot help it: its database, its providers' logs, and the
processes of the machine. Each takes a ledger, and tells its faults.
"""

import collections
import contextlib
import os
import re
import sqlite3

from commands import TICK_S
from daemon import SLOWDOWN
from ledger import ENDED

# Between celld's decision to begin a call and the provider's note of it.
BEGINNING_S = 1.0 * SLOWDOWN
# Between the provider's note of its answer and celld's: a commit of a system under load.
ON_THE_WAY_S = 1.0 * SLOWDOWN
# Between celld's closing a connection and the provider's note of it: a system under load.
HUNG_UP_S = 1.0 * SLOWDOWN


def audit_database(ledger, path, jobs, whole=False):
    """`jobs`: as the API has just shown them. `whole` looks at everything, which takes longer."""
    faults = ledger.faults
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        check = "integrity_check" if whole else "quick_check"
        [(verdict,)] = database.execute(f"PRAGMA {check}").fetchmany(1)
        faults.expect(verdict == "ok", "the database is damaged", verdict)
        stranger = database.execute("PRAGMA foreign_key_check").fetchone()
        faults.expect(stranger is None, "the database names what is not there", stranger)
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
    faults.expect(len(states) == len(rows) == total, "a request has two rows, or a row no request",
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
    """What celld has counted is what is there."""
    counted = database.execute(
        "SELECT cell, origin, scheduled, queued, running, retrying, compensating FROM routes "
        "WHERE scheduled + queued + running + retrying + compensating > 0 "
        "ORDER BY cell, origin").fetchall()
    there = database.execute(
        "SELECT cell, origin, sum(state = 0), sum(state = 1), sum(state = 2), sum(state = 3), "
        "sum(state = 4) FROM jobs WHERE state < 5 GROUP BY cell, origin "
        "ORDER BY cell, origin").fetchall()
    faults.expect(counted == there, "the counts of a cell are wrong", counted, there)
    twice = database.execute(
        "SELECT origin, entity_type, entity_id FROM jobs WHERE state = 2 "
        "GROUP BY origin, entity_type, entity_id HAVING count(*) > 1").fetchone()
    faults.expect(twice is None, "two jobs of an entity are running in the database", twice)


def processes_of(run):
    """(pid, life, arguments) of each process that has CRASH_RUN=`run` in its environment."""
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
    """Nothing of a life before `life` is left."""
    for pid, of_life, arguments in processes:
        ledger.faults.expect(of_life >= life, "a process outlived its celld", pid,
                             f"life {of_life} of {life}", arguments)


def audit_sizes(ledger, targets, configured, now):
    """`targets`: the size of each pool as celld shows it, by cell. `configured`: as at first."""
    for cell, target in targets.items():
        allowed = ledger.sizes_in_force(cell, configured[cell], now, now)
        ledger.faults.expect(target in allowed, "an answered resize is lost", cell, target, allowed)


def audit_calls(ledger, calls, pool_size):
    """`calls`: all that the providers have noted. `pool_size`: of the cells that are resized."""
    for call in calls:
        ledger.faults.expect(call.job in ledger.by_id, "a call for a job that is not there", call)
    known = sorted((call for call in calls if call.job in ledger.by_id),
                   key=lambda call: call.began_at)
    _audit_late(ledger, known)
    _audit_steps(ledger, known)
    _audit_keys(ledger, known)
    # Those of commands that no clock of theirs has seen pass say nothing about what went on beside.
    timed = [call for call in known if call.ended_at is None or call.ended_at > call.began_at]
    _audit_entities(ledger, timed)
    _audit_pools(ledger, timed, pool_size)


def _audit_late(ledger, calls):
    """No call for what had been told to be over. One that celld hung up on may be noted late."""
    for call in calls:
        entry = ledger.by_id[call.job]
        since = call.began_at - TICK_S
        ledger.faults.expect(entry.settled is None or since < entry.settled_at or call.broken,
                             "a call for a job that had ended", call, entry.settled_at)
        done_at = entry.steps_done.get(call.service, float("inf"))
        ledger.faults.expect(since < done_at or call.broken,
                             "a call for a step that had succeeded", call, done_at)


def _swallowed(ledger, call):
    """Whether the end of its life came before celld had noted its answer. A stop waits for those
    that were sent before it; when a command's came, only the command knows."""
    life = ledger.lives[call.life]
    if life["struck"] is None:
        return False
    sent = life["how"] == "stop" and call.key is not None
    return call.ended_at >= life["struck"] - (0 if sent else ON_THE_WAY_S)


def _audit_steps(ledger, calls):
    """A step that a provider has answered is called again only where a crash or a stop, or the abort
    of a cancelled job, came before celld had noted the answer; but for the last, in another life."""
    answered = {}
    for call in calls:
        step = (call.job, call.service)
        first = answered.get(step)
        if first is not None:
            swallowed = call.life != first.life and _swallowed(ledger, first)
            cancelled = any(
                first.began_at - ON_THE_WAY_S <= asked_at <= first.ended_at + ON_THE_WAY_S
                for asked_at in ledger.by_id[call.job].cancels)
            excused = swallowed or cancelled
            ledger.faults.expect(excused, "a step was called again after its success", first, call)
        if call.succeeded:
            answered[step] = call
    for entry in ledger.by_id.values():
        for service in entry.steps_done:
            ledger.faults.expect((entry.id, service) in answered, "a step succeeded without a call",
                                 entry.id, service)


def _audit_keys(ledger, calls):
    """By which a provider knows that it has done a step, whatever became of the celld that asked."""
    for call in calls:
        ledger.faults.expect(call.key in (None, f"{call.job}.{call.service}"),
                             "a call with another step's idempotency key", call)


def _end_of(ledger, call):
    """With its life, all calls of a celld end, even if the provider hears of it later."""
    ends = [at for at in (call.ended_at, ledger.lives[call.life]["died"]) if at is not None]
    return min(ends, default=float("inf"))


def _seen_beside(ledger, before, call):
    """Whether `before` had surely not ended when `call` began. A provider may hear late that celld
    has hung up on it."""
    late_s = HUNG_UP_S if before.broken else 0
    return _end_of(ledger, before) - late_s > call.began_at


def _audit_entities(ledger, calls):
    """That commands do not overlap they see for themselves, see commands.py."""
    last = {}
    for call in calls:
        before = last.get(call.entity)
        # From one life to the next, no clock is needed: the first was waited for.
        overlap = (before is not None and before.life == call.life and
                   _seen_beside(ledger, before, call))
        ledger.faults.expect(not overlap, "two calls for one entity at once", before, call)
        last[call.entity] = call


def _audit_pools(ledger, calls, pool_size):
    """At the start of a call, it and those that run are no more than the pool may hold."""
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
            beside = [r for r in running if _seen_beside(ledger, r, call)] + [call]
            running.append(call)
            allowed = max(ledger.sizes_in_force(name, pool_size[name],
                                                call.began_at - BEGINNING_S, call.began_at))
            ledger.faults.expect(len(beside) <= allowed, "a pool was passed", cell,
                                 f"{len(beside)} > {allowed} at {call.began_at}", beside)
