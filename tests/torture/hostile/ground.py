"""A daemon whose providers are all hostile but for three, and what may not happen to these."""

import contextlib
import json
import os
import random
import shutil
import socket
import stat
import tempfile
import threading
import time

import lateness
import leftovers
from answers import ANSWERS
from commands import COMMANDS
from connections import CONNECTIONS, Ambush
from daemon import DEADLINE_S, ENDED, SLOWDOWN, Daemon, wait_until
from machine import Quiet
from provider import Provider, slow
from siege import GROWTH_BYTES_MAX, MEASURED, Gauge
from watch import Watch

HOSTILITIES = ANSWERS + CONNECTIONS + COMMANDS
GOOD_SERVICES = ("good", "fine", "demo")
ANSWER_BYTES = 1 << 20  # Of one answer, at most.
WARM_UP_JOBS = 20  # Of each good service.
WARM_UP_BYTES = 900_000
# How long what celld should have let go of is waited for, to say how late it is.
RELEASE_S = 0.5 * SLOWDOWN
KINDS = {True: ("commands", "their processes"), False: ("HTTP attempts", "their connections")}


class Neighbour(threading.Thread):
    """Has one job after the other done by a good service."""

    def __init__(self, ground, service):
        super().__init__(daemon=True)
        self.ground = ground
        self.service = service
        self.ending = threading.Event()
        self.jobs = []
        self.start()

    def run(self):
        client = self.ground.daemon.client()
        while not self.ending.wait(0.05):
            job = self.ground.job(self.service, "good", 20000)
            answer = client.post("/v1/jobs", job, Prefer="wait=30").json
            self.jobs.append((answer.get("state"), answer.get("id"), answer.get("error")))
        client.close()

    def leave(self):
        """What harm its jobs came to."""
        self.ending.set()
        self.join(DEADLINE_S)
        if self.is_alive():
            return [f"the good service {self.service}: a job does not end"]
        return [f"the good service {self.service}: harm came to {job}" for job in self.jobs
                if job[0] != "succeeded"]


