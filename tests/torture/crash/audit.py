"""Audits that do not rely on celld's answers alone: of its database, its providers' logs and the
machine's processes. Each compares its source with a ledger, and adds faults to the ledger.
"""

import bisect
import collections
import contextlib
import os
import re
import sqlite3
import time

from clients import SETTLE_MS
from commands import TICK_S
from daemon import SLOWDOWN
from leases import SERVICE
from ledger import ENDED

# How much longer a result may take to the disk than the slowest that a client saw in the round.
ON_THE_WAY_MORE_S = 0.02
# How long it may take at most, however slow the round was.
ON_THE_WAY_MAX_S = 1.0 * SLOWDOWN


def wall_ahead_s():
    """How far the wall clock is ahead of CLOCK_MONOTONIC; never less, and a moment more."""
    monotonic = time.monotonic()
    return time.time() - monotonic


def read_interrupted(path):
    """The jobs that a dead celld left running: [key, epoch of the lease, step, earlier
    interruptions in a row] of each."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return [list(row) for row in database.execute(
            "SELECT value, lease_epoch, step, interruptions FROM jobs JOIN job_labels ON id = job "
            "WHERE name = 'key' AND state = 2")]


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
        "SELECT cell, origin, scheduled, queued, running, retrying, compensating, settling, "
        "runnable, lanes FROM route_counts WHERE scheduled + queued + running + retrying + "
        "compensating + settling + runnable > 0 OR lanes IS NOT NULL "
        "ORDER BY cell, origin").fetchall()
    counted = [(*counts[:-2], counts[-2] + _in_other_lanes(counts[-1])) for counts in counted]
    # A job is open until it has ended and left its line. Of the turns in each hundred, those up to
    # 9 are of runnable jobs.
    actual = database.execute(
        "SELECT cell, origin, sum(state = 0), sum(state = 1), sum(state = 2), sum(state = 3), "
        "sum(state = 4), sum(state >= 5), sum(turn % 100 < 10) FROM jobs "
        "WHERE state < 5 OR place IS NOT NULL GROUP BY cell, origin "
        "ORDER BY cell, origin").fetchall()
    faults.expect(counted == actual, "a cell's stored counts are wrong", counted, actual)
    stored = database.execute("SELECT cell, origin, stored FROM route_counts WHERE stored > 0 "
                              "ORDER BY cell, origin").fetchall()
    actual = database.execute("SELECT cell, origin, count(*) FROM jobs GROUP BY cell, origin "
                              "ORDER BY cell, origin").fetchall()
    faults.expect(stored == actual, "a cell's stored jobs are miscounted", stored, actual)
    # In an entity's line only the head is runnable, and only the head runs.
    twice = database.execute(
        "SELECT origin, entity_type, entity_id FROM jobs WHERE state = 2 OR turn % 100 < 10 "
        "GROUP BY origin, entity_type, entity_id HAVING count(*) > 1").fetchone()
    faults.expect(twice is None, "two jobs of an entity may run in the database", twice)


def _in_other_lanes(text):
    """The runnable jobs that the column `lanes` counts: "lane:jobs", separated by spaces."""
    return sum(int(lane.split(":")[1]) for lane in (text or "").split())


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
    decided = _Decisions(ledger, known)
    _audit_late(ledger, known)
    _audit_steps(ledger, known, decided)
    _audit_keys(ledger, known)
    _audit_broken(ledger, known, decided)
    _audit_settling(ledger, known)
    # A command's call shorter than its clock's tick says nothing about overlaps.
    timed = [call for call in known if call.ended_at is None or call.ended_at > call.began_at]
    _audit_entities(ledger, timed)
    _audit_pools(ledger, timed, decided, pool_size)


def _not_before(call):
    """The call began at or after this time."""
    return call.began_at - (TICK_S if call.key is None else 0)


def _audit_late(ledger, calls):
    """No call may start for a job or step that was already seen to have ended. A provider may note
    late a call that celld has already hung up on."""
    for call in calls:
        entry = ledger.by_id[call.job]
        since = _not_before(call)
        ledger.faults.expect(entry.final is None or since < entry.final_at or call.over,
                             "a call for a job that had ended", call, entry.final_at)
        done_at = entry.steps_done.get(call.service, float("inf"))
        ledger.faults.expect(since < done_at or call.over,
                             "a call for a step that had succeeded", call, done_at)


class OnTheWay:
    """How long results take from the provider's answer until they are on disk. The measure is the
    slowest that a client saw in the round: a client sees a result only after the commit."""

    def __init__(self, ledger, calls):
        self.ledger = ledger
        self.slowest_s = {True: 0.0, False: 0.0}  # By whether the provider is a command.
        # By life and kind: when calls ended, and when a client saw their results before a kill.
        self.seen = collections.defaultdict(list)
        answered = collections.defaultdict(list)
        for call in calls:
            if call.succeeded:
                answered[call.job, call.service].append(call)
        for (job, service), successes in answered.items():
            self._measure(successes, ledger.by_id[job].steps_done.get(service, 0.0))

    def _measure(self, successes, seen_at):
        recorded = [call for call in successes if call.ended_at <= seen_at]
        if not recorded:
            return
        call = recorded[-1]
        life, kind = self.ledger.lives[call.life], call.key is None
        if life.how != "kill" or seen_at <= life.last_signalled:
            self.seen[call.life, kind].append((call.ended_at, seen_at))
        if life.watched <= call.ended_at and (life.signalled is None or seen_at <= life.signalled):
            self.slowest_s[kind] = max(self.slowest_s[kind], seen_at - call.ended_at)

    def longest_s(self, command):
        return min(self.slowest_s[command] + ON_THE_WAY_MORE_S, ON_THE_WAY_MAX_S)

    def recorded_at(self, call):
        """When the call's answer was on disk at the latest. A busy machine may stall the thread that
        reads answers, or the processes that run commands; so the time is up only once a client sees
        the result of a later call of the same kind."""
        kind = call.key is None
        until = call.ended_at + self.longest_s(kind)
        return min((seen for ended, seen in self.seen[call.life, kind] if ended >= until),
                   default=float("inf"))

    def may_be_lost(self, call):
        """Whether celld may have died before it recorded the call's answer. A stop waits for
        answers that were sent before it; but only the command knows when a command's answer was
        sent."""
        life = self.ledger.lives[call.life]
        if life.signalled is None:
            return False
        if call.ended_at >= life.signalled:
            return True
        waits = life.how == "stop" and call.key is not None
        return not waits and self.recorded_at(call) > life.last_signalled


def _audit_steps(ledger, calls, decided):
    """A step that succeeded may be called again only if celld lost the answer: to a crash or a
    stop, and then in a later life, or to a cancellation during the call."""
    on_the_way = OnTheWay(ledger, calls)
    answered = {}
    for call in calls:
        step = (call.job, call.service)
        first = answered.get(step)
        if first is not None:
            lost = call.life != first.life and on_the_way.may_be_lost(first)
            cancelled = _may_be_cancelled(
                ledger.by_id[call.job], decided.since(first), on_the_way.recorded_at(first),
                call.began_at)
            ledger.faults.expect(lost or cancelled, "a step was called again after its success",
                                 first, call, ledger.lives[first.life], on_the_way.slowest_s)
        if call.succeeded:
            answered[step] = call
    for entry in ledger.by_id.values():
        for service in entry.steps_done:
            ledger.faults.expect((entry.id, service) in answered or service == SERVICE,
                                 "a step succeeded without a call", entry.id, service)


def _may_be_cancelled(entry, began_at, recorded_at, again_at):
    """Whether a cancellation may have reached celld between two times, and the job was reopened
    before a third."""
    return any(
        cancel.sent_at <= recorded_at and cancel.status in (None, 200) and
        (cancel.answered_at is None or cancel.answered_at >= began_at) and
        any(cancel.sent_at < retry.sent_at <= again_at for retry in entry.retries)
        for cancel in entry.cancels)


def _audit_keys(ledger, calls):
    """The idempotency key names the job and the step, so that a provider recognises a repeat from
    any life of celld."""
    for call in calls:
        ledger.faults.expect(call.key in (None, f"{call.job}.{call.service}"),
                             "a call with another step's idempotency key", call)


def _end_of(ledger, call):
    """When the call ended: at the latest with its life, although the provider may notice later."""
    ends = [at for at in (call.ended_at, ledger.lives[call.life].died) if at is not None]
    return min(ends, default=float("inf"))


class _Decisions:
    """The earliest time at which celld may have decided to start each call."""

    def __init__(self, ledger, calls):
        self.ledger = ledger
        self.over = collections.defaultdict(list)  # By entity: when calls were certainly over.
        for call in calls:
            if call.ended_at is not None:
                over_at = call.alive_at if call.broken else call.ended_at
                bisect.insort(self.over[call.entity], over_at)

    def since(self, call):
        """After the job was submitted, after the entity's earlier calls, in the same life, and not
        before the step's first attempt, whose start celld reports."""
        entry, life = self.ledger.by_id[call.job], self.ledger.lives[call.life]
        if call.over:  # It may have been noted late.
            return entry.submitted_at
        noted_at = _not_before(call)
        known = [entry.submitted_at, life.began]
        known += [at - life.wall_ahead_s for at in self.ledger.started_at(entry, call.service)]
        over = self.over[call.entity]
        known += over[:bisect.bisect_left(over, noted_at)][-1:]
        return max(at for at in known if at <= noted_at)


