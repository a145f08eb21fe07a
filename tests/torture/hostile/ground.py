"""A daemon with hostile providers and three good ones, and the checks that it stays unharmed."""

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
from connections import CONNECTIONS, HostileServer
from daemon import DEADLINE_S, ENDED, SLOWDOWN, Daemon, wait_until
from machine import Quiet
from mapped import MAPPED_ANSWERS, MAPPED_CONNECTIONS, OF_MAPPINGS
from provider import Provider, slow
from siege import BUSY_GROWTH_BYTES_MAX, GROWTH_BYTES_MAX, MEASURED, Gauge
from watch import Watch

HTTP_ANSWERS = ANSWERS + OF_MAPPINGS + MAPPED_ANSWERS
HTTP_CONNECTIONS = CONNECTIONS + MAPPED_CONNECTIONS
BEHAVIOURS = HTTP_ANSWERS + HTTP_CONNECTIONS + COMMANDS
GOOD_SERVICES = ("good", "fine", "demo")
ANSWER_BYTES = 1 << 20  # The most that one answer takes.
WARM_UP_JOBS = 20  # For each good service.
WARM_UP_BYTES = 900_000
# How long to wait for connections that celld should have closed, to measure how late it is.
RELEASE_S = 0.5 * SLOWDOWN
KINDS = {True: ("commands", "their processes"), False: ("HTTP attempts", "their connections")}


class GoodClient(threading.Thread):
    """Submits one job after another to a good service."""

    def __init__(self, bed, service):
        super().__init__(daemon=True)
        self.bed = bed
        self.service = service
        self.ending = threading.Event()
        self.jobs = []
        self.failure = None
        self.start()

    def run(self):
        client = self.bed.daemon.client()
        try:
            while not self.jobs or not self.ending.wait(0.05):
                job = self.bed.job(self.service, "good", 20000)
                answer = client.post("/v1/jobs", job, Prefer="wait=30").json
                self.jobs.append((answer.get("state"), answer.get("id"), answer.get("error")))
        except Exception as error:  # pylint: disable=broad-except
            self.failure = error
        client.close()

    def finish(self):
        """Stops, and returns what went wrong with its jobs, of which there is at least one."""
        self.ending.set()
        self.join(DEADLINE_S)
        name = f"the good service {self.service}"
        if self.is_alive():
            return [f"{name}: a job has not ended"]
        faults = [f"{name}: the client failed: {self.failure!r}"] if self.failure else []
        return faults + [f"{name}: job failed: {job}" for job in self.jobs if job[0] != "succeeded"]