class Ground:
    """Each hostility is a service of its own, in one cell with all the others; the good services
    have another."""

    def __init__(self, hostilities=HOSTILITIES):
        self.hostilities = list(hostilities)
        self.directory = tempfile.mkdtemp(prefix="celld-hostile-")
        self.provider = Provider()
        self.provider.always("/", slow(0.01))
        # Each has a server of its own: what one says too late, no other must hear.
        self.hostile_providers = {hostility.name: Provider() for hostility in self.hostilities
                                  if hostility in ANSWERS}
        self.ambushes = {hostility.name: Ambush() for hostility in self.hostilities
                         if hostility in CONNECTIONS}
        self.ports = {server.port: name for name, server in
                      [*self.hostile_providers.items(), *self.ambushes.items()]}
        self.numbers = iter(range(1 << 62))
        self.lateness = lateness.Lateness(Quiet().explains)
        self.memory = self.grown = 0  # Bytes: before, and more than that, at most.
        self.good_jobs = 0
        self.daemon = Daemon(self.config(), self.directory).start()
        self.client = self.daemon.client()
        self.descriptors = self.supervisor = None  # As settle() found them.

    def config(self):
        services = {"good": {"type": "http", "url": self.provider.url + "/"},
                    "fine": self.command("fine", "echo '{}'"),
                    "demo": {"type": "simulated", "latency_ms": {"min": 0, "max": 20}}}
        services |= {hostility.name: self.service(hostility) for hostility in self.hostilities}
        return {"services": services, "shutdown_grace_ms": 2000,
                "cells": [{"customer": "hostile", "pool": {"size": 64}}, {"customer": "good"}]}

    def service(self, hostility):
        if hostility in COMMANDS:
            return self.command(hostility.name, hostility.act)
        if hostility in ANSWERS:
            return {"type": "http", "url": self.hostile_providers[hostility.name].url + "/"}
        scheme, port = "https" if hostility.tls else "http", self.ambushes[hostility.name].port
        return {"type": "http", "url": f"{scheme}://127.0.0.1:{port}/"}

    def command(self, name, script):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(path, stat.S_IRWXU)
        return {"type": "command", "argv": [path], "env": {leftovers.MARK: path}}

    def job(self, service, customer, timeout_ms, parameter_bytes=0):
        return {"customer": customer, "product": "any", "action": "create",
                "entity": {"type": "zone", "id": f"e-{next(self.numbers)}"},
                "services": [service], "parameters": {"text": "x" * parameter_bytes},
                "timeout_ms": timeout_ms, "retry": {"max_attempts": 1}}

    def settle(self):
        """Notes what celld is like that has called each kind of service, and has as much in its
        caches as large jobs bring there."""
        for service in GOOD_SERVICES * WARM_UP_JOBS:
            self.submit(service, "good", 60000, WARM_UP_BYTES)
        wait_until(lambda: not self.unfinished(), "good jobs end")
        wait_until(lambda: not leftovers.marked(self.directory), "their commands have gone")
        self.supervisor = wait_until(self.only_supervisor, "one process is left, the supervisor")
        self.client.get("/v1/jobs")  # What is opened for the first reader stays open.
        self.descriptors = self.quiet_descriptors()
        self.note_memory()

    def unfinished(self):
        return sum(cell["queue"][state] for cell in self.client.get("/v1/cells").json["items"]
                   for state in ("queued", "retrying", "running"))

    def only_supervisor(self):
        found = leftovers.offspring(self.daemon.process.pid)
        return found if len(found) == 1 else None

    def note_memory(self):
        """Growth counts from here on."""
        gauge = Gauge(self.daemon.process.pid)
        gauge.end()
        self.memory, self.grown = gauge.peak, 0

    def quiet_descriptors(self):
        """Those that are left when nobody has a connection. celld keeps some to providers, and
        lets go of what these have closed when it makes its next call."""
        job_id = self.submit("good", "good", 20000)
        wait_until(lambda: self.ended(job_id), "a good job ends")
        self.hang_up()
        time.sleep(0.1)
        return leftovers.descriptors(self.daemon.process.pid)

    # --- A meeting --------------------------------------------------------------------------------

    def meet(self, hostilities, seed):
        """A job meets each of them, all at once. Returns what went wrong, in words."""
        faults, found = self.encounter(hostilities, seed, GOOD_SERVICES)
        for hostility, late_ms in found.items():
            def again(hostility=hostility):
                faults, found = self.encounter([hostility], seed)
                return faults, found.get(hostility, {})
            faults += [f"{hostility.name}: {fault}"
                       for fault in self.lateness.judge(late_ms, again)]
        return faults

    def encounter(self, hostilities, seed, beside=()):
        """Returns what went wrong, and by how much each attempt was late."""
        for hostility in hostilities:
            self.prepare(hostility, random.Random(f"{seed} {hostility.name}"))
        for provider in [self.provider, *self.hostile_providers.values()]:
            provider.calls.clear()
        gauge, watch = Gauge(self.daemon.process.pid), Watch(self.ports, self.directory)
        neighbours = [Neighbour(self, service) for service in beside]
        submitted = [(hostility, self.submit(hostility.name, "hostile", hostility.timeout_ms,
                                             hostility.parameter_bytes))
                     for hostility in hostilities]
        jobs = {hostility: self.end_of(job_id) for hostility, job_id in submitted}
        faults = [f"{hostility.name}: {fault}" for hostility, job in jobs.items()
                  for fault in self.judge(hostility, job)]
        jobs = {hostility: job for hostility, job in jobs.items() if job}
        for neighbour in neighbours:
            faults += neighbour.leave()
            self.good_jobs += len(neighbour.jobs)
        gauge.end()
        faults += self.judge_memory(gauge, len(jobs)) + self.judge_processes()
        self.await_release(jobs)
        watch.end()
        return faults + self.judge_descriptors(), {
            hostility: self.late_ms(hostility, job, watch) for hostility, job in jobs.items()}

    def prepare(self, hostility, rng):
        if hostility in ANSWERS:
            self.hostile_providers[hostility.name].always("/", hostility.act(rng))
        elif hostility in CONNECTIONS:
            self.ambushes[hostility.name].act = hostility.act(rng)

    def submit(self, *what):
        """Not through the test's usual client: that looks closely at all that it gets, and here
        jobs are large and clocks run."""
        connection = self.client.connection
        connection.request("POST", "/v1/jobs", json.dumps(self.job(*what)),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 202, answer.status
        return answer.headers["Location"].rpartition("/")[2]

    def ended(self, job_id):
        job = self.client.get(f"/v1/jobs/{job_id}").json
        return job if job["state"] in ENDED else None

    def end_of(self, job_id):
        """The job as it ended; None when it does not."""
        with contextlib.suppress(AssertionError):
            return wait_until(lambda: self.ended(job_id), "the job ends")
        return None

    def judge(self, hostility, job):
        if job is None:
            return ["its job does not end"]
        fault = hostility.fault(job)
        faults = [fault] if fault else []
        if hostility in ANSWERS:
            calls = len(self.hostile_providers[hostility.name].calls_of(job=job["id"]))
            faults += [f"{calls} calls for one attempt"] if calls > 1 else []
        return faults

    def await_release(self, jobs):
        """celld hangs up on whom it has given up."""
        given_up = {hostility.name for hostility, job in jobs.items() if hostility.given_up(job)}
        until = time.monotonic() + RELEASE_S
        while given_up & leftovers.connected(self.ports) and time.monotonic() < until:
            time.sleep(0.01)

    def late_ms(self, hostility, job, watch):
        command = hostility in COMMANDS
        held_at = watch.held_at.get(hostility.name) if command or hostility.given_up(job) else None
        return lateness.of_attempt(job["steps"][0], hostility.timeout_ms, KINDS[command], held_at)

    def judge_memory(self, gauge, met):
        """Meanwhile each of them may have had one whole answer in memory."""
        grown, peak = gauge.memory() - self.memory, gauge.peak - self.memory
        self.grown = max(self.grown, grown)
        if MEASURED and (grown > GROWTH_BYTES_MAX or peak > GROWTH_BYTES_MAX + met * ANSWER_BYTES):
            return [f"memory grew by {grown >> 20} MB, and by {peak >> 20} MB meanwhile"]
        return []

    def judge_processes(self):
        celld = self.daemon.process.pid

        def all_gone():
            return (leftovers.offspring(celld) - set(leftovers.escaped(self.directory))
                    <= self.supervisor and
                    set(leftovers.marked(self.directory)) <= set(leftovers.escaped(self.directory)))
        try:
            wait_until(all_gone, "all are reaped")
            return []
        except AssertionError:
            left = leftovers.offspring(celld) | set(leftovers.marked(self.directory))
            return [f"processes are left: {leftovers.describe(left)}"]
        finally:
            leftovers.kill(leftovers.escaped(self.directory))
            wait_until(lambda: not leftovers.marked(self.directory), "the servers have gone")

    def judge_descriptors(self):
        left = None
        for _ in range(20):
            left = self.quiet_descriptors() - self.descriptors
            if not left:
                return []
        return [f"descriptors are left: {left}"]

    def hang_up(self):
        """Ends the test's own connection, and those that celld keeps to providers."""
        self.client.close()
        for server in self.servers():
            for connection in server.connections.copy():
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def servers(self):
        return [self.provider, *self.hostile_providers.values(), *self.ambushes.values()]

    def end(self):
        """What went wrong over all of it. celld has to stop in order."""
        faults = self.lateness.faults()
        try:
            code = self.daemon.stop()
            if code != 0:
                faults.append(f"celld ended with {code}")
        except AssertionError as error:
            faults.append(str(error))
        return faults

    def close(self):
        if self.daemon.running():
            self.daemon.kill()
        leftovers.kill(leftovers.marked(self.directory))
        for server in self.servers():
            server.close()
        shutil.rmtree(self.directory, ignore_errors=True)
