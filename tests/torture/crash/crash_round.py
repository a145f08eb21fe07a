"""One data directory through several lives of celld, until all jobs have ended. An audit follows
each start, and a more thorough one the end.
"""

import asyncio
import contextlib
import json
import os
import random
import signal
import time
import uuid

import audit
import commands
import journal
from client import BROKEN, Connection, all_jobs, unended
from clients import FIXED_CELLS, SETTLE_MS, Clients, replace
from daemon import DEADLINE_S, SLOWDOWN, Daemon
from leases import SERVICE
from recording_provider import Provider

ALL_ENDED_DEADLINE_S = 240.0 * SLOWDOWN
STOP_DEADLINE_S = 30.0 * SLOWDOWN
LONG_LIFE = 25  # One life in this many is long, so that clients see many results in it.
LONG_LIFE_S = 2.0
FEW_RECENT_JOBS = {"recent_jobs": 100}  # So that celld writes its indexes behind all the time.
BUDGET_OF_LONG_LIFE = 1000
HOWS = {"kill": 50, "kill, and again at the start": 15, "kill with its supervisor": 10, "stop": 15,
        "stop, then kill": 10}


class Round:
    """Call `begin` once, `cycle` any number of times, then `finish`; and `close` at the end,
    whatever happens."""

    def __init__(self, directory):
        self.directory = directory
        self.run = uuid.uuid4().hex
        self.life = 0
        self.journal = journal.Journal(os.path.join(directory, "journal"))
        self.faults = self.journal.ledger.faults
        self.provider = Provider()
        self.server = self.daemon = self.clients = None
        self.figures = dict.fromkeys(("kills", "stops", "jobs", "calls"), 0)

    async def begin(self):
        commands.install(self.directory)
        self.server = await self.provider.serve()
        self.daemon = Daemon(self.configuration(0), self.directory)
        self.clients = Clients(self.daemon, self.journal, self.configuration)

    def configuration(self, variant):
        """`variant`, 0 to 7: two bits add cells to the fixed ones, one sets the backoff. A
        reload from one variant to another moves jobs between cells."""
        url = f"http://127.0.0.1:{self.provider.port}/"
        life = {"X-Life": str(self.life)}
        cells = [{"customer": name[:-2], "pool": {"size": size}}
                 for name, size in FIXED_CELLS.items()]
        cells += [{"customer": "c4"}] * (variant & 1)
        cells += [{"customer": "c5", "product": "dns"}] * (variant >> 1 & 1)
        return {
            "store": FEW_RECENT_JOBS,
            "services": {"one": {"type": "http", "url": url + "one", "headers": life},
                         "two": {"type": "http", "url": url + "two", "headers": life,
                                 "settle_ms": SETTLE_MS["two"]},
                         "tool": commands.service(self.directory, self.run, self.life),
                         SERVICE: {"type": "pull"}},
            "defaults": {"pool": {"size": 4}, "timeout_ms": 60000,
                         "retry": {"max_attempts": 5, "backoff_ms": 10 + (variant >> 2) * 10,
                                   "backoff_max_ms": 50}},
            "cells": [*cells, {}],
            "shutdown_grace_ms": int(150 * SLOWDOWN),
        }

    # One life.

    async def cycle(self, seed):
        """A life from start to end, determined by the seed."""
        chance = random.Random(seed)
        how = chance.choices(list(HOWS), HOWS.values())[0]
        await self.start(chance.randrange(8))
        await self.audit_state()
        if seed % LONG_LIFE == 5:
            self.clients.begin(random.Random(seed), BUDGET_OF_LONG_LIFE)
            await asyncio.sleep(LONG_LIFE_S)
        else:
            self.clients.begin(chance, chance.randint(20, 120))
        await self.signal_at_a_random_moment(chance, how)
        await self.wait_for_death(how, chance)
        await self.clients.end()
        if how == "kill, and again at the start":
            await self.kill_while_starting(chance)

    def new_life(self, variant):
        self.life += 1
        self.daemon.environment = {"CRASH_RUN": self.run, "CRASH_LIFE": str(self.life)}
        replace(self.daemon.config_path, json.dumps(self.configuration(variant)))
        self.journal.note("began", life=self.life, wall_ahead_s=audit.wall_ahead_s())

    async def start(self, variant):
        self.new_life(variant)
        await asyncio.to_thread(self.daemon.start)
        audit.audit_processes(self.journal.ledger, audit.processes_of(self.run), self.life)

    async def signal_at_a_random_moment(self, chance, how):
        """During the load; often just after a request was sent or answered."""
        sent = asyncio.Event()

        def send():
            if sent.is_set():
                return
            sent.set()
            supervisors = self.supervisors() if how == "kill with its supervisor" else []
            self.journal.note("signalled", how=how.split()[0].rstrip(","))
            self.daemon.signal(signal.SIGTERM if how.startswith("stop") else signal.SIGKILL)
            for pid in supervisors:
                os.kill(pid, signal.SIGKILL)

        def after(count):
            left = iter(range(count))

            def one_more():
                if next(left, None) is None:
                    send()
            return one_more
        count = chance.randint(1, 150)
        kind = chance.choice(("sent", "answered", "time"))
        self.clients.on_sent = after(count) if kind == "sent" else lambda: None
        self.clients.on_answered = after(count) if kind == "answered" else lambda: None
        latest = asyncio.get_running_loop().call_later(chance.uniform(0.01, 0.4), send)
        await sent.wait()
        latest.cancel()

    async def wait_for_death(self, how, chance):
        if how == "stop, then kill":
            await asyncio.sleep(chance.uniform(0, 0.2))
            self.journal.note("signalled", how="kill")
            self.daemon.signal(signal.SIGKILL)
        if how == "stop":
            await asyncio.to_thread(self.daemon.wait, STOP_DEADLINE_S)
            self.died("stop", 0)
            audit.audit_processes(self.journal.ledger, audit.processes_of(self.run), self.life + 1)
        else:
            await asyncio.to_thread(self.daemon.kill)
            self.died("kill", -signal.SIGKILL, *([0] if how == "stop, then kill" else []))
        if how == "kill with its supervisor":
            await self.end_children_of_commands()

    def supervisors(self):
        """Usually one; none before celld has started a command."""
        return [pid for pid, _, arguments in audit.processes_of(self.run)
                if "supervise-commands" in arguments]

    async def end_children_of_commands(self):
        """When both celld and its supervisor are killed, the kernel ends the commands, but not the
        children of commands."""
        give_up_at = time.monotonic() + DEADLINE_S
        while left := audit.processes_of(self.run):
            if not any(commands.is_command(arguments) for _, _, arguments in left):
                for pid, _, _ in left:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            elif time.monotonic() > give_up_at:
                return  # The audit of the next life reports it.
            await asyncio.sleep(0.005)

    def died(self, how, *codes):
        """Notes the death. Any exit code but these is a fault."""
        self.journal.note("died", how=how)
        self.journal.note("interrupted", jobs=audit.read_interrupted(self.database()))
        self.figures["stops" if how == "stop" else "kills"] += 1
        code = self.daemon.process.returncode
        self.faults.expect(code in codes, "celld exited with an unexpected code", how, code,
                           self.daemon.log())

    async def kill_while_starting(self, chance):
        self.new_life(chance.randrange(8))
        self.daemon.spawn()
        await asyncio.sleep(chance.uniform(0, 0.06))
        self.journal.note("signalled", how="kill")
        await asyncio.to_thread(self.daemon.kill)
        self.died("kill", -signal.SIGKILL)

    # Audits.

    async def audit_state(self, whole=False):
        """To be called while no client sends requests."""
        ledger = self.journal.ledger
        jobs = await all_jobs(self.daemon)
        for job in jobs.values():
            self.journal.note("saw", job=job)
        ledger.check_state(jobs)
        audit.audit_database(ledger, self.database(), jobs, whole)
        await self.audit_sizes()
        return jobs

    def database(self):
        return os.path.join(self.daemon.data, "celld.db")

    async def audit_sizes(self):
        sizes = await self.pool_sizes()
        audit.audit_sizes(self.journal.ledger, sizes, FIXED_CELLS, time.monotonic())
        for cell, size in sizes.items():
            self.journal.note("size", cell=cell, size=size)

    async def pool_sizes(self):
        connection = Connection(self.daemon)
        status, page = await connection.request("GET", "/v1/cells?limit=1000")
        connection.close()
        assert status == 200, page
        sizes = {f"{cell['customer']}/{cell['product']}": cell["pool"]["target"]
                 for cell in page["items"]}
        return {name: sizes[name] for name in FIXED_CELLS}

    async def finish(self):
        """A last life, in which all jobs end."""
        await self.start(0)
        await self.audit_state()
        await self.clients.submit_open()
        worker = asyncio.create_task(self.clients.work(Connection(self.daemon)))
        await self.wait_until_all_ended()
        worker.cancel()
        jobs = await self.audit_state(whole=True)
        self.journal.note("signalled", how="stop")
        self.daemon.signal(signal.SIGTERM)
        await self.wait_for_death("stop", random)
        # The journal's file must hold the same as the ledger in memory.
        ledger = journal.read(self.journal.file.name)
        ledger.check_state(jobs)
        ledger.check_ends(jobs)
        calls = self.provider.log + commands.read_log(ledger.faults, self.directory)
        audit.audit_calls(ledger, calls, FIXED_CELLS)
        ledger.faults.add(self.clients.leases.audit(jobs))
        self.faults.add(ledger.faults)
        self.figures.update(self.clients.figures, jobs=len(jobs), calls=len(calls))

    async def wait_until_all_ended(self):
        give_up_at = time.monotonic() + ALL_ENDED_DEADLINE_S
        while await self.still_unfinished() > 0:
            if time.monotonic() > give_up_at:
                raise AssertionError(f"not within {ALL_ENDED_DEADLINE_S} s: every job has ended")
            await asyncio.sleep(0.02)

    async def still_unfinished(self):
        try:
            return await unended(self.daemon)
        except BROKEN:
            if not self.daemon.running():
                raise
            return 1

    def close(self):
        """Leaves no process behind."""
        if self.daemon is not None:
            self.daemon.kill_if_running()
        if self.server is not None:
            self.server.close()
        self.journal.close()
