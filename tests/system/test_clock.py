"""The wall clock jumps, or celld is suspended: timeouts stay, due times follow the wall clock (P10).

A preloaded library gives celld a wall clock of its own, which the tests set; the steady clock is the
machine's. So celld sees what it would see after `date -s`, after a step of NTP, and after the
machine has slept, during which the steady clock stands still.
"""

import datetime
import glob
import os
import signal
import stat
import struct
import threading
import time
import unittest

from daemon import EndToEnd, a_config, a_job, stays, wait_until
from provider import Gate, answer, hang, held, reset, slow, succeed

SHIM = os.path.join(os.path.dirname(os.environ["CELLD_BINARY"]), "celld_clock_shim.so")
HOUR_S = 3600
NIGHT_S = 8 * HOUR_S
JUMPS_S = (HOUR_S, -30 * 24 * HOUR_S, 0)
LATE_S = 0.1
# celld looks at the wall clock at least this often while it waits for a time of day.
NOTICED_S = 1.0


class ShiftedClock(EndToEnd):
    def setUp(self):
        super().setUp()
        if os.environ.get("CELLD_SANITIZE"):
            self.skipTest("a sanitizer's library must be the first that is preloaded")
        self.offset_path = os.path.join(self.directory, "offset")
        self.jump_to(0)
        self.variables = {"LD_PRELOAD": SHIM, "CLOCK_OFFSET_FILE": self.offset_path}

    def jump_to(self, seconds):
        """Sets celld's wall clock this far from the machine's."""
        self.offset_s = seconds
        file = os.open(self.offset_path, os.O_WRONLY | os.O_CREAT)
        os.pwrite(file, struct.pack("q", int(seconds * 1e9)), 0)
        os.close(file)

    def start(self, config=None, **changes):
        """Also checks that the clock of celld is the test's."""
        client = super().start(config, **changes)
        self.jump_to(-10 * HOUR_S)
        created_at = self.job(self.submit(a_job("clock", services=["billing"])))["created_at"]
        self.assertLess(created_at, self.celld_time(60))
        self.assertGreater(created_at, self.celld_time(-60))
        self.jump_to(0)
        return client

    def celld_time(self, seconds_from_now):
        """A time by the clock of celld."""
        at = (datetime.datetime.now(datetime.timezone.utc) +
              datetime.timedelta(seconds=self.offset_s + seconds_from_now))
        return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"


