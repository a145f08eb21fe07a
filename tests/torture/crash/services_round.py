"""One data directory through several lives of a celld that calls limited and broken services."""

import asyncio
import json
import random
import signal
import time

import services_audit
from client import all_jobs, unended
from clients import replace
from daemon import SLOWDOWN, Daemon
from faults import Faults
from lives import Lives
from services_clients import BURST, CONCURRENCY, GRACE_MS, RATE_PER_S, Clients, Services

ATTEMPTS_MAX = 10  # Fewer than would fit into the time that "flaky" is down.
LIFE_S = (0.1, 0.6)
STOP_DEADLINE_S = 30.0 * SLOWDOWN
ALL_ENDED_DEADLINE_S = 120.0 * SLOWDOWN
HOWS = {"kill": 50, "kill, and again at the start": 10, "stop": 25, "stop, then kill": 15}
VARIANTS = 8  # Of the configuration.


class Round:
    """Call `begin` once, `cycle` any number of times, then `finish`; and `close` at the end,
    whatever happens."""

    def __init__(self, directory):
        self.directory = directory
        self.random = random.Random()
        self.provider = Services()
        self.lives = Lives()
        self.faults = Faults()
        self.server = self.daemon = self.clients = None
        self.figures = dict.fromkeys(("kills", "stops"), 0)

    def configuration(self, variant):
        """`variant`, 0 to 7: one bit moves the jobs of a customer into a cell of their own, one
        gives the service "two" a limit, and one sets how long a circuit stays open."""
        service = {"type": "http", "url": f"http://127.0.0.1:{self.provider.port}/", "undo": {},
                   "headers": {"X-Life": str(self.lives.number), "X-Variant": str(variant)}}
        limit_of_two = {"limits": {"concurrency": 2 * CONCURRENCY}} if variant >> 1 & 1 else {}
        return {
            "services": {"one": service, "two": {**service, **limit_of_two},
                         "limited": {**service, "limits": {"concurrency": CONCURRENCY}},
                         "rated": {**service, "limits": {"rate_per_s": RATE_PER_S,
                                                         "burst": BURST}},
                         "flaky": {**service, "circuit": {"failures": 2,
                                                          "open_ms": 100 + (variant >> 2) * 100}}},
            "defaults": {"pool": {"size": 6}, "timeout_ms": 30000,
                         "retry": {"max_attempts": ATTEMPTS_MAX, "backoff_ms": 10,
                                   "backoff_max_ms": 50}},
            "cells": [{"product": "flaky"}, {"product": "schedules"}, {"product": "rated"},
                      *[{"customer": "c1", "product": "dns"}] * (variant & 1), {}],
            "shutdown_grace_ms": GRACE_MS,
        }

    def configure(self, chance):
        """Writes one of the configurations."""
        replace(self.daemon.config_path,
                json.dumps(self.configuration(chance.randrange(VARIANTS))))

    async def begin(self):
        self.server = await self.provider.serve()
        self.daemon = Daemon(self.configuration(0), self.directory)
        self.clients = Clients(self.daemon, self.lives, self.provider, self.faults, self.configure)

    # One life.

    async def cycle(self, seed):
        """A life from start to end. The seed determines its end, and what the clients draw."""
        self.random, self.clients.random = random.Random(seed), random.Random(seed)
        how = self.random.choices(list(HOWS), HOWS.values())[0]
        await self.start()
        if not self.clients.tasks:
            await asyncio.wait_for(self.clients.begin(), ALL_ENDED_DEADLINE_S)
        await asyncio.sleep(self.random.uniform(*LIFE_S))
        await self.end_life(how)
        if how == "kill, and again at the start":
            self.new_life()
            self.daemon.spawn()
            await asyncio.sleep(self.random.uniform(0, 0.06))
            await self.end_life("kill")

    def new_life(self):
        self.lives.begin()
        self.configure(self.random)

    async def start(self):
        self.new_life()
        await asyncio.to_thread(self.daemon.start)
        self.clients.is_serving = True

    async def end_life(self, how):
        self.clients.is_serving = False
        stop = how.startswith("stop")
        self.lives.signalled(stop)
        self.daemon.signal(signal.SIGTERM if stop else signal.SIGKILL)
        if how == "stop, then kill":
            await asyncio.sleep(self.random.uniform(0, 0.2))
            await asyncio.to_thread(self.daemon.kill)
        else:
            await asyncio.to_thread(self.daemon.wait, STOP_DEADLINE_S)
        code = self.daemon.process.returncode
        self.lives.dead(killed=code != 0)
        expected = [*[0] * stop, *[-signal.SIGKILL] * (how != "stop")]
        self.faults.expect(code in expected, "celld exited with an unexpected code", how, code,
                           self.daemon.log())
        self.figures["kills" if code != 0 else "stops"] += 1

    async def finish(self):
        """A last life, in which all jobs end."""
        await self.start()
        schedules = await asyncio.wait_for(self.clients.end(), ALL_ENDED_DEADLINE_S)
        await self.wait_until_all_ended()
        jobs = await all_jobs(self.daemon)
        await self.end_life("stop")
        services_audit.Audit(self.faults, self.lives, self.provider, self.clients).whole(
            jobs, schedules)
        log = self.provider.log
        self.figures.update(reloads=self.clients.reloads, jobs=len(jobs), calls=len(log),
                            undos=sum(call.undo for call in log),
                            rated=sum(call.service == "rated" for call in log))

    async def wait_until_all_ended(self):
        give_up_at = time.monotonic() + ALL_ENDED_DEADLINE_S
        while await unended(self.daemon) > 0:
            if time.monotonic() > give_up_at:
                raise AssertionError(f"not within {ALL_ENDED_DEADLINE_S} s: every job has ended")
            await asyncio.sleep(0.05)

    def close(self):
        """Leaves no process behind."""
        for task in self.clients.tasks if self.clients is not None else ():
            task.cancel()
        if self.daemon is not None:
            self.daemon.kill_if_running()
        if self.server is not None:
            self.server.close()