def _audit_broken(ledger, calls, decided):
    """celld hangs up only when it dies or stops, at the attempt's deadline, or when the job is
    cancelled. The end of a command that was killed is unknown."""
    for call in calls:
        if not call.broken or call.key is None:
            continue
        entry, signalled = ledger.by_id[call.job], ledger.lives[call.life].signalled
        began_at = decided.since(call)
        timeout_s = entry.sent.get("timeout_ms", float("inf")) / 1000
        explained = (
            signalled is not None and call.ended_at >= signalled or
            call.ended_at >= began_at + timeout_s or
            any(cancel.sent_at <= call.ended_at and
                (cancel.answered_at is None or cancel.answered_at >= began_at)
                for cancel in entry.cancels))
        ledger.faults.expect(explained, "a call was cut short", call, signalled, entry.cancels)


def _audit_settling(ledger, calls):
    """After celld has hung up on a call, it keeps the entity for the service's `settle_ms`, even if
    it died meanwhile."""
    cut_short = {}  # By entity: the latest call that makes it settle.
    for call in calls:
        before = cut_short.get(call.entity)
        if before is not None and _not_before(call) >= before.began_at:
            # celld counts whole milliseconds.
            until = before.alive_at + SETTLE_MS[before.service] / 1000 - 0.002
            ledger.faults.expect(call.began_at >= until, "a call for an entity that was settling",
                                 before, call)
        if call.broken and call.service in SETTLE_MS:
            cut_short[call.entity] = call


