"""Deadlines, due times and the order of jobs."""

import datetime
import socket
import time
import unittest

from daemon import EndToEnd, a_job, stays, wait_until
from provider import answer, drip, hang, reset, slow, succeed

LATE_S = 0.1       # The end of an attempt after its deadline.
DUE_LATE_S = 0.6   # The start of a job after its due time, with its commits.
BACKOFF_S = 0.1    # The most that a_config() lets an attempt wait for the next.
# A busy machine may be too slow for a test with the first of these, which then tries the next.
DELAYS_S = 1, 4, 16


def utc(seconds_from_now):
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds_from_now)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"


def parse(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()


class Deadlines(EndToEnd):
    def assert_timed_out(self, behaviour, timeout_s=0.4):
        self.provider.always("/dns", behaviour)
        before = time.monotonic()
        job = self.wait_for_end(self.submit(
            a_job(timeout_ms=int(timeout_s * 1000), retry={"max_attempts": 2})))
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "timeout"), job)
        self.assertEqual(job["attempt"], 2)
        calls = self.provider.calls_of()
        self.assertEqual(len(calls), 2)
        wait_until(lambda: all(call.ended_at for call in calls), "celld closes both connections")
        for call in calls:
            self.assertTrue(call.aborted)
            self.assert_in_time("a call", call.ended_at - call.started_at, timeout_s + LATE_S)
        # A busy provider notes the begin and the end of a call late, but never early.
        self.assertGreater(calls[0].ended_at - before, timeout_s)
        self.assertGreater(calls[1].ended_at - before, 2 * timeout_s)
        taken = parse(job["finished_at"]) - parse(job["started_at"])
        self.assert_in_time("both attempts", taken, 2 * (timeout_s + LATE_S) + BACKOFF_S)
        self.assertEqual(self.cell()["pool"]["busy"], 0)

    def test_a_call_to_a_provider_that_hangs_ends_at_the_deadline(self):
        self.start()
        self.assert_timed_out(hang())

    def test_a_call_to_a_provider_that_drips_ends_at_the_deadline(self):
        self.start()
        self.assert_timed_out(drip())

    def test_a_call_to_a_provider_that_never_accepts_ends_at_the_deadline(self):
        deaf = socket.socket()
        self.addCleanup(deaf.close)
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        port = deaf.getsockname()[1]
        fillers = []
        for _ in range(3):  # Fill its backlog, so that no further connection is established.
            filler = socket.socket()
            self.addCleanup(filler.close)
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
            fillers.append(filler)
        self.start(services={"dns": {"type": "http", "url": f"http://127.0.0.1:{port}/dns"}})
        job = self.wait_for_end(self.submit(a_job(timeout_ms=300, retry={"max_attempts": 1})))
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "timeout"), job)
        self.assert_in_time("the attempt", parse(job["finished_at"]) - parse(job["started_at"]),
                            0.3 + LATE_S)

    def test_a_reset_connection_is_a_communications_error(self):
        self.start()
        self.provider.always("/dns", reset())
        job = self.wait_for_end(self.submit(a_job()))
        self.assertEqual((job["state"], job["error"]["code"], job["attempt"]),
                         ("failed", "communications_error", 3), job)
        self.assertEqual([c.body["attempt"] for c in self.provider.calls_of()], [1, 2, 3])

    def test_a_provider_that_does_not_listen_is_a_communications_error(self):
        self.start()
        self.provider.close()
        job = self.wait_for_end(self.submit(a_job()))
        self.assertEqual((job["state"], job["error"]["code"], job["attempt"]),
                         ("failed", "communications_error", 3), job)

    def test_a_connection_that_was_idle_for_long_is_not_used_again(self):
        """The provider may be about to close it."""
        self.start()
        self.wait_for_end(self.submit(a_job("a")))
        kept = set(self.provider.connections)
        time.sleep(5.5)
        self.wait_for_end(self.submit(a_job("b")))
        self.assertTrue(set(self.provider.connections) - kept)

    def test_each_step_and_attempt_has_the_whole_timeout(self):
        self.start()

        def state_after(call_s):
            self.provider.on("/dns", [slow(call_s, answer(500)), slow(call_s)])
            self.provider.always("/billing", slow(call_s))
            return self.wait_for_end(self.submit(
                a_job(f"{call_s}", timeout_ms=int(1700 * call_s), services=["dns", "billing"],
                      retry={"max_attempts": 2})))["state"]
        # A busy machine may be too slow for short calls.
        self.assertIn("succeeded", map(state_after, (0.4, 1.5, 5)))

    def test_an_expired_job_fails_while_it_waits(self):
        self.start(defaults={"pool": {"size": 1}})
        self.provider.hold("/dns")
        self.submit(a_job("first"))
        wait_until(lambda: self.provider.running(), "the first job runs")
        expires_at = utc(0.5)
        job = self.wait_for_end(self.submit(a_job("second", expires_at=expires_at)))
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "expired"), job)
        self.assertEqual(job["expires_at"], expires_at)
        self.assertEqual(job["attempt"], 0)
        self.assertGreaterEqual(parse(job["finished_at"]), parse(expires_at))
        self.assert_in_time("the expiry", parse(job["finished_at"]) - parse(expires_at), 1.0)
        self.assertEqual(len(self.provider.calls_of()), 1)

    def test_an_expired_job_fails_while_it_runs(self):
        self.start()
        self.provider.always("/dns", hang())

        def has_called(delay_s):
            expires_at = utc(delay_s)
            job = self.wait_for_end(self.submit(a_job(f"{delay_s}", expires_at=expires_at)))
            self.assertEqual((job["state"], job["error"]["code"]), ("failed", "expired"), job)
            self.assert_in_time("the expiry", parse(job["finished_at"]) - parse(expires_at), LATE_S)
            return bool(self.provider.calls_of())
        self.assertTrue(any(map(has_called, DELAYS_S)))
        wait_until(lambda: self.provider.calls_of()[0].aborted, "celld closes the connection")

    def test_an_expired_job_fails_while_it_waits_for_its_next_attempt(self):
        self.start(defaults={"retry": {"backoff_ms": 1, "backoff_max_ms": 60000}})
        self.provider.always("/dns", answer(503, headers=["Retry-After: 60"]))

        def attempts(delay_s):
            job = self.wait_for_end(self.submit(a_job(f"{delay_s}", expires_at=utc(delay_s))))
            self.assertEqual((job["state"], job["error"]["code"]), ("failed", "expired"), job)
            return job["attempt"]
        self.assertIn(1, map(attempts, DELAYS_S))

    def test_an_expired_job_fails_before_it_is_due(self):
        self.start()
        job = self.wait_for_end(self.submit(a_job(delay_ms=60000, expires_at=utc(0.5))))
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "expired"), job)


