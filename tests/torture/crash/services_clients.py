"""The load of one round of cycles of services, and their provider.

The clients go on through all lives of celld: each repeats a request until a celld has answered it.
"""

import asyncio
import random
import signal

from client import BROKEN, Connection
from daemon import SLOWDOWN
from ledger import unix_time
from recording_provider import Provider

CLIENTS = 8
CONCURRENCY = 2   # Of the service "limited".
# Of the service "rated". Each of its clients has an entity of its own, and submits its next job when
# the last one has ended. A celld that ignores the rate makes hundreds of calls a second.
RATE_PER_S, BURST = 20, 3
RATED_CLIENTS = 6
EVERY_MS = 1000   # The shortest interval of a schedule.
GRACE_MS = int(150 * SLOWDOWN)
LONG_LATENCY_MS = 2 * GRACE_MS  # A stop interrupts such a call.
DOWN_S, UP_S = 0.5, 0.3
STEPS = ["one", "limited", "two"]
SCHEDULES = {"all": "allow", "one-at-a-time": "skip"}  # By name: what happens at an overlap.


class Services(Provider):
    """Its service "flaky" is down now and then."""

    def __init__(self):
        super().__init__()
        self.is_down = False
        self.most = 0  # Calls of "limited" at once.

    def status_of(self, document):
        if document["service"] == "flaky" and self.is_down:
            return 503
        refuses = document["parameters"].get("fails_at") == document["service"]
        return 422 if refuses and not document.get("undo") else 200

    def began(self):
        calls = [each.call for each in self.under_way.values() if each.call is not None]
        limited = sum(call.service == "limited" for call in calls)
        self.most = max(self.most, limited)


class Clients:
    def __init__(self, daemon, lives, provider, faults, configure):
        self.daemon = daemon
        self.lives = lives
        self.provider = provider
        self.faults = faults
        self.configure = configure  # (random) Writes a configuration of this life.
        self.random = random.Random()
        self.is_serving = False  # Once true, a SIGHUP makes celld reload.
        self.is_over = False
        self.submitted = self.reloads = 0
        self.accepted = {}    # By id: the job as submitted.
        self.due_first = {}   # By schedule.
        self.due_next = {}    # The same, just before the schedule was paused.
        self.tasks = []

    async def begin(self):
        await self.add_schedules()
        work = [self.submit() for _ in range(CLIENTS)]
        work += [self.submit_rated(f"r{number}") for number in range(RATED_CLIENTS)]
        work += [self.interrupt_flaky(), self.reload()]
        self.tasks = [asyncio.create_task(each) for each in work]

    async def interrupt_flaky(self):
        while not self.is_over:
            self.provider.is_down = not self.provider.is_down
            await asyncio.sleep(DOWN_S if self.provider.is_down else UP_S)

    async def reload(self):
        connection = Connection(self.daemon)
        while not self.is_over:
            await asyncio.sleep(self.random.uniform(0, 0.2))
            if not self.is_serving:
                continue
            self.configure(self.random)
            self.reloads += 1
            if self.random.random() < 0.5:
                self.daemon.signal(signal.SIGHUP)
                continue
            life = self.lives.number
            try:
                status, answer = await connection.request("POST", "/v1/admin/reload", {})
            except BROKEN:
                continue
            self.expect_answer(life, status, answer, 200)
        connection.close()

    def a_job(self):
        fails_at = self.random.choice((None, *STEPS))
        job = {"customer": f"c{self.random.randrange(3)}", "action": "create",
               "entity": {"type": "zone", "id": f"e{self.random.randrange(12)}"},
               "parameters": {"outcome": "ok", "latency_ms": self.random.randint(1, 25)}}
        if self.random.random() < 0.2:
            return {**job, "product": "flaky", "services": ["flaky"]}
        job["parameters"]["fails_at"] = fails_at
        if self.random.random() < 0.02:
            job["parameters"]["latency_ms"] = LONG_LATENCY_MS
        return {**job, "product": "dns", "services": STEPS, "on_failure": "compensate"}

    async def submit(self):
        connection = Connection(self.daemon)
        while not self.is_over:
            await self.submit_one(connection, self.a_job())
            await asyncio.sleep(self.random.uniform(0, 0.1))
        connection.close()

    async def submit_rated(self, entity):
        connection = Connection(self.daemon)
        while not self.is_over:
            await self.submit_one(connection, {
                "customer": "c0", "product": "rated", "action": "create", "services": ["rated"],
                "entity": {"type": "zone", "id": entity},
                "parameters": {"outcome": "ok", "latency_ms": 1}}, "Prefer: wait=30\r\n")
        connection.close()

    async def submit_one(self, connection, job, header=""):
        self.submitted += 1
        job["idempotency_key"] = f"key-{self.submitted}"
        status, answer = await self.ask(connection, "POST", "/v1/jobs", job, header)
        if status in (200, 202):
            self.accepted[answer["id"]] = job

    async def ask(self, connection, method, path, body=None, header=""):
        """Repeats the request until a celld that is not shutting down answers it."""
        while True:
            life = self.lives.number
            try:
                status, answer = await connection.request(method, path, body, header)
                self.expect_answer(life, status, answer, 200, 201, 202)
                if status != 503 or not self.lives.is_stopping(life):
                    return status, answer
            except BROKEN:
                if self.is_serving and not self.daemon.running():
                    raise AssertionError("celld ended by itself") from None
            await asyncio.sleep(0.01)

    def expect_answer(self, life, status, answer, *expected):
        """`life`: in which the request was sent."""
        refused = status == 503 and self.lives.is_stopping(life)
        self.faults.expect(status in expected or refused, "an unexpected answer", status, answer)

    async def add_schedules(self):
        connection = Connection(self.daemon)
        for name, overlap in SCHEDULES.items():
            job = {"customer": "c0", "product": "schedules", "action": "renew",
                   "entity": {"type": "zone", "id": name}, "services": ["one"],
                   "labels": {"schedule": name},
                   "parameters": {"outcome": "ok", "latency_ms": 5}}
            _, schedule = await self.ask(
                connection, "PUT", f"/v1/schedules/{name}",
                {"every_ms": EVERY_MS, "overlap": overlap, "catch_up": "all", "job": job})
            self.due_first[name] = unix_time(schedule["next_run_at"])
        connection.close()

    async def end(self):
        """Ends the load while a celld runs. Returns the schedules as they were last."""
        self.is_over = True
        await asyncio.gather(*self.tasks)
        self.provider.is_down = False
        return await self.pause_schedules()

    async def pause_schedules(self):
        connection, schedules = Connection(self.daemon), {}
        for name in SCHEDULES:
            path = f"/v1/schedules/{name}"
            _, schedule = await self.ask(connection, "GET", path)
            self.due_next[name] = unix_time(schedule["next_run_at"])
            wanted = {name: schedule[name] for name in ("every_ms", "overlap", "catch_up", "job")}
            await self.ask(connection, "PUT", path, {**wanted, "paused": True})
            _, schedules[name] = await self.ask(connection, "GET", path)
        connection.close()
        return schedules