class Jumps(ShiftedClock):
    def test_a_jump_of_the_clock_ends_no_attempt_early_or_late(self):
        self.start()
        self.provider.rules["/dns"] = lambda call: (
            hang() if call.body["entity"]["id"].startswith("hangs") else slow(0.8))
        for number, jump_s in enumerate(JUMPS_S):
            with self.subTest(jump_s=jump_s):
                hanging = self.submit(a_job(f"hangs-{number}", timeout_ms=600,
                                            retry={"max_attempts": 1}))
                slower = self.submit(a_job(f"slow-{number}", timeout_ms=1600))
                wait_until(lambda: all(self.provider.calls_of(job=job) for job in (hanging, slower)),
                           "both jobs have begun")
                self.jump_to(jump_s)
                ended = self.wait_for_end(slower)
                self.assertEqual((ended["state"], ended["attempt"]), ("succeeded", 1))
                self.assertEqual(self.wait_for_end(hanging)["error"]["code"], "timeout")
                [call] = self.provider.calls_of(job=hanging)
                self.assertGreater(call.ended_at - call.started_at, 0.5)
                self.assert_in_time("the attempt", call.ended_at - call.started_at, 0.6 + LATE_S)

    def test_a_jump_of_the_clock_ends_no_request_early_or_late(self):
        self.start()
        for jump_s in JUMPS_S:
            with self.subTest(jump_s=jump_s):
                began = time.monotonic()
                jump = threading.Timer(0.3, self.jump_to, (jump_s,))
                jump.start()
                answer_ = self.client.post("/v1/jobs", a_job("later", run_at=self.celld_time(1e8)),
                                           Prefer="wait=1")
                jump.join()
                self.assertEqual((answer_.status, answer_.json["state"]), (202, "scheduled"))
                self.assertGreater(time.monotonic() - began, 0.99)
                self.assert_in_time("the answer", time.monotonic() - began, 1 + 2 * LATE_S)

    def test_due_times_follow_the_wall_clock(self):
        self.start()
        job = self.submit(a_job(run_at=self.celld_time(HOUR_S)))
        self.jump_to(-HOUR_S)
        stays(lambda: self.job(job)["state"] == "scheduled", "the job is not due yet")
        self.jump_to(HOUR_S - 10)
        stays(lambda: self.job(job)["state"] == "scheduled", "the job is not due yet",
              NOTICED_S + 0.2)
        self.jump_to(HOUR_S)
        began = time.monotonic()
        self.assertEqual(self.wait_for_end(job)["state"], "succeeded")
        self.assert_in_time("the start", time.monotonic() - began, NOTICED_S + 0.5)

    def test_a_wait_for_the_next_attempt_is_a_time_of_day(self):
        self.start(defaults={"retry": {"backoff_ms": 1, "backoff_max_ms": 60000}})
        self.provider.on("/dns", [answer(503, headers=["Retry-After: 600"]), succeed()])
        job = self.submit(a_job())
        self.wait_for_state(job, "retrying")
        self.jump_to(-HOUR_S)
        stays(lambda: self.job(job)["state"] == "retrying", "the wait is not over", NOTICED_S + 0.2)
        self.jump_to(600)
        self.assertEqual(self.wait_for_end(job)["state"], "succeeded")

    def test_a_jump_beyond_expires_at_ends_jobs_that_wait_and_that_run(self):
        self.start(defaults={"pool": {"size": 1}, "timeout_ms": 20000})
        self.provider.hold("/dns")
        jobs = [self.submit(a_job(name, expires_at=self.celld_time(HOUR_S)))
                for name in ("runs", "waits")]
        jobs.append(self.submit(a_job("scheduled", run_at=self.celld_time(2 * HOUR_S),
                                      expires_at=self.celld_time(HOUR_S))))
        wait_until(self.provider.running, "the first job runs")
        self.jump_to(HOUR_S)
        for job in jobs:
            self.assertEqual(self.wait_for_end(job)["error"]["code"], "expired")
        self.assertEqual(len(self.provider.calls_of("/dns")), 1)

    def test_a_clock_that_is_set_back_removes_no_ended_job_early(self):
        self.start(retention_ms=HOUR_S * 1000)
        job = self.submit(a_job())
        self.wait_for_end(job)
        self.jump_to(-HOUR_S)
        later = self.submit(a_job("later"))
        self.assertGreater(later, job, "ids ascend although the clock does not")
        self.wait_for_end(later)
        self.jump_to(0)
        self.client.close()
        self.assertEqual(self.daemon.stop(), 0)
        self.restart()  # celld looks for jobs to remove.
        wait_until(lambda: self.client.get(f"/v1/jobs/{later}").status == 404, "the job is removed")
        self.assertEqual(self.job(job)["state"], "succeeded")

    def test_a_clock_that_jumps_all_the_time_loses_and_repeats_nothing(self):
        self.start()
        self.provider.always("/dns", slow(0.02))
        self.provider.always("/billing", slow(0.02))
        ending = threading.Event()

        def keep_jumping():
            jumps = 0
            while not ending.wait(0.01):
                jumps += 1
                self.jump_to((HOUR_S, -HOUR_S, 0, -NIGHT_S, NIGHT_S)[jumps % 5])
        thread = threading.Thread(target=keep_jumping)
        thread.start()
        try:
            ids = [self.submit(a_job(f"e-{number % 20}", services=["dns", "billing"]))
                   for number in range(200)]
            for job_id in ids:
                self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        finally:
            ending.set()
            thread.join()
        self.assertEqual(ids, sorted(ids), "ids ascend although the clock does not")
        calls = self.provider.calls_of()
        self.assertEqual(sorted(call.key for call in calls if call.body["job"] in ids),
                         sorted(f"{job}.{service}" for job in ids for service in ("dns", "billing")))
        self.assertEqual(set(self.provider.peak(lambda call: call.entity).values()), {1})

    def test_a_jump_during_a_shutdown_neither_cuts_the_grace_nor_extends_it(self):
        for jump_s in (HOUR_S, -HOUR_S):
            with self.subTest(jump_s=jump_s):
                self.start(shutdown_grace_ms=1000)
                self.provider.always("/dns", hang())
                self.submit(a_job())
                wait_until(self.provider.running, "the job runs")
                self.client.close()
                began = time.monotonic()
                self.daemon.signal(signal.SIGTERM)
                self.jump_to(jump_s)
                self.assertEqual(self.daemon.wait(), 0)
                self.assertGreater(time.monotonic() - began, 0.9)
                self.assert_in_time("the shutdown", time.monotonic() - began, 2.0)
                wait_until(lambda: not self.provider.running(), "the call is over")

    def test_celld_removes_no_ended_job_while_it_shuts_down(self):
        self.start(retention_ms=2 * HOUR_S * 1000)
        self.jump_to(HOUR_S)
        ended = self.submit(a_job(services=["billing"]))
        self.wait_for_end(ended)
        self.jump_to(0)
        self.client.close()
        self.assertEqual(self.daemon.stop(), 0)
        # The job may be removed in an hour and a second. celld looks every 0.1 s.
        self.restart(a_config(self.provider, retention_ms=1000))
        gate = self.provider.hold("/dns")
        self.submit(a_job())
        wait_until(self.provider.running, "the call runs")
        self.daemon.signal(signal.SIGTERM)
        wait_until(lambda: self.client.get("/readyz").status == 503, "celld shuts down")
        self.jump_to(2 * HOUR_S)
        stays(lambda: self.client.get(f"/v1/jobs/{ended}").status == 200, "the ended job is kept")
        gate.let_all()
        self.assertEqual(self.daemon.wait(), 0)

    def test_after_a_night_asleep_broken_calls_are_repeated_and_due_jobs_start(self):
        """The providers have closed their connections meanwhile."""
        self.start()
        gate = Gate()
        self.provider.rules["/dns"] = lambda call: held(gate, reset() if call.index == 0 else None)
        running = [self.submit(a_job(f"runs-{number}")) for number in range(3)]
        due = self.submit(a_job("due", services=["billing"], run_at=self.celld_time(HOUR_S)))
        waiting = self.submit(a_job("waits", services=["billing"],
                                    run_at=self.celld_time(2 * NIGHT_S)))
        wait_until(lambda: len(self.provider.running()) == 3, "all three jobs run")
        self.jump_to(NIGHT_S)
        gate.let_all()
        for job_id in [*running, due]:
            self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assertEqual([len(self.provider.calls_of(job=job_id)) for job_id in running], [2] * 3)
        self.assertEqual(set(self.provider.peak(lambda call: call.entity).values()), {1})
        self.assertEqual(self.job(waiting)["state"], "scheduled")