class TestBed:
    """Each hostile behaviour is a service of its own, with one permit for its calls, in one cell
    with all the others; the good services have another cell."""

    def __init__(self, behaviours=BEHAVIOURS, environment=None):
        self.behaviours = list(behaviours)
        self.directory = tempfile.mkdtemp(prefix="celld-hostile-")
        self.provider = Provider()
        self.provider.always("/", slow(0.01))
        # Each has a server of its own, so that late data from one never reaches another.
        self.hostile_providers = {behaviour.name: Provider() for behaviour in self.behaviours
                                  if behaviour in HTTP_ANSWERS}
        self.hostile_servers = {behaviour.name: HostileServer() for behaviour in self.behaviours
                                if behaviour in HTTP_CONNECTIONS}
        self.ports = {server.port: name for name, server in
                      [*self.hostile_providers.items(), *self.hostile_servers.items()]}
        self.numbers = iter(range(1 << 62))
        self.quiet = Quiet()
        self.lateness = lateness.Lateness(self.quiet.explains)
        self.memory = self.grown = 0  # Bytes: the baseline, and the most above it.
        self.good_jobs = 0
        self.daemon = Daemon(self.config(), self.directory, environment=environment).start()
        self.client = self.daemon.client()
        self.descriptors = self.supervisor = None  # As warm_up() found them.

    def config(self):
        services = {"good": {"type": "http", "url": self.provider.url + "/"},
                    "fine": self.command("fine", "echo '{}'"),
                    "demo": {"type": "simulated", "latency_ms": {"min": 0, "max": 20}}}
        services |= {behaviour.name: {**self.service(behaviour), "limits": {"concurrency": 1}}
                     for behaviour in self.behaviours}
        return {"services": services, "shutdown_grace_ms": 2000,
                "cells": [{"customer": "hostile", "pool": {"size": 64}}, {"customer": "good"}]}

    def service(self, behaviour):
        if behaviour in COMMANDS:
            return self.command(behaviour.name, behaviour.act)
        server = (self.hostile_providers if behaviour in HTTP_ANSWERS else
                  self.hostile_servers)[behaviour.name]
        scheme = "https" if behaviour.tls else "http"
        service = {"type": "http", "url": f"{scheme}://127.0.0.1:{server.port}/"}
        return {**service, "mapping": behaviour.mapping} if behaviour.mapping else service

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

    def warm_up(self):
        """Calls each kind of service, fills celld's caches with large jobs, and notes the state of
        celld."""
        for service in GOOD_SERVICES * WARM_UP_JOBS:
            self.submit(service, "good", 60000, WARM_UP_BYTES)
        wait_until(lambda: not self.unfinished(), "good jobs end")
        wait_until(lambda: not leftovers.marked(self.directory), "their commands are gone")
        self.supervisor = wait_until(self.only_supervisor, "one process is left, the supervisor")
        self.client.get("/v1/jobs")  # The first reader opens files that stay open.
        self.descriptors = self.quiet_descriptors()
        self.note_memory()

    def unfinished(self):
        return sum(cell["queue"][state] for cell in self.client.get("/v1/cells").json["items"]
                   for state in ("queued", "retrying", "running"))

    def only_supervisor(self):
        found = leftovers.offspring(self.daemon.process.pid)
        return found if len(found) == 1 else None

    def note_memory(self):
        """Sets the baseline for growth."""
        gauge = Gauge(self.daemon.process.pid)
        gauge.end()
        self.memory, self.grown = gauge.peak, 0

    def quiet_descriptors(self):
        """The descriptors that are open without connections. celld keeps some connections to
        providers, and releases those that a provider has closed when it makes its next call."""
        job_id = self.submit("good", "good", 20000)
        wait_until(lambda: self.ended(job_id), "a good job ends")
        self.close_connections()
        time.sleep(0.1)
        return leftovers.descriptors(self.daemon.process.pid)

    def check_permits(self):
        """Calls each hostile service once more: its permit must have come back, whatever the calls
        before met. Returns what went wrong."""
        for behaviour in self.behaviours:
            self.prepare(behaviour, random.Random(behaviour.name))
        submitted = {behaviour.name: self.submit(behaviour.name, "hostile", behaviour.timeout_ms,
                                                 behaviour.parameter_bytes)
                     for behaviour in self.behaviours}

        def waiting():
            return [name for name, job_id in submitted.items() if not self.ended(job_id)]
        with contextlib.suppress(AssertionError):
            wait_until(lambda: not waiting(), "the jobs end")
        return [f"{name}: its job waits for a permit" for name in waiting()]

    # --- A round ----------------------------------------------------------------------------------

    def run_round(self, behaviours, seed):
        """Runs a job against each behaviour, all at once. Returns what went wrong, in words."""
        faults, found = self.run_jobs(behaviours, seed, GOOD_SERVICES)
        for behaviour, late_ms in found.items():
            def again(behaviour=behaviour):
                faults, found = self.run_jobs([behaviour], seed)
                return faults, found.get(behaviour, {})
            faults += [f"{behaviour.name}: {fault}"
                       for fault in self.lateness.judge(late_ms, again)]
        return faults

    def run_jobs(self, behaviours, seed, beside=()):
        """Returns what went wrong, and how late each attempt was."""
        for behaviour in behaviours:
            self.prepare(behaviour, random.Random(f"{seed} {behaviour.name}"))
        for provider in [self.provider, *self.hostile_providers.values()]:
            provider.calls.clear()
        gauge, watch = Gauge(self.daemon.process.pid), Watch(self.ports, self.directory)
        good_clients = [GoodClient(self, service) for service in beside]
        submitted = [(behaviour, self.submit(behaviour.name, "hostile", behaviour.timeout_ms,
                                             behaviour.parameter_bytes))
                     for behaviour in behaviours]
        jobs = {behaviour: self.end_of(job_id) for behaviour, job_id in submitted}
        faults = [f"{behaviour.name}: {fault}" for behaviour, job in jobs.items()
                  for fault in self.judge(behaviour, job)]
        jobs = {behaviour: job for behaviour, job in jobs.items() if job}
        for good_client in good_clients:
            faults += good_client.finish()
            self.good_jobs += len(good_client.jobs)
        gauge.end()
        faults += self.check_memory(gauge, len(jobs)) + self.check_processes()
        self.await_release(jobs)
        watch.end()
        return faults + self.check_descriptors(), {
            behaviour: self.late_ms(behaviour, job, watch) for behaviour, job in jobs.items()}

    def prepare(self, behaviour, rng):
        # An answer of an earlier round may have paused the service.
        self.client.request("POST", f"/v1/admin/services/{behaviour.name}/reset")
        if behaviour in HTTP_ANSWERS:
            self.hostile_providers[behaviour.name].always("/", behaviour.act(rng))
        elif behaviour in HTTP_CONNECTIONS:
            self.hostile_servers[behaviour.name].act = behaviour.act(rng)

    def submit(self, *what):
        """Bypasses the usual client, which checks every answer closely: here jobs are large and
        time matters."""
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
        """The ended job; None if it does not end."""
        with contextlib.suppress(AssertionError):
            return wait_until(lambda: self.ended(job_id), "the job ends")
        return None

    def judge(self, behaviour, job):
        if job is None:
            return ["its job has not ended"]
        fault = behaviour.fault(job)
        faults = [fault] if fault else []
        if behaviour in HTTP_ANSWERS:
            provider = self.hostile_providers[behaviour.name]
            calls, all_calls = len(provider.calls_of(job=job["id"])), len(provider.calls_of())
            faults += [f"{calls} calls for one attempt"] if calls > 1 else []
            faults += [f"{all_calls} calls with the polls"] * (all_calls > 1 + behaviour.polls_max)
        return faults

    def await_release(self, jobs):
        """Waits until celld has closed the connections of the calls that it gave up."""
        given_up = {behaviour.name for behaviour, job in jobs.items() if behaviour.given_up(job)}
        until = time.monotonic() + RELEASE_S
        while given_up & leftovers.connected(self.ports) and time.monotonic() < until:
            time.sleep(0.01)

    def late_ms(self, behaviour, job, watch):
        command = behaviour in COMMANDS
        held_at = watch.held_at.get(behaviour.name) if command or behaviour.given_up(job) else None
        return lateness.of_attempt(job["steps"][0], behaviour.timeout_ms, KINDS[command], held_at)

    def check_memory(self, gauge, met):
        """During the round, each job may have had one whole answer in memory."""
        grown, peak = gauge.memory() - self.memory, gauge.peak - self.memory
        self.grown = max(self.grown, grown)
        # A busy machine keeps more answers in memory at a time.
        beyond = max(grown, peak - met * ANSWER_BYTES)
        if MEASURED and (beyond > BUSY_GROWTH_BYTES_MAX or beyond > GROWTH_BYTES_MAX and
                         not self.quiet.explains("the memory of celld")):
            return [f"memory grew by {grown >> 20} MB, and by {peak >> 20} MB at its peak"]
        return []

    def check_processes(self):
        celld = self.daemon.process.pid

        def all_gone():
            return (leftovers.offspring(celld) - set(leftovers.escaped(self.directory))
                    <= self.supervisor and
                    set(leftovers.marked(self.directory)) <= set(leftovers.escaped(self.directory)))
        try:
            wait_until(all_gone, "all processes are reaped")
            return []
        except AssertionError:
            left = leftovers.offspring(celld) | set(leftovers.marked(self.directory))
            return [f"processes are left: {leftovers.describe(left)}"]
        finally:
            leftovers.kill(leftovers.escaped(self.directory))
            wait_until(lambda: not leftovers.marked(self.directory), "the servers are gone")

    def check_descriptors(self):
        left = None
        for _ in range(20):
            left = self.quiet_descriptors() - self.descriptors
            if not left:
                return []
        return [f"descriptors are left: {left}"]

    def close_connections(self):
        """Closes the test's own connection, and those that celld keeps to providers."""
        self.client.close()
        for server in self.servers():
            for connection in server.connections.copy():
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def servers(self):
        return [self.provider, *self.hostile_providers.values(), *self.hostile_servers.values()]

    def end(self):
        """Stops celld, which must exit with 0. Returns what went wrong over all rounds."""
        faults = self.lateness.faults()
        try:
            code = self.daemon.stop()
            if code != 0:
                faults.append(f"celld ended with {code}")
        except AssertionError as error:
            faults.append(str(error))
        return faults

    def close(self):
        self.daemon.kill_if_running()
        leftovers.kill(leftovers.marked(self.directory))
        for server in self.servers():
            server.close()
        shutil.rmtree(self.directory, ignore_errors=True)
