"""The storms: resizes, reloads of which half are invalid, and ten times as many jobs as fit."""

import asyncio
import math
import random
import time

from daemon import SLOWDOWN
from field import BUSY_PER_S, CAPACITY_PER_S, JOBS_MAX, POOL, Field, cell, config
from goodput import beginnings
from patience import Patience, too_long
from resizes import in_force

RESIZES_PER_S = 100
ADMINISTRATORS = 4  # One alone waits for a slow disk.
RESIZES_MIN = 0.9
RELOADS_PER_S = 50
OVERLOAD = 10
OVERLOAD_MIN = 9
# What an administrator may be behind and still make up for.
BEHIND_S = 1.0
# Between an administrator's answer and the word to whoever hands out jobs; and of two clocks.
ON_THE_WAY_S = 0.1 * SLOWDOWN
# So long, at the end, as many come as in the storm.
CROWD_S = 2.0
TAKEN_MIN = 0.8
# In the storm nobody keeps a place for those who come back: nine of ten must be refused. But they
# must not be worse off than those who just come.
CHANCE_MIN = 0.5
SAMPLE = 30  # One in so many refused clients comes back.


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
        self.judged = self.judge_measured()
        return self.faults

    async def rage(self):
        """Leaves everything as it was before."""
        raise NotImplementedError

    async def aftermath(self):
        """What else has to be true once it is over."""

    async def every(self, per_second, act):
        """Acts so often, or as often as celld answers."""
        due = time.monotonic()
        while self.raging:
            await act()
            due = max(due + 1 / per_second, time.monotonic() - BEHIND_S)
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    def report(self):
        refused = self.load.statuses[429] + self.load.statuses[503]
        part = self.stormy / max(1, self.peak)
        return (f"{self.what}; {self.peak:.0f} jobs/s before, {self.stormy:.0f} jobs/s in it "
                f"({100 * part:.0f} %), {100 * self.use:.0f} % of the workers' time used, "
                f"{self.gap_s:.2f} s without an end at most; {len(self.load.accepted)} jobs taken, "
                f"{refused} refused (with Retry-After {self.waits}); as "
                f"before after {self.normal_s} s, memory +{self.grown / (1 << 20):.1f} MB")


class Administrator:
    """A client of its own, used from another thread."""

    def __init__(self, daemon):
        self.client = daemon.client()

    async def ask(self, method, path, body=None):
        return await asyncio.to_thread(self.client.request, method, path, body)


class Resizes(Storm):
    """The pool's size goes up and down as a wave, on average it stays the same; and for moments it
    is much smaller."""

    name = "resize"

    async def rage(self):
        self.resizes = [(0.0, 0.0, POOL)]  # (sent at, answered at, size), by the wall clock.
        administrators = [Administrator(self.daemon) for _ in range(ADMINISTRATORS)]
        await asyncio.gather(*(self.keep_resizing(place, administrator)
                               for place, administrator in enumerate(administrators)))
        per_s = (len(self.resizes) - 1) / (self.ended_at - self.began_at)
        self.what = f"{per_s:.0f} resizes/s"
        self.expect_measured(per_s >= RESIZES_MIN * RESIZES_PER_S, f"no storm: {self.what}")
        await self.resize(administrators[0], POOL)
        for administrator in administrators:
            administrator.client.close()

    async def keep_resizing(self, place, administrator):
        await asyncio.sleep(place / RESIZES_PER_S)
        await self.every(RESIZES_PER_S / ADMINISTRATORS,
                         lambda: self.resize(administrator, self.size()))

    def size(self):
        wave = math.sin(2 * math.pi * (time.time() - self.began_at) / 3)
        size = POOL + round(POOL / 5 * wave)
        return self.random.randint(1, size) if self.random.random() < 0.05 else size

    async def resize(self, administrator, size):
        sent = time.time()
        answer = await administrator.ask("PUT", "/v1/admin/cells/acme/*/pool", {"size": size})
        self.resizes.append((sent, time.time(), size))
        self.expect(answer.status == 202, f"a resize: {answer}")

    def sizes(self):
        return sorted((answered, size) for _, answered, size in self.resizes)

    def audit(self, jobs):
        """When a job began, it and those that ran were no more than a size then in force."""
        for (at, running), sizes in in_force(self.resizes, beginnings(jobs), ON_THE_WAY_S):
            self.expect(running <= max(sizes),
                        f"a pool was passed: {running} ran at {at}, sizes were {sizes}")