def _audit_entities(ledger, calls):
    """An entity's calls must not overlap. Overlapping commands detect each other (commands.py)."""
    last = {}
    for call in calls:
        before = last.get(call.entity, call)
        overlap = before is not call and _end_of(ledger, before) > call.began_at and (
            is_certain_at(before, call))
        ledger.faults.expect(not overlap, "two calls for one entity at once", before, call)
        if _end_of(ledger, call) >= _end_of(ledger, before):
            last[call.entity] = call


def _audit_pools(ledger, calls, decided, pool_size):
    of_cell = collections.defaultdict(list)
    for call in calls:
        of_cell[re.sub("/.*", "/*", call.cell)].append(call)
    for cell, size in pool_size.items():
        check_pool(ledger.faults, cell, of_cell[cell], lambda call: _end_of(ledger, call),
                   decided.since,
                   lambda since, until, cell=cell, size=size:
                   ledger.sizes_in_force(cell, size, since, until))


def is_certain_at(before, call):
    """Whether `before`, which has not been noted to have ended, was under way when `call` began.
    Before an HTTP provider notes a call, it notes the calls whose connections are closed. The start
    of a command has no such check.
    """
    return call.key is not None or not before.broken or before.alive_at > call.began_at


def check_pool(faults, name, calls, end_of, decided_since, sizes_in_force):
    """The calls of a cell, in the order in which they began, must not exceed its pool's size. Of
    calls that are under way at one moment, all others were under way when the last was decided."""
    running = []
    for call in calls:
        running = [each for each in running if end_of(each) > call.began_at]
        certain = [each for each in running if is_certain_at(each, call)] + [call]
        running.append(call)
        since = max(decided_since(each) for each in certain)
        allowed = max(sizes_in_force(since, call.began_at))
        faults.expect(len(certain) <= allowed, "a pool's size was exceeded", name,
                      f"{len(certain)} > {allowed} at {call.began_at}, decided since {since}",
                      certain)
