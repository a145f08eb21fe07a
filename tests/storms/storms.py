"""The storms: resizes, reloads of which half are invalid, and ten times as many jobs as fit."""

import asyncio
import math
import random
import time
from datetime import datetime

from daemon import SLOWDOWN
from field import BUSY_PER_S, CAPACITY_PER_S, JOBS_MAX, POOL, Field, cell, config
from submitter import Submitter

RESIZES_PER_S = 100
RELOADS_PER_S = 50
OVERLOAD = 10
OVERLOAD_MIN = 4  # On a machine that has no room for more clients.
# Between an administrator's answer and the word to whoever hands out jobs; and of two clocks.
ON_THE_WAY_S = 0.1 * SLOWDOWN
TAKEN_MIN = 0.8


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def beginnings(jobs):
    """(when, how many ran then) for each job that began, itself included. In the same millisecond
    ends come first, as they make room."""
    edges = []
    for job in jobs:
        step = job["steps"][0]
        edges += [(moment(step["started_at"]), 1), (moment(step["finished_at"]), -1)]
    running = 0
    for at, change in sorted(edges):
        running += change
        if change > 0:
            yield at, running


def share(pool, jobs_max, **changes):
    return cell(pool={"size": pool}, queue={"max_jobs": jobs_max}, **changes)


class Storm(Field):
    """`number` decides what is left to chance."""

    name = what = None

    def __init__(self, number, **client):
        super().__init__(**client)
        self.random = random.Random(f"{self.name} {number}")

    async def whole(self, seconds):
        """Returns the faults."""
        await self.fill()
        await self.weather(seconds, self.rage)
        await self.calm_down()
        await self.aftermath()
        await self.end()
        return self.faults

    async def rage(self):
        raise NotImplementedError

    async def aftermath(self):
        """What else has to be true once it is over."""

    async def every(self, per_second, act):
        """Acts so often, or as often as celld answers."""
        due = time.monotonic()
        while self.raging:
            await act()
            due = max(due + 1 / per_second, time.monotonic())
            await asyncio.sleep(due - time.monotonic())

    def report(self):
        refused = self.load.statuses[429] + self.load.statuses[503]
        return (f"{self.what}; {self.peak:.0f} jobs/s before, {self.stormy:.0f} jobs/s in it "
                f"({100 * self.stormy / self.peak:.0f} %); {len(self.load.accepted)} jobs taken, "
                f"{refused} refused; normal after {self.normal_s:.1f} s, memory "
                f"+{self.grown / (1 << 20):.1f} MB" +
                f"; {self.unjudged} bounds missed, the machine is too busy" * bool(self.unjudged))


class Administrator:
    """A client of its own, used from another thread."""

    def __init__(self, daemon):
        self.client = daemon.client()

    async def ask(self, method, path, body=None):
        return await asyncio.to_thread(self.client.request, method, path, body)


class Resizes(Storm):
    """The pool's size goes up and down as a wave, on average it stays the same; and for moments it
    is much smaller."""

    name = "resizes"

    async def rage(self):
        self.resizes = [(0.0, 0.0, POOL)]  # (sent at, answered at, size), by the wall clock.
        self.administrator = Administrator(self.daemon)
        self.began = time.monotonic()
        await self.every(RESIZES_PER_S, self.resize)
        self.what = f"{len(self.resizes) / (time.monotonic() - self.began):.0f} resizes/s"
        self.administrator.client.close()

    async def resize(self):
        size = POOL + round(POOL / 5 * math.sin(2 * math.pi * (time.monotonic() - self.began) / 3))
        if self.random.random() < 0.05:
            size = self.random.randint(1, size)
        sent = time.time()
        answer = await self.administrator.ask("PUT", "/v1/admin/cells/acme/*/pool", {"size": size})
        self.resizes.append((sent, time.time(), size))
        self.expect(answer.status == 202, f"a resize: {answer}")

    def audit(self, jobs):
        """When a job began, it and those that ran were no more than a size then in force."""
        first = last = 0
        for at, running in beginnings(jobs):
            while first + 1 < len(self.resizes) and self.resizes[first + 1][1] < at - ON_THE_WAY_S:
                first += 1
            while last < len(self.resizes) and self.resizes[last][0] <= at + ON_THE_WAY_S:
                last += 1
            in_force = [size for _, _, size in self.resizes[first:last]]
            self.expect(running <= max(in_force),
                        f"a pool was passed: {running} ran at {at}, sizes were {in_force}")