class Suspended(EndToEnd):
    """SIGSTOP: the steady clock goes on, as when a hypervisor pauses a machine."""

    PAUSE_S = 1.5

    def start_paused_soon(self):
        path = os.path.join(self.directory, "command")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec sleep 1000\n")
        os.chmod(path, stat.S_IRWXU)
        # The provider notices that celld has hung up before its next call.
        service = {"type": "http", "url": self.provider.url + "/dns", "settle_ms": 300}
        self.start(services={"dns": service, "cmd": {"type": "command", "argv": [path]}},
                   defaults={"pool": {"size": 16}, "timeout_ms": 20000,
                             "retry": {"max_attempts": 2, "backoff_ms": 1, "backoff_max_ms": 1}})

    def children(self):
        found = []
        for path in glob.glob(f"/proc/{self.daemon.process.pid}/task/*/children"):
            with open(path, encoding="ascii") as file:
                found += [int(pid) for pid in file.read().split()]
        return found

    def pause(self, pids):
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(self.PAUSE_S)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    def assert_nothing_is_lost(self, pids):
        """While celld is stopped, one call hangs, and others are answered before and after their
        timeout; a command passes its timeout, a job waits behind another, and one falls due."""
        answers = {"late": slow(1.0), "early": slow(0.5), "hangs": hang()}
        self.provider.rules["/dns"] = lambda call: answers.pop(call.body["entity"]["id"], succeed())
        jobs = {name: self.submit(a_job(name, timeout_ms=800)) for name in dict(answers)}
        jobs["command"] = self.submit(a_job("command", services=["cmd"], timeout_ms=800,
                                            retry={"max_attempts": 1}))
        jobs["follower"] = self.submit(a_job("hangs"))
        jobs["due"] = self.submit(a_job("due", delay_ms=700))
        wait_until(lambda: len(self.provider.running()) == 3, "three calls are in flight")
        self.pause(pids)
        ended = {name: self.wait_for_end(job_id) for name, job_id in jobs.items()}
        self.assertEqual({name: job["state"] for name, job in ended.items()},
                         dict.fromkeys(jobs, "succeeded") | {"command": "failed"})
        self.assertEqual(ended["command"]["error"]["code"], "timeout")
        self.assertEqual(ended["hangs"]["attempt"], 2)
        self.assertEqual(set(self.provider.peak(lambda call: call.entity).values()), {1})
        for name, job in ended.items():
            if name != "command":
                self.assertEqual(len(self.provider.calls_of(job=jobs[name])), job["attempt"], name)

    def test_a_celld_that_was_stopped_for_longer_than_its_timeouts_loses_nothing(self):
        self.start_paused_soon()
        self.assert_nothing_is_lost([self.daemon.process.pid])

    def test_a_celld_that_was_stopped_with_its_supervisor_loses_nothing(self):
        self.start_paused_soon()
        self.submit(a_job("first", services=["cmd"], timeout_ms=1))  # Starts the supervisor.
        pids = wait_until(self.children, "the supervisor runs")
        self.assert_nothing_is_lost([self.daemon.process.pid, *pids])


if __name__ == "__main__":
    unittest.main()