class Reloads(Storm):
    """Every other configuration is wrong. A third of the jobs is for a cell that comes and goes."""

    name = "reload"

    def __init__(self, number):
        super().__init__(number, product_of=lambda i: "own" if i % 3 == 0 else "any")

    async def rage(self):
        self.answers = {200: 0, 422: 0}
        self.administrator = Administrator(self.daemon)
        await self.every(RELOADS_PER_S, self.reload)
        count = sum(self.answers.values())
        self.what = (f"{count / (self.ended_at - self.began_at):.0f} reloads/s, "
                     f"{self.answers[422]} of {count} refused")
        self.expect(self.answers[200] > 0 and self.answers[422] > 0, f"{self.answers}")
        self.daemon.write_config(config())
        answer = await self.administrator.ask("POST", "/v1/admin/reload", {})
        self.expect(answer.status == 200, f"the last reload: {answer}")
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

    def audit(self, jobs):
        """While a cell comes or goes its jobs may run beside those of the other's full pool."""
        most = max(running for _, running in beginnings(jobs))
        self.expect(most <= POOL + POOL // 3, f"the pools were passed: {most} ran at once")


class Overload(Storm):
    """Ten times as many submissions as there can be jobs."""

    name = "overload"

    async def rage(self):
        """Of those who are refused, some come back when they were told to."""
        self.patience = Patience(self.daemon)
        await self.patience.open()
        taken, sent = self.load.statuses[202], self.load.sent
        self.load.refused = self.sample
        self.load.rate = OVERLOAD * CAPACITY_PER_S
        while self.raging:
            await asyncio.sleep(0.02)
        self.load.rate = BUSY_PER_S
        self.load.refused = lambda wait_s: None
        self.chance = (self.load.statuses[202] - taken) / (self.load.sent - sent)
        await self.leave(self.patience)

    def sample(self, wait_s):
        if self.load.statuses[429] % SAMPLE == 0:
            self.patience.refused(wait_s)

    async def aftermath(self):
        self.judge_storm()
        await self.crowd()

    def judge_storm(self):
        factor = self.offered_per_s / CAPACITY_PER_S
        self.what = f"{factor:.1f} times as many jobs as can be run"
        self.expect_measured(factor >= OVERLOAD_MIN, f"no storm: {self.what}")
        returned = self.patience.taken_share
        self.expect_measured(returned >= CHANCE_MIN * self.chance,
                             f"of those who came back in the storm {100 * returned:.1f} % were "
                             f"taken, of all {100 * self.chance:.1f} %")
        self.what += (f", {self.patience} in it ({100 * returned:.1f} %, of all "
                      f"{100 * self.chance:.1f} %)")

    async def crowd(self):
        """As many again, and then nobody but the last who were refused, as many as the queue has
        places: each comes back when it was told to."""
        crowd = Patience(self.daemon, JOBS_MAX)
        await crowd.open()
        self.load.refused = crowd.refused
        self.load.rate = OVERLOAD * CAPACITY_PER_S
        await asyncio.sleep(CROWD_S)
        await self.load.quiet()
        await crowd.all_are_back()
        await self.drain()
        await self.leave(crowd)
        self.expect_measured(crowd.taken_share >= TAKEN_MIN,
                             f"only {crowd} when they came back after a storm as told")
        self.what += f" and {crowd} after it"

    async def leave(self, patience):
        await patience.close()
        self.load.accepted += patience.submitter.accepted
        self.load.strange += patience.submitter.strange

    def audit(self, jobs):
        drain_s = JOBS_MAX / max(1, self.stormy)
        self.expect_measured(not too_long(self.waits, drain_s),
                             f"the queue drains in {drain_s:.1f} s, and clients were told to wait "
                             f"for so many seconds, so often: {too_long(self.waits, drain_s)}")


STORMS = (Resizes, Reloads, Overload)


def length(seconds):
    """Of a storm that lasts about so long, in units: one more than a multiple of the kinds, so that the
    next storm is of another."""
    return -(-(round(seconds) - 1) // len(STORMS)) * len(STORMS) + 1
