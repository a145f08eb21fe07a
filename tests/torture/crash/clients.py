"""The clients of one round of crash cycles. They submit, cancel, reopen, resize and reload, as a
seed determines, and record every answer in a journal.
"""

import asyncio
import itertools
import json
import os
import signal
import time

import client
from client import BROKEN, Connection
from leases import SERVICE, Leases
from ledger import ENDED

SUBMITTERS = 6
# The configured pool sizes of cells that no reload changes.
FIXED_CELLS = {f"c{i}/*": i + 1 for i in range(4)}
CUSTOMERS = [f"c{i}" for i in range(6)]
SERVICES = {("one",): 40, ("one", "two"): 15, ("tool",): 15, ("one", "tool"): 8, ("tool", "two"): 7,
            (SERVICE,): 10, ("one", SERVICE): 5}
BATCH_LINES_MAX = 30
WORKER = "host-1"
OUTCOMES = {"ok": 66, "slow": 10, "flaky": 8, "busy": 6, "reject": 6, "hang": 4}
HANG_TIMEOUT_MS = 150
SETTLE_MS = {"two": 20}  # By service.
# Configurations that celld must refuse.
INVALID = ["{", '{"services": {}, "cells": [], "listen": 1}',
           '{"services": {"x": {"type": "command", "argv": ["/nothing"]}}, "cells": [{}]}',
           '{"services": {"x": {"type": "simulated"}}, "cells": [{"pool": {"size": 0}}]}',
           '{"services": {"x": {"type": "simulated"}}, "cells": [{}], "what": 1}']


