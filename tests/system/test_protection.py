"""Services with limits and circuit breakers: what their providers see, and what celld shows."""

import time
from datetime import datetime, timedelta, timezone

from cellctl import CellctlTest
from daemon import EndToEnd, a_config, a_job, stays, wait_until
from provider import answer, hang, slow, succeed

EARLY_S = 0.01  # For the rounding of times.


def calls_in(calls, seconds):
    """The most calls that began within so many seconds."""
    starts = sorted(call.started_at for call in calls)
    return max(sum(1 for each in starts if begin <= each < begin + seconds) for begin in starts)


class Protection(CellctlTest):
    def config(self, pool=8, **protection):
        config = a_config(self.provider, cells=[{"customer": "acme", "pool": {"size": pool}},
                                                {"pool": {"size": pool}}],
                          defaults={"timeout_ms": 5000,
                                    "retry": {"max_attempts": 3, "backoff_ms": 10,
                                              "backoff_max_ms": 50}})
        config["services"]["dns"].update(protection)
        return config

    def submit_many(self, count, **changes):
        return [self.submit(a_job(entity_id=f"{changes.get('customer', '')}-{n}", **changes))
                for n in range(count)]

    def service(self, name="dns"):
        got = self.client.get(f"/v1/services/{name}")
        self.assertEqual(got.status, 200, got)
        return got.json

    def wait_for_circuit(self, state):
        wait_until(lambda: self.service()["circuit"]["state"] == state, f"the circuit is {state}")

    def assert_succeeded(self, jobs):
        for job in jobs:
            self.assertEqual(self.wait_for_end(job)["state"], "succeeded")

    # --- Limits ----------------------------------------------------------------------------------

    def test_the_provider_never_sees_more_calls_than_the_limit(self):
        self.provider.always("/dns", slow(0.05))
        self.start(self.config(limits={"concurrency": 3}))
        jobs = self.submit_many(10) + self.submit_many(10, customer="bolt")
        self.assert_succeeded(jobs)
        self.assertEqual(self.provider.peak(lambda call: call.path)["/dns"], 3)

    def test_jobs_over_a_limit_wait_in_their_queue_and_take_no_worker(self):
        gate = self.provider.hold("/dns")
        self.start(self.config(pool=2, limits={"concurrency": 1}))
        jobs = self.submit_many(3)
        wait_until(lambda: self.provider.running("/dns"), "a call is running")
        self.assertEqual([self.job(job)["state"] for job in jobs], ["running", "queued", "queued"])
        other = self.submit(a_job(entity_id="other", services=["billing"]))
        self.assertEqual(self.wait_for_end(other)["state"], "succeeded")
        shown = self.service()
        self.assertEqual((shown["limits"], shown["in_flight"], shown["waiting"]),
                         ({"concurrency": 1}, 1, 2))
        gate.let_all()
        self.assert_succeeded(jobs)

    def test_calls_begin_at_the_limited_rate(self):
        self.start(self.config(limits={"rate_per_s": 20, "burst": 5}))
        before = time.monotonic()
        jobs = self.submit_many(25)
        self.assert_succeeded(jobs)
        calls = self.provider.calls_of("/dns")
        self.assertEqual(len(calls), 25)
        # A busy provider notes the begin of a call late, but never early.
        for number, started_at in enumerate(sorted(call.started_at for call in calls), 1):
            self.assertGreater(started_at - before, (number - 5) / 20 - EARLY_S)
        # It notes calls late by a time that varies: here by the time in which three calls begin.
        self.assert_in_time("the time for the calls of half a second",
                            (calls_in(calls, 0.5) - 5) / 20, 0.5 + 3.5 / 20)

    def test_a_restart_keeps_the_jobs_that_wait_for_a_limit(self):
        gate = self.provider.hold("/dns")
        config = self.config(limits={"concurrency": 1})
        self.start(config)
        jobs = self.submit_many(4)
        wait_until(lambda: self.provider.running("/dns"), "a call is running")
        self.daemon.kill()
        gate.let_all()
        self.restart(config)
        self.assert_succeeded(jobs)

    def test_a_reload_changes_a_limit_at_once(self):
        gate = self.provider.hold("/dns")
        self.start(self.config(limits={"concurrency": 1}))
        jobs = self.submit_many(5)
        wait_until(lambda: len(self.provider.running("/dns")) == 1, "a call is running")
        for limits, running in (({"concurrency": 3}, 3), (None, 5)):
            config = self.config(**({"limits": limits} if limits else {}))
            self.daemon.write_config(config)
            self.assertEqual(self.client.post("/v1/admin/reload", {}).status, 200)
            wait_until(lambda most=running: len(self.provider.running("/dns")) == most,
                       f"{running} calls are running")
        gate.let_all()
        self.assert_succeeded(jobs)

    def test_the_leases_of_a_pull_service_are_limited(self):
        config = self.config()
        config["services"]["vm"] = {"type": "pull", "limits": {"concurrency": 2}}
        self.start(config)
        self.submit_many(4, services=["vm"])
        got = self.client.post("/v1/services/vm/leases", {"worker": "host-1", "max": 10})
        leases = got.json["leases"]
        self.assertEqual(len(leases), 2)
        more = self.client.post("/v1/services/vm/leases", {"worker": "host-1", "max": 10})
        self.assertEqual(more.json["leases"], [])
        self.assertEqual(self.service("vm")["limits"], {"concurrency": 2})
        self.client.post(f"/v1/leases/{leases[0]['lease']}/complete", {})
        more = self.client.post("/v1/services/vm/leases",
                                {"worker": "host-1", "max": 10, "wait_ms": 5000})
        self.assertEqual(len(more.json["leases"]), 1)

    # --- Circuits --------------------------------------------------------------------------------

    def test_an_outage_of_the_provider_fails_no_job(self):
        broken = True
        self.provider.on("/dns", lambda call: answer(500) if broken else succeed())
        # Fewer failures than attempts: the first job may be alone for a while.
        self.start(self.config(circuit={"failures": 2, "open_ms": 100}))
        jobs = self.submit_many(30)
        self.wait_for_circuit("open")
        wait_until(lambda: len(self.provider.calls_of("/dns")) > 15, "there were several probes")
        shown = self.service()
        self.assertIn(shown["circuit"]["state"], ("open", "half_open"))
        self.assertIn("HTTP status 500", shown["circuit"]["why"])
        self.assertIsNotNone(shown["circuit"]["since"])
        broken = False
        self.assert_succeeded(jobs)
        self.assertEqual(self.service()["circuit"]["state"], "closed")
        self.assertLessEqual(max(self.job(job)["attempt"] for job in jobs), 3)

    def test_a_credential_that_expired_fails_no_job_and_uses_up_no_attempt(self):
        self.provider.always("/dns", answer(401))
        self.start(self.config(circuit={"open_ms": 60_000}))
        jobs = self.submit_many(5)
        self.wait_for_circuit("open")
        self.assertIn("credentials", self.service()["circuit"]["why"])
        # Calls that had begun before the circuit opened are refused, too.
        wait_until(lambda: self.service()["in_flight"] == 0 and
                   all(self.job(job)["state"] != "running" for job in jobs), "all jobs wait")
        self.provider.always("/dns", succeed())
        stays(lambda: self.job(jobs[-1])["state"] in ("queued", "retrying"), "the job waits")
        self.cellctl("service", "reset", "dns")
        self.assert_succeeded(jobs)
        self.assertEqual({self.job(job)["attempt"] for job in jobs}, {1})

    def test_without_a_circuit_an_expired_credential_uses_up_attempts(self):
        self.provider.always("/dns", answer(403))
        self.start(self.config())
        job = self.wait_for_end(self.submit(a_job()))
        self.assertEqual((job["state"], job["attempt"]), ("failed", 3))

    def test_one_call_at_a_time_probes_a_provider_that_hangs(self):
        self.provider.always("/dns", hang())
        config = self.config(circuit={"failures": 2, "open_ms": 100})
        config["defaults"]["timeout_ms"] = 300
        self.start(config)
        before_all = time.monotonic()
        self.submit_many(20)
        self.wait_for_circuit("open")
        wait_until(lambda: not self.provider.running("/dns"), "the calls have ended")
        before = len(self.provider.calls_of("/dns"))
        wait_until(lambda: len(self.provider.calls_of("/dns")) >= before + 3, "three probes ran")
        probes = self.provider.calls_of("/dns")[before:]
        # A timeout and open_ms pass before each. A busy provider notes a probe late, never early.
        for number, probe in enumerate(probes, 1):
            self.assertGreater(probe.started_at - before_all, 0.4 * number - EARLY_S)

    def test_a_pause_holds_back_the_whole_service(self):
        gate = self.provider.hold("/dns")
        self.start(self.config(circuit={"hold_max_ms": 700}))
        self.submit(a_job())
        wait_until(lambda: self.provider.running("/dns"), "a call is running")
        self.provider.always("/dns", answer(503, headers=["Retry-After: 30"]))
        before = time.monotonic()
        self.submit(a_job(entity_id="refused"))
        wait_until(lambda: self.service()["held_until"], "the service is held")
        self.provider.always("/dns", succeed())
        late = self.submit(a_job(entity_id="late"))
        self.assertEqual(self.wait_for_end(late)["state"], "succeeded")
        self.assertGreater(self.provider.calls_of("/dns", late)[0].started_at, before + 0.7)
        gate.let_all()

    def test_a_job_behind_an_open_circuit_expires_and_its_client_stops_waiting(self):
        self.provider.always("/dns", answer(401))
        self.start(self.config(circuit={"open_ms": 60_000}))
        self.submit(a_job())
        self.wait_for_circuit("open")
        waited = self.client.post("/v1/jobs", a_job(entity_id="waited"), Prefer="wait=1")
        self.assertEqual((waited.status, waited.json["state"]), (202, "queued"))
        soon = datetime.now(timezone.utc) + timedelta(milliseconds=500)
        brief = self.submit(a_job(entity_id="brief",
                                  expires_at=soon.strftime("%Y-%m-%dT%H:%M:%S.%fZ")))
        ended = self.wait_for_end(brief)
        self.assertEqual((ended["state"], ended["error"]["code"]), ("failed", "expired"))
        self.assertEqual(ended["attempt"], 0)

    # --- Requests --------------------------------------------------------------------------------

    def test_only_a_service_that_exists_is_shown_and_reset(self):
        self.start(self.config())
        for method, path in (("GET", "/v1/services/none"),
                             ("POST", "/v1/admin/services/none/reset")):
            self.assert_problem(self.client.request(method, path), 404, "not-found")
        self.assertEqual(self.client.post("/v1/admin/services/dns/reset", {}).json["service"], "dns")

    def test_cellctl_shows_why_no_call_begins(self):
        self.provider.always("/dns", answer(401))
        self.start(self.config(circuit={"open_ms": 60_000}, limits={"concurrency": 2}))
        self.submit(a_job())
        self.wait_for_circuit("open")
        shown = self.cellctl("service", "show", "dns", "billing")
        self.assertRegex(shown, r"circuit +open\n")
        self.assertRegex(shown, r"why +dns answered with HTTP status 401")
        self.assertRegex(shown, r"limits +2 at a time\n")
        self.assertRegex(shown, r"service +billing\n")
        self.assertEqual(self.cellctl_json("service", "reset", "dns")["circuit"]["state"], "closed")