class DueTimes(EndToEnd):
    def is_scheduled_until(self, due, job_id):
        """Whether the job was shown as scheduled. Checks that it starts at `due`."""
        shown = self.job(job_id)["state"], self.cell()["queue"]["scheduled"]
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1))
        self.assertGreaterEqual(parse(job["started_at"]), due)
        self.assert_in_time("the start", parse(job["started_at"]) - due, DUE_LATE_S)
        return shown == ("scheduled", 1)

    def test_a_delayed_job_runs_after_its_delay_and_not_before(self):
        self.start()

        def waits(delay_s):
            before = time.time()
            job_id = self.submit(a_job(delay_ms=1000 * delay_s))
            due = parse(self.job(job_id)["run_at"])
            self.assertGreaterEqual(due, before + delay_s - 0.001)
            return self.is_scheduled_until(due, job_id)
        self.assertTrue(any(map(waits, DELAYS_S)))

    def test_a_job_with_run_at_runs_at_its_time_and_not_before(self):
        self.start()

        def waits(delay_s):
            run_at = utc(delay_s)
            job_id = self.submit(a_job(run_at=run_at))
            self.assertEqual(self.job(job_id)["run_at"], run_at)
            return self.is_scheduled_until(parse(run_at), job_id)
        self.assertTrue(any(map(waits, DELAYS_S)))

    def test_a_job_due_in_the_past_runs_at_once(self):
        self.start()
        job = self.wait_for_end(self.submit(a_job(run_at="2020-01-01T00:00:00.000Z")))
        self.assertEqual(job["state"], "succeeded")

    def test_a_scheduled_job_survives_a_restart(self):
        self.start()

        def survives(delay_s):
            due = time.time() + delay_s
            job_id = self.submit(a_job(run_at=utc(delay_s)))
            self.assertEqual(self.daemon.stop(), 0)
            self.restart()
            state = self.job(job_id)["state"]
            job = self.wait_for_end(job_id)
            self.assertGreaterEqual(parse(job["started_at"]), due - 0.01)
            return state == "scheduled"
        self.assertTrue(any(map(survives, DELAYS_S)))

    def test_a_job_that_expired_before_it_was_posted_causes_no_call(self):
        self.start()
        for i in range(20):
            job = self.wait_for_end(self.submit(a_job(f"e-{i}", expires_at=utc(-1))))
            self.assertEqual((job["state"], job["error"]["code"]), ("failed", "expired"))
        self.assertEqual(self.provider.calls_of(), [])

    def test_a_job_that_becomes_due_while_celld_is_down_runs_at_the_start(self):
        self.start()
        job_id = self.submit(a_job(delay_ms=300))
        due = parse(self.job(job_id)["run_at"])
        self.daemon.kill()
        wait_until(lambda: time.time() > due, "the job is due")
        self.restart()
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")