class Clients:
    def __init__(self, daemon, journal, configure):
        self.daemon = daemon
        self.journal = journal
        self.configure = configure  # (variant) -> a valid configuration of this life.
        self.random = None          # Of the cycle.
        self.keys = 0
        self.open = []              # Submissions with an unknown outcome: (key, job).
        self.acknowledged = set()   # Keys of lines of batches; their jobs' ids are unknown.
        self.leases = Leases()
        self.on_sent = lambda: None
        self.on_answered = lambda: None
        self.watching = None        # The connection of the event stream.
        self.tasks = []
        self.figures = {"answers": 0, "commands": 0, "resizes": 0, "reloads": 0, "invalid": 0,
                        "lines": 0, "reports": 0}

    def begin(self, random, budget):
        """Starts the load, which ends when the daemon dies or `budget` jobs are submitted."""
        self.random = random

        def connection():  # `on_sent` is set later.
            return Connection(self.daemon, lambda: self.on_sent())  # pylint: disable=W0108
        jobs = self._jobs(budget)
        work = [self._submit(connection(), jobs) for _ in range(SUBMITTERS)]
        work += [self._command(connection()), self._resize(connection()),
                 self._reload(connection()), self._watch(connection()),
                 self._batch(connection(), jobs), self.work(connection())]
        self.tasks = [asyncio.create_task(self._until_broken(each)) for each in work]

    async def end(self):
        """Waits until every client has noticed the daemon's death."""
        if self.watching is not None:
            self.watching.close()
        for task in self.tasks[SUBMITTERS:]:
            task.cancel()
        results = await asyncio.gather(*self.tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _until_broken(self, work):
        try:
            await work
        except BROKEN:
            pass

    async def _ask(self, connection, method, path, body=None, expected=(), header=""):
        status, answer = await connection.request(method, path, body, header)
        self.figures["answers"] += 1
        ledger = self.journal.ledger
        refused = status == 503 and ledger.life.stopping
        ledger.faults.expect(status in expected or refused, "an unexpected answer", method, path,
                             status, json.dumps(answer)[:500])
        return status, answer

    # Jobs.

    def _jobs(self, budget):
        """Yields submissions with an unknown outcome again, then new ones."""
        again, self.open = self.open, []
        yield from again
        for _ in range(budget):
            self.keys += 1
            key = f"k{self.keys}"
            yield key, self._a_job(key)

    def _a_job(self, key):
        outcome = self.random.choices(list(OUTCOMES), OUTCOMES.values())[0]
        job = {
            "customer": self.random.choice(CUSTOMERS), "product": "dns", "action": "create",
            "services": list(self.random.choices(list(SERVICES), SERVICES.values())[0]),
            "entity": {"type": "zone", "id": f"e{self.random.randrange(10)}"},
            "parameters": {"outcome": outcome, "latency_ms": self.random.randint(2, 40)},
            "priority": self.random.randint(1, 9), "labels": {"key": key},
        }
        if outcome == "slow":
            job["parameters"]["latency_ms"] = 250
        if outcome == "hang":
            job.update(timeout_ms=HANG_TIMEOUT_MS, retry={"max_attempts": 2})
        return job

    async def _submit(self, connection, jobs):
        for key, job in jobs:
            self.journal.note("submitting", key=key, job=job)
            self.open.append((key, job))
            # Some requests wait for the job to end.
            is_made = key in self.acknowledged
            header = "Prefer: wait=1\r\n" if not is_made and self.random.random() < 0.1 else ""
            status, answer = await self._ask(connection, "POST", "/v1/jobs",
                                             {**job, "idempotency_key": key},
                                             (200,) if is_made else (200, 202), header)
            if status in (200, 202):
                self.open.remove((key, job))
                self.journal.note("accepted", key=key, id=answer["id"])
                self.journal.note("saw", job=answer)
                self.on_answered()
        connection.close()

    async def submit_open(self):
        """Repeats the submissions with an unknown outcome until all are answered."""
        connection = Connection(self.daemon)
        while self.open:
            await self._submit(connection, iter([self.open.pop(0)]))

    async def _batch(self, connection, jobs):
        """The report names no jobs, so each line is submitted again later, and must be known."""
        while lines := list(itertools.islice(jobs, self.random.randint(1, BATCH_LINES_MAX))):
            for key, job in lines:
                self.journal.note("submitting", key=key, job=job)
                self.open.append((key, job))
            status, report = await self._ask(
                connection, "POST", "/v1/batches",
                [{**job, "idempotency_key": key} for key, job in lines], (202,))
            if status == 202:
                self._note_report(lines, report)
                self.on_answered()
            await asyncio.sleep(self.random.random() * 0.05)
        connection.close()

    def _note_report(self, lines, report):
        end = report["stopped_at_line"] or len(lines) + 1
        rejected = {error["line"] for error in report["errors"]}
        taken = {key for number, (key, _) in enumerate(lines, 1)
                 if number < end and number not in rejected}
        ledger = self.journal.ledger
        ledger.faults.expect(len(taken) == report["accepted"] + report["replayed"] and
                             (len(taken) == len(lines) or ledger.life.stopping),
                             "an unexpected report of a batch", report, len(lines))
        self.acknowledged |= taken
        self.figures["lines"] += len(taken)

    # The worker outside.

    async def work(self, connection):
        """Takes up the leases that the last life granted, then asks for more."""
        asked_at = time.monotonic()
        _, page = await self._ask(connection, "GET", f"/v1/leases?worker={WORKER}&limit=1000",
                                  expected=(200,))
        await self._do(connection, page.get("items", []), asked_at)
        while True:
            asked_at = time.monotonic()
            _, answer = await self._ask(
                connection, "POST", f"/v1/services/{SERVICE}/leases",
                {"worker": WORKER, "max": self.random.randint(1, 4),
                 "wait_ms": self.random.choice((0, 20, 200))}, (200,))
            await self._do(connection, answer.get("leases", []), asked_at)
            await asyncio.sleep(self.random.random() * 0.01)

    async def _do(self, connection, leases, asked_at):
        now = time.monotonic()
        reports = {lease["lease"]: self.leases.grant(lease, asked_at, now) for lease in leases}
        for name, report in reports.items():
            if report is None:
                continue
            action, body = report
            self.leases.sent(name)
            status, _ = await self._ask(connection, "POST", f"/v1/leases/{name}/{action}", body,
                                        (200, 409))
            if status in (200, 409):
                self.leases.answered(name, status)
                self.figures["reports"] += 1
                self.on_answered()

    # Cancellations and reopenings.

    async def _command(self, connection):
        while True:
            # The ledger identifies an end by its millisecond, so never send two commands in one.
            await asyncio.sleep(0.002 + self.random.random() * 0.03)
            entries = list(self.journal.ledger.by_id.values())
            if not entries:
                continue
            # Recent jobs are more likely to be running.
            entry = entries[-min(self.random.randint(1, 40), len(entries))]
            end = entry.ends.get(entry.final)
            if end is None:
                await self._send(connection, entry, "cancel", (200, 409))
            elif end["state"] != "succeeded":
                await self._send(connection, entry, "retry", (202,))

    async def _send(self, connection, entry, what, expected):
        self.journal.note("requesting", id=entry.id, what=what)
        status, job = await self._ask(connection, "POST", f"/v1/jobs/{entry.id}/{what}", {},
                                      expected)
        self.journal.note("answered", id=entry.id, what=what, status=status)
        if status in (200, 202):
            self.journal.note("saw", job=job)
            self.figures["commands"] += 1
        self.on_answered()

    # Administrators.

    async def _resize(self, connection):
        while True:
            await asyncio.sleep(self.random.random() * 0.03)
            cell, configured = self.random.choice(list(FIXED_CELLS.items()))
            size = self.random.randint(1, 2 * configured)
            self.journal.note("resizing", cell=cell, size=size)
            status, _ = await self._ask(connection, "PUT", f"/v1/admin/cells/{cell}/pool",
                                        {"size": size}, (202,))
            if status == 202:
                self.journal.note("resized", cell=cell)
                self.figures["resizes"] += 1
                self.on_answered()

    async def _reload(self, connection):
        while True:
            await asyncio.sleep(self.random.random() * 0.15)
            valid = self.random.random() < 0.6
            text = (json.dumps(self.configure(self.random.randrange(8))) if valid
                    else self.random.choice(INVALID))
            replace(self.daemon.config_path, text)
            self.figures["reloads" if valid else "invalid"] += 1
            if self.random.random() < 0.5:
                self.daemon.signal(signal.SIGHUP)
            else:
                await self._ask(connection, "POST", "/v1/admin/reload", {},
                                (200,) if valid else (422,))
                self.on_answered()

    # Events.

    async def _watch(self, connection):
        """Notes each event that implies a durable state: an end, or a succeeded step. A job that
        only started may not be on disk yet."""
        self.watching = connection
        await client.follow(connection)
        self.journal.note("watching")
        async for event in client.events(connection):
            if event["state"] in ENDED or event["steps"][0]["state"] == "succeeded":
                self.journal.note("saw", job=event)


def replace(path, text):
    """Replaces the file atomically."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)
