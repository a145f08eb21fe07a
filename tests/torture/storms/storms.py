"""The storms: resizes, reloads of which half are invalid, and an overload of ten times capacity."""

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
ADMINISTRATORS = 4  # A single one would be limited by the disk.
RESIZES_MIN = 0.9
RELOADS_PER_S = 50
OVERLOAD = 10
OVERLOAD_MIN = 9
# An administrator catches up on at most this delay.
BEHIND_S = 1.0
# The longest time from an administrator's answer until the dispatcher applies it, and the greatest
# difference between the two clocks.
ON_THE_WAY_S = 0.1 * SLOWDOWN
# How long the overload is repeated after the storm.
CROWD_S = 2.0
ACCEPTED_MIN = 0.8
# During the storm celld reserves no place for retries and must refuse nine requests of ten. But a
# retry must have at least this fraction of the chance that all requests have.
CHANCE_MIN = 0.5
SAMPLE = 30  # One in this many refused clients retries.


def share(pool, jobs_max, **changes):
    return cell(pool={"size": pool}, queue={"max_jobs": jobs_max}, **changes)


class Storm(Field):
    """`number` seeds the random choices."""

    name = what = None

    def __init__(self, number, **client):
        super().__init__(**client)
        self.random = random.Random(f"{self.name} {number}")

    async def whole(self, seconds):
        """Returns the faults."""
        await self.fill()
        await self.run_storm(seconds, self.disturb)
        await self.calm_down()
        await self.aftermath()
        await self.end()
        self.judged = self.judge_measured()
        return self.faults

    async def disturb(self):
        """The storm itself. Must restore the initial state before it returns."""
        raise NotImplementedError

    async def aftermath(self):
        """Further checks after the storm."""

    async def every(self, per_second, act):
        """Calls `act` at this rate, or as fast as celld answers."""
        due = time.monotonic()
        while self.active:
            await act()
            due = max(due + 1 / per_second, time.monotonic() - BEHIND_S)
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    def report(self):
        refused = self.load.statuses[429] + self.load.statuses[503]
        part = self.stormy / max(1, self.peak)
        return (f"{self.what}; {self.peak:.0f} jobs/s before, {self.stormy:.0f} jobs/s in it "
                f"({100 * part:.0f} %), {100 * self.use:.0f} % of the workers' time used, "
                f"longest gap {self.gap_s:.2f} s; {len(self.load.accepted)} jobs accepted, "
                f"{refused} refused (Retry-After: {self.waits}); recovered in {self.normal_s} s, "
                f"memory +{self.grown / (1 << 20):.1f} MB")


class Administrator:
    """A client with its own connection, called from another thread."""

    def __init__(self, daemon):
        self.client = daemon.client()

    async def ask(self, method, path, body=None):
        return await asyncio.to_thread(self.client.request, method, path, body)


class Resizes(Storm):
    """The pool's size follows a sine wave around its normal size, and one resize in twenty shrinks
    it to a random smaller size."""

    name = "resize"

    async def disturb(self):
        self.resizes = [(0.0, 0.0, POOL)]  # (sent at, answered at, size), by the wall clock.
        administrators = [Administrator(self.daemon) for _ in range(ADMINISTRATORS)]
        await asyncio.gather(*(self.keep_resizing(place, administrator)
                               for place, administrator in enumerate(administrators)))
        per_s = (len(self.resizes) - 1) / (self.ended_at - self.began_at)
        self.what = f"{per_s:.0f} resizes/s"
        self.expect_measured(per_s >= RESIZES_MIN * RESIZES_PER_S, f"too weak a storm: {self.what}")
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
        """When a job starts, the running jobs must not exceed every size that may be in force."""
        for (at, running), sizes in in_force(self.resizes, beginnings(jobs), ON_THE_WAY_S):
            self.expect(running <= max(sizes),
                        f"a pool's size was exceeded: {running} ran at {at}, sizes were {sizes}")


class Reloads(Storm):
    """Every other configuration is invalid. A third of the jobs is for a cell that appears and
    disappears."""

    name = "reload"

    def __init__(self, number):
        super().__init__(number, product_of=lambda i: "own" if i % 3 == 0 else "any")

    async def disturb(self):
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
            cells.append({"customer": "other", "pool": {"size": self.random.randint(1, 9)}})
        changed = config(*cells)
        changed["services"][f"spare-{self.random.randint(1, 3)}"] = {"type": "simulated"}
        return changed

    def invalid(self):
        """Each of the faults alone would break the load if it took effect."""
        wrong = config(cell(pool={"size": 0}))
        wrong["cells"] += self.random.choice(([cell()], [{"customer": "../etc"}], [{"per": []}]))
        wrong["services"] = {"other": {"type": "simulated"}}
        return wrong

    def audit(self, jobs):
        """While a cell appears or disappears, its jobs may run alongside the other's full pool."""
        most = max(running for _, running in beginnings(jobs))
        self.expect(most <= POOL + POOL // 3,
                    f"the pools' sizes were exceeded: {most} jobs ran at once")


class Overload(Storm):
    """Ten times as many submissions as celld can run."""

    name = "overload"

    async def disturb(self):
        """Some of the refused clients retry when Retry-After says."""
        self.patience = Patience(self.daemon)
        await self.patience.open()
        taken, sent = self.load.statuses[202], self.load.sent
        self.load.refused = self.sample
        self.load.rate = OVERLOAD * CAPACITY_PER_S
        while self.active:
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
        self.what = f"{factor:.1f} times capacity"
        self.expect_measured(factor >= OVERLOAD_MIN, f"too weak a storm: {self.what}")
        share_of_retries = self.patience.accepted_share
        self.expect_measured(share_of_retries >= CHANCE_MIN * self.chance,
                             f"in the storm, {100 * share_of_retries:.1f} % of retries and "
                             f"{100 * self.chance:.1f} % of all submissions were accepted")
        self.what += (f", {self.patience} in it ({100 * share_of_retries:.1f} %; of all "
                      f"submissions {100 * self.chance:.1f} %)")

    async def crowd(self):
        """Repeats the overload. Then only the clients that were refused last, as many as the queue
        has room for, retry when Retry-After says."""
        crowd = Patience(self.daemon, JOBS_MAX)
        await crowd.open()
        self.load.refused = crowd.refused
        self.load.rate = OVERLOAD * CAPACITY_PER_S
        await asyncio.sleep(CROWD_S)
        await self.load.quiet()
        await crowd.all_retried()
        await self.wait_until_all_ended()
        await self.leave(crowd)
        self.expect_measured(crowd.accepted_share >= ACCEPTED_MIN,
                             f"only {crowd} after a storm, each sent when Retry-After said")
        self.what += f" and {crowd} after it"

    async def leave(self, patience):
        await patience.close()
        self.load.accepted += patience.submitter.accepted
        self.load.unexpected += patience.submitter.unexpected

    def audit(self, jobs):
        takes_s = JOBS_MAX / max(1, self.stormy)
        self.expect_measured(not too_long(self.waits, takes_s),
                             f"the queue empties in {takes_s:.1f} s, but clients received these "
                             f"values of Retry-After this often: {too_long(self.waits, takes_s)}")


STORMS = (Resizes, Reloads, Overload)


def length(seconds):
    """The length of a storm of about this many seconds, in units: one more than a multiple of the
    number of kinds, so that the next storm is of another kind."""
    return -(-(round(seconds) - 1) // len(STORMS)) * len(STORMS) + 1
