"""The clients of the crash test: many that submit jobs, and one that resizes pools.

Each records celld's answers. When a connection breaks, the outcome is unknown: a submission is
repeated, a resize is not.
"""

import asyncio
import random
import time

from client import BROKEN, Connection


class Load:
    """Submits `count` jobs over `cells` cells and records the answers."""

    def __init__(self, daemon, count, cells, seed):
        self.daemon = daemon
        self.count = count
        self.cells = cells
        self.random = random.Random(seed)
        self.next = 0
        self.accepted = {}    # By id: the job as submitted.
        self.unexpected = []  # Answers that no client should receive.
        self.stopping = False  # A celld that is shutting down answers 503.
        self.resizes = {cell: [] for cell in range(cells)}  # [sent_at, answered_at, size]
        self.done = False

    def a_job(self):
        outcome = self.random.choices(("ok", "reject", "flaky", "busy"), (85, 5, 5, 5))[0]
        return {
            "customer": f"c{self.random.randrange(self.cells)}", "product": "dns",
            "action": "create",
            "services": ["one", "two"] if self.random.random() < 0.2 else ["one"],
            "entity": {"type": "zone", "id": f"e{self.random.randrange(20)}"},
            "parameters": {"outcome": outcome, "latency_ms": self.random.randint(2, 60)},
            "priority": self.random.randint(1, 9),
        }

    async def submit_all(self, clients):
        await asyncio.gather(*(self._submit() for _ in range(clients)))

    async def _submit(self):
        connection = Connection(self.daemon)
        while self.next < self.count:
            self.next += 1
            job = self.a_job()
            while not await self._submit_once(connection, job):
                await asyncio.sleep(0.02)
        connection.close()

    async def _submit_once(self, connection, job):
        try:
            status, answer = await connection.request("POST", "/v1/jobs", job)
        except BROKEN:
            return False
        if status == 202:
            self.accepted[answer["id"]] = job
        elif not self.stopping or status != 503:
            self.unexpected.append((status, answer))
        return status == 202

    async def resize(self, per_second, cells_each):
        """Resizes `cells_each` pools `per_second` times a second until `done`."""
        connection = Connection(self.daemon)
        due_at = time.monotonic()
        while not self.done:
            for cell in self.random.sample(range(self.cells), min(cells_each, self.cells)):
                await self._resize_once(connection, cell, self.random.randint(1, 6))
            due_at = max(due_at + 1 / per_second, time.monotonic())
            await asyncio.sleep(due_at - time.monotonic())
        connection.close()

    async def _resize_once(self, connection, cell, size):
        record = [time.monotonic(), None, size]
        self.resizes[cell].append(record)
        try:
            status, answer = await connection.request(
                "PUT", f"/v1/admin/cells/c{cell}/*/pool", {"size": size})
        except BROKEN:
            return
        if status == 202:
            record[1] = time.monotonic()
        elif not self.stopping or status != 503:
            self.unexpected.append((status, answer))