class Reloads(Storm):
    """Every other configuration is wrong. A third of the jobs is for a cell that comes and goes."""

    name = "reloads"

    def __init__(self, number):
        super().__init__(number, product_of=lambda i: "own" if i % 3 == 0 else "any")

    async def rage(self):
        self.answers = {200: 0, 422: 0}
        self.administrator = Administrator(self.daemon)
        began = time.monotonic()
        await self.every(RELOADS_PER_S, self.reload)
        self.what = (f"{sum(self.answers.values()) / (time.monotonic() - began):.0f} reloads/s, "
                     f"{self.answers[422]} of {sum(self.answers.values())} refused")
        self.administrator.client.close()

    async def reload(self):
        invalid = sum(self.answers.values()) % 2 == 1
        self.daemon.write_config(self.invalid() if invalid else self.valid())
        answer = await self.administrator.ask("POST", "/v1/admin/reload", {})
        self.expect(answer.status == (422 if invalid else 200), f"a reload: {answer}")
        self.answers[answer.status] = self.answers.get(answer.status, 0) + 1

    def valid(self):
        if self.random.random() < 0.5:
            cells = [share(POOL * 2 // 3, JOBS_MAX * 2 // 3),
                     share(POOL // 3, JOBS_MAX // 3, product="own")]
        else:
            cells = [cell(timeout_ms=self.random.randint(20000, 60000))]
        if self.random.random() < 0.5:
            cells.append({"customer": "somebody", "pool": {"size": self.random.randint(1, 9)}})
        changed = config(*cells)
        changed["services"][f"spare-{self.random.randint(1, 3)}"] = {"type": "simulated"}
        return changed

    def invalid(self):
        """Faults of which each alone would end the load, if it were put in force."""
        wrong = config(cell(pool={"size": 0}))
        wrong["cells"] += self.random.choice(([cell()], [{"customer": "../etc"}], [{"per": []}]))
        wrong["services"] = {"other": {"type": "simulated"}}
        return wrong

    async def aftermath(self):
        self.daemon.write_config(config())
        self.expect(self.answers[200] > 0 and self.answers[422] > 0, f"{self.answers}")
        self.expect(self.client.post("/v1/admin/reload", {}).status == 200, "the last reload")

    def audit(self, jobs):
        """While a cell comes or goes its jobs may run beside those of the other's full pool."""
        most = max(running for _, running in beginnings(jobs))
        self.expect(most <= POOL + POOL // 3, f"the pools were passed: {most} ran at once")


class Overload(Storm):
    """Ten times as many submissions as there can be jobs."""

    name = "overload"

    async def rage(self):
        self.load.rate = OVERLOAD * CAPACITY_PER_S
        while self.raging:
            await asyncio.sleep(0.02)
        self.load.rate = BUSY_PER_S

    async def aftermath(self):
        """As many clients as the queue has places are refused by a full one. Each comes back when
        it was told to."""
        factor = self.offered_per_s / CAPACITY_PER_S
        self.what = f"{factor:.1f} times as many jobs as can be run"
        self.expect_measured(factor >= OVERLOAD_MIN, f"no storm: {self.what}")
        second = Submitter(self.daemon)
        await second.open()
        loop, waits = asyncio.get_running_loop(), []

        def refused(wait_s):
            waits.append(wait_s)
            loop.call_later(wait_s, second.submit_next)

        self.load.refused = refused
        self.load.rate = OVERLOAD * CAPACITY_PER_S
        await asyncio.sleep(2 * JOBS_MAX / self.load.rate)
        await self.load.quiet()
        await asyncio.sleep(max(waits, default=0) + 0.1)
        await second.quiet()
        await self.drain()
        await second.close()
        self.load.accepted += second.accepted
        self.expect_measured(second.statuses[202] >= TAKEN_MIN * second.sent > 0,
                             f"of {second.sent} clients that came back when they were told to, "
                             f"only {second.statuses[202]} were taken")
        self.what += (f", {second.statuses[202]} of {second.sent} refused clients taken when they "
                      f"came back after {min(waits, default=0)} to {max(waits, default=0)} s")


STORMS = (Resizes, Reloads, Overload)
