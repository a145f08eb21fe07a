"""SIGTERM, kill -9, and the restart after each."""

import os
import signal
import threading
import time
import unittest

from daemon import DEADLINE_S, EndToEnd, a_config, a_job, stays, wait_until
from provider import answer, held, slow, succeed, Gate


class Stopping(EndToEnd):
    def test_running_calls_finish_within_the_grace(self):
        client = self.start()
        gate = self.provider.hold("/dns")
        ids = [self.submit(a_job(str(i))) for i in range(10)]
        wait_until(lambda: len(self.provider.running()) == 4, "four calls run")
        self.daemon.signal(signal.SIGTERM)
        wait_until(lambda: client.get("/readyz").status == 503, "celld reports that it shuts down")
        self.assert_problem(client.get("/readyz"), 503)
        self.assertIn("\ncelld_ready 0\n", client.get("/metrics").body.decode())

        def refusal():
            """celld may accept a job until a moment after it has reported so."""
            answered = client.post("/v1/jobs", a_job("new", delay_ms=3_600_000))
            return answered if answered.status != 202 else None
        refused = wait_until(refusal, "celld refuses jobs")
        self.assert_problem(refused, 503, "draining")
        self.assertGreaterEqual(int(refused.headers["retry-after"]), 1)
        self.assertEqual(client.get("/livez").status, 200)
        self.assertEqual(self.job(ids[0])["state"], "running")
        stays(lambda: self.daemon.running(), "celld waits for its calls")
        gate.let_all()
        self.assertEqual(self.daemon.wait(), 0)
        self.assertEqual(len(self.provider.calls_of()), 4, "no other call was started")
        self.assertFalse(any(call.aborted for call in self.provider.calls_of()))

        self.restart()
        for job_id in ids:
            job = self.wait_for_end(job_id)
            self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1), job)
        self.assertEqual(len(self.provider.calls_of()), 10, "each job was called once")

    def test_a_call_longer_than_the_grace_is_handed_back_and_its_attempt_not_counted(self):
        self.start(shutdown_grace_ms=300)
        self.provider.hold("/dns")
        job_id = self.submit(a_job(retry={"max_attempts": 1}))
        wait_until(lambda: self.provider.running(), "the call runs")
        stopped_at = time.monotonic()
        self.assertEqual(self.daemon.stop(), 0)
        self.assert_in_time("the shutdown", time.monotonic() - stopped_at, 3.0)
        wait_until(lambda: self.provider.calls_of()[0].aborted, "celld closes the connection")
        self.provider.rules.clear()
        self.restart()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1), job)
        self.assertEqual([c.body["attempt"] for c in self.provider.calls_of()], [1, 1])
        self.assertEqual(len({call.key for call in self.provider.calls_of()}), 1)

    def test_a_job_of_several_services_stops_at_its_checkpoint(self):
        self.start()
        gate = self.provider.hold("/dns", succeed({"zone": "z1"}))
        job_id = self.submit(a_job(services=["dns", "billing"]))
        wait_until(lambda: self.provider.running(), "the call runs")
        self.daemon.signal(signal.SIGTERM)
        wait_until(lambda: self.client.get("/readyz").status == 503, "celld shuts down")
        gate.let_all()
        self.assertEqual(self.daemon.wait(), 0)
        self.assertEqual(self.provider.calls_of("/billing"), [])
        self.restart()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["properties"]), ("succeeded", {"zone": "z1"}))
        self.assertEqual([len(self.provider.calls_of(p)) for p in ("/dns", "/billing")], [1, 1])
        self.assertEqual(self.provider.calls_of("/billing")[0].body["properties"], {"zone": "z1"})

    def test_a_client_that_waits_for_a_job_that_does_not_end_is_answered_before_celld_stops(self):
        self.start()
        other = self.daemon.client()
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(
            other.post("/v1/jobs", a_job(delay_ms=3_600_000), Prefer="wait=30")))
        waiter.start()
        wait_until(lambda: self.client.get("/v1/jobs").json["items"], "the job is submitted")
        self.assertEqual(self.daemon.stop(), 0)
        waiter.join(DEADLINE_S)
        self.assertEqual([(each.status, each.json["state"]) for each in answers],
                         [(202, "scheduled")])

    def test_a_client_that_waits_is_answered_before_celld_stops(self):
        self.start()
        gate = self.provider.hold("/dns")
        other = self.daemon.client()
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(
            other.post("/v1/jobs", a_job(), Prefer="wait=30")))
        waiter.start()
        wait_until(lambda: self.provider.running(), "the call runs")
        self.daemon.signal(signal.SIGTERM)
        wait_until(lambda: self.client.get("/readyz").status == 503, "celld shuts down")
        gate.let_all()
        waiter.join(30)
        self.assertEqual(self.daemon.wait(), 0)
        self.assertEqual((answers[0].status, answers[0].json["state"]), (200, "succeeded"))

    def test_a_client_that_waits_for_its_batch_is_answered_before_celld_stops(self):
        self.start(shutdown_grace_ms=100)
        self.provider.hold("/dns")
        other = self.daemon.client()
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(
            other.post("/v1/batches", [a_job()], Prefer="wait=30")))
        waiter.start()
        wait_until(lambda: self.provider.running(), "the call runs")
        self.assertEqual(self.daemon.stop(), 0)
        waiter.join(30)
        self.assertEqual([(answer.status, answer.json["accepted"]) for answer in answers], [(202, 1)])

    def test_celld_ends_after_the_supervisor_of_its_commands(self):
        pid_file = os.path.join(self.directory, "supervisor")
        script = f"echo $PPID > {pid_file}; echo '{{}}'"
        self.start(services={"dns": {"type": "command", "argv": ["/bin/sh", "-c", script]}})
        self.assertEqual(self.wait_for_end(self.submit(a_job()))["state"], "succeeded")
        with open(pid_file, encoding="utf-8") as file:
            supervisor = int(file.read())
        os.kill(supervisor, signal.SIGSTOP)
        try:
            self.daemon.signal(signal.SIGTERM)
            wait_until(lambda: '"shut down"' in self.daemon.log(), "the shutdown is complete")
            stays(self.daemon.running, "celld waits for its supervisor")
        finally:
            os.kill(supervisor, signal.SIGCONT)
        self.assertEqual(self.daemon.wait(), 0)

    def test_an_idle_daemon_shuts_down_at_once(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.start()
            stopped_at = time.monotonic()
            self.daemon.signal(number)
            self.assertEqual(self.daemon.wait(), 0)
            self.assert_in_time("the shutdown", time.monotonic() - stopped_at, 2.0)

    def test_a_job_that_waits_for_its_retry_does_not_delay_a_shutdown(self):
        self.start(defaults={"retry": {"backoff_ms": 1, "backoff_max_ms": 60000}})
        self.provider.always("/dns", answer(503, headers=["Retry-After: 60"]))
        job_id = self.submit(a_job())
        waiting = self.wait_for_state(job_id, "retrying")
        stopped_at = time.monotonic()
        self.assertEqual(self.daemon.stop(), 0)
        self.assert_in_time("the shutdown", time.monotonic() - stopped_at, 2.0)
        self.restart()
        self.assertEqual(self.job(job_id), waiting)


class Killed(EndToEnd):
    def test_every_accepted_job_survives_a_kill(self):
        self.start()
        self.provider.always("/dns", slow(0.01))
        ids = [self.submit(a_job(str(i))) for i in range(100)]
        self.daemon.kill()
        self.restart()
        for job_id in ids:
            self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")

    def test_an_attempt_cut_short_by_a_kill_is_not_counted(self):
        self.start()
        self.provider.hold("/dns")
        job_id = self.submit(a_job(retry={"max_attempts": 1}))
        wait_until(lambda: self.provider.running(), "the call runs")
        self.daemon.kill()
        self.provider.rules.clear()
        self.restart()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1), job)

    def test_steps_that_have_succeeded_survive_a_kill(self):
        self.start()
        self.provider.always("/dns", succeed({"zone": "z1"}))
        self.provider.hold("/billing")
        job_id = self.submit(a_job(services=["dns", "billing"]))
        wait_until(lambda: self.provider.running("/billing"), "the second step runs")
        wait_until(lambda: self.job(job_id)["steps"][0]["state"] == "succeeded", "the API shows it")
        self.daemon.kill()
        self.provider.rules.clear()
        self.restart()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["properties"]), ("succeeded", {"zone": "z1"}))
        self.assertEqual(len(self.provider.calls_of("/dns")), 1)

    def test_a_job_interrupted_by_three_crashes_in_a_row_fails(self):
        self.start(a_config(self.provider, defaults={"pool": {"size": 2}}))
        gate = Gate()
        self.provider.gates.append(gate)
        self.provider.rules["/dns"] = lambda call: (
            held(gate) if call.body["entity"]["id"] == "poison" else succeed())
        job_id = self.submit(a_job("poison"))
        for crash in range(1, 4):
            wait_until(lambda crash=crash: len(self.provider.calls_of(job=job_id)) == crash,
                       "the call runs again")
            # A job accepted after the call began reaches the disk after the claim does.
            self.wait_for_end(self.submit(a_job(f"barrier {crash}")))
            self.daemon.kill()
            self.restart()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "interrupted"), job)
        self.assertEqual(len(self.provider.calls_of(job=job_id)), 3)
        self.assertEqual(self.wait_for_end(self.submit(a_job("poison2")))["state"], "succeeded")

    def test_the_order_of_an_entity_survives_a_kill(self):
        self.start()
        self.provider.hold("/dns")
        ids = [self.submit(a_job("same", priority=1 + i)) for i in range(6)]
        wait_until(lambda: self.provider.running(), "the first job runs")
        self.daemon.kill()
        self.provider.rules.clear()
        self.restart()
        for job_id in ids:
            self.wait_for_end(job_id)
        self.assertEqual([call.body["job"] for call in self.provider.calls_of()], ids[:1] + ids)

    def test_an_ended_job_is_not_called_again(self):
        self.start()
        job = self.wait_for_end(self.submit(a_job()))
        self.daemon.kill()
        self.restart()
        self.assertEqual(self.job(job["id"]), job)
        self.wait_for_end(self.submit(a_job("other")))
        self.assertEqual(len(self.provider.calls_of(job=job["id"])), 1)


if __name__ == "__main__":
    unittest.main()