class Order(EndToEnd):
    def one_at_a_time(self):
        """Starts a cell whose only worker is occupied by a first job."""
        self.start(defaults={"pool": {"size": 1}})
        self.gate = self.provider.hold("/dns")
        self.submit(a_job("holder"))
        wait_until(lambda: self.provider.running(), "the first job runs")

    def entities_called(self):
        return [call.body["entity"]["id"] for call in self.provider.calls_of()]

    def test_a_higher_priority_goes_first(self):
        self.one_at_a_time()
        ids = [self.submit(a_job(f"p{p}", priority=p)) for p in (1, 5, 9, 3)]
        ids.append(self.submit(a_job("default")))
        self.gate.let_all()
        for job_id in ids:
            self.wait_for_end(job_id)
        self.assertEqual(self.entities_called(), ["holder", "p9", "p5", "default", "p3", "p1"])

    def test_the_older_job_goes_first_within_a_priority(self):
        self.one_at_a_time()
        ids = [self.submit(a_job(f"e{i}")) for i in range(40)]
        self.gate.let_all()
        for job_id in ids:
            self.wait_for_end(job_id)
        self.assertEqual(self.entities_called()[1:], [f"e{i}" for i in range(40)])

    def test_jobs_of_one_entity_run_in_order_and_never_at_once(self):
        self.start(defaults={"pool": {"size": 16}})
        self.provider.always("/dns", slow(0.02))
        ids = [self.submit(a_job("same", priority=1 + i % 9)) for i in range(20)]
        for job_id in ids:
            self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.assertEqual([call.body["job"] for call in self.provider.calls_of()], ids)
        self.assertEqual(max(self.provider.peak(lambda call: call.entity).values()), 1)

    def test_a_busy_entity_delays_no_other_entity(self):
        self.start(defaults={"pool": {"size": 2}}, shutdown_grace_ms=200)
        self.provider.rules["/dns"] = lambda call: (
            hang() if call.body["entity"]["id"] == "stuck" else succeed())
        for _ in range(300):
            self.submit(a_job("stuck"))
        wait_until(lambda: self.provider.running(), "the stuck job runs")
        for other in ("free", "free too"):
            self.assertEqual(self.wait_for_end(self.submit(a_job(other)))["state"], "succeeded")
        stuck = [call for call in self.provider.calls_of() if call.body["entity"]["id"] == "stuck"]
        self.assertEqual(len(stuck), 1)

    def test_entities_differ_by_customer_product_type_and_id(self):
        self.start(defaults={"pool": {"size": 8}})
        gate = self.provider.hold("/dns")
        entity = {"type": "zone", "id": "x"}
        self.submit(a_job(entity=entity))
        self.submit(a_job(entity=entity, customer="bolt"))
        self.submit(a_job(entity=entity, product="mail"))
        self.submit(a_job(entity={"type": "box", "id": "x"}))
        self.submit(a_job(entity={"type": "zone", "id": "y"}))
        wait_until(lambda: len(self.provider.running()) == 5, "all five jobs run at once")
        self.submit(a_job(entity={"type": "zone", "subtype": "other", "id": "x"}))
        stays(lambda: len(self.provider.calls_of()) == 5, "a subtype does not make another entity")
        gate.let_all()

    def test_the_head_keeps_its_place_through_its_retries(self):
        self.start(defaults={"pool": {"size": 4},
                             "retry": {"backoff_ms": 100, "backoff_max_ms": 100}})
        self.provider.rules["/dns"] = lambda call: (
            answer(500) if call.body["parameters"] == {"n": 1} and call.index < 2 else succeed())
        first = self.submit(a_job("same", parameters={"n": 1}))
        second = self.submit(a_job("same", parameters={"n": 2}, priority=9))
        self.wait_for_end(second)
        self.assertEqual(self.job(first)["state"], "succeeded")
        order = [call.body["parameters"]["n"] for call in self.provider.calls_of()]
        self.assertEqual(order, [1, 1, 1, 2])

    def test_a_scheduled_job_takes_its_place_when_it_is_due(self):
        self.start()

        def waits(delay_s):
            later = self.submit(a_job("same", delay_ms=1000 * delay_s))
            sooner = self.submit(a_job("same"))
            self.wait_for_end(sooner)
            state = self.job(later)["state"]
            self.assertEqual(self.wait_for_end(later)["state"], "succeeded")
            return state == "scheduled"
        self.assertTrue(any(map(waits, DELAYS_S)))

    def test_an_unknown_outcome_keeps_the_entity_for_settle_ms_and_not_the_slot(self):
        services = {"dns": {"type": "http", "url": self.provider.url + "/dns", "settle_ms": 900}}
        self.start(services=services, defaults={"pool": {"size": 1}})
        self.provider.rules["/dns"] = lambda call: (
            hang() if call.body["parameters"] == {"hang": True} else succeed())
        lost = self.submit(a_job("same", parameters={"hang": True}, timeout_ms=200,
                                 retry={"max_attempts": 1}))
        follower = self.submit(a_job("same"))
        other = self.submit(a_job("other"))
        self.wait_for_end(follower)
        self.assertEqual(self.job(lost)["state"], "failed")
        self.assertEqual(self.job(other)["state"], "succeeded")
        hung, quick, settled = self.provider.calls_of()
        self.assertEqual(quick.body["entity"]["id"], "other")
        self.assertGreaterEqual(settled.started_at - hung.ended_at, 0.85)
        self.assert_in_time("the next call", quick.started_at - hung.ended_at, 0.6)

    def test_nothing_idles_while_a_runnable_job_waits(self):
        self.start(defaults={"pool": {"size": 8}})
        gate = self.provider.hold("/dns")
        ids = [self.submit(a_job(f"e{i}")) for i in range(24)]
        for done in range(0, 17):
            wait_until(lambda: len(self.provider.running()) == 8, "all eight slots are used")
            gate.let(1)
            wait_until(lambda: len(self.provider.calls_of()) >= min(24, 9 + done), "the next runs")
        gate.let_all()
        for job_id in ids:
            self.wait_for_end(job_id)
        self.assertEqual(self.provider.peak(lambda call: "all"), {"all": 8})


if __name__ == "__main__":
    unittest.main()
