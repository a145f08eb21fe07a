"""Jobs that undo what they have done, and jobs behind a failed one."""

import json
import time

from daemon import EndToEnd, a_config, a_job, stays, wait_until
from provider import answer, hang, succeed

FAST = {"timeout_ms": 20000, "retry": {"max_attempts": 3, "backoff_ms": 20, "backoff_max_ms": 100}}


class Compensation(EndToEnd):
    def setUp(self):
        super().setUp()
        self.provider.always("/mail", answer(422, {"code": "full", "message": "no room"}))

    def config(self, **changes):
        services = {name: {"type": "http", "url": f"{self.provider.url}/{name}",
                           "undo": {"url": f"{self.provider.url}/{name}/undo"}}
                    for name in ("dns", "billing", "mail")}
        services.update(changes.pop("services", {}))
        return a_config(self.provider, services=services, **changes)

    def to_undo(self, entity_id="example.com", **changes):
        return a_job(entity_id, **{"services": ["dns", "billing", "mail"],
                                   "on_failure": "compensate", **changes})

    def states(self, job):
        return [step["state"] for step in job["steps"]]

    def undos(self, job=None):
        return [call for call in self.provider.calls_of(job=job) if call.path.endswith("/undo")]

    def test_what_succeeded_is_undone_in_reverse_order(self):
        self.provider.always("/dns", succeed({"zone": 7}))
        self.start(self.config())
        job_id = self.submit(self.to_undo())
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["on_failure"]), ("failed", "compensate"))
        self.assertEqual(job["error"], {"code": "full", "message": "no room", "service": "mail"})
        self.assertEqual(self.states(job), ["undone", "undone", "failed"])
        self.assertEqual([call.path for call in self.provider.calls_of()],
                         ["/dns", "/billing", "/mail", "/billing/undo", "/dns/undo"])
        last = self.undos()[-1]
        self.assertEqual(last.key, f"{job_id}.dns.undo")
        self.assertEqual((last.body["undo"], last.body["attempt"], last.body["service"],
                          last.body["properties"]), (True, 1, "dns", {"zone": 7}))
        self.assertNotIn("undo", self.provider.calls_of("/dns")[0].body)

    def test_a_job_that_stops_keeps_what_it_has_done(self):
        self.start(self.config())
        job = self.wait_for_end(self.submit(self.to_undo(on_failure="stop")))
        self.assertEqual((job["state"], self.states(job)),
                         ("failed", ["succeeded", "succeeded", "failed"]))
        self.assertEqual(self.undos(), [])

    def test_a_step_with_an_unknown_outcome_is_undone_first(self):
        self.provider.always("/billing", hang())
        self.start(self.config())
        job = self.wait_for_end(self.submit(self.to_undo(timeout_ms=200,
                                                         retry={"max_attempts": 2})))
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "timeout"))
        self.assertEqual(self.states(job), ["undone", "undone", "skipped"])
        self.assertEqual([call.path for call in self.undos()], ["/billing/undo", "/dns/undo"])

    def test_an_undo_that_fails_for_good_does_not_stop_the_others(self):
        self.provider.always("/billing/undo", answer(503))
        self.start(self.config())
        job = self.wait_for_end(self.submit(self.to_undo()))
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "full"))
        self.assertEqual(self.states(job), ["undone", "undo_failed", "failed"])
        tries = self.provider.calls_of("/billing/undo")
        self.assertEqual([call.body["attempt"] for call in tries], [1, 2, 3])
        self.assertEqual(len({call.key for call in tries}), 1)
        self.assertIn("cannot be undone", job["messages"][-1]["text"])

    def test_a_killed_celld_goes_on_undoing(self):
        self.start(self.config())
        gate = self.provider.hold("/billing/undo")
        job_id = self.submit(self.to_undo())
        wait_until(self.undos, "the first undo")
        self.daemon.kill()
        gate.let_all()
        second = self.provider.hold("/dns/undo")
        self.restart()
        wait_until(lambda: self.provider.calls_of("/dns/undo"), "the second undo")
        self.assertEqual(self.states(self.job(job_id)), ["running", "undone", "failed"])
        self.daemon.kill()
        second.let_all()
        self.restart()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], self.states(job)), ("failed", ["undone", "undone", "failed"]))
        self.assertEqual([call.path for call in self.undos()],
                         ["/billing/undo"] * 2 + ["/dns/undo"] * 2)
        self.assertEqual(len(self.provider.calls_of("/mail")), 1)

    def test_a_shutdown_hands_an_undo_back(self):
        self.start(self.config(shutdown_grace_ms=100))
        self.provider.hold("/billing/undo")
        job_id = self.submit(self.to_undo())
        wait_until(self.undos, "the first undo")
        self.client.close()
        self.assertEqual(self.daemon.stop(), 0)
        self.provider.always("/billing/undo", succeed())
        self.restart()
        self.assertEqual(self.states(self.wait_for_end(job_id)), ["undone", "undone", "failed"])

    def test_a_compensation_shows_one_state_and_cannot_be_cancelled(self):
        self.start(self.config())
        gate = self.provider.hold("/billing/undo")
        job_id = self.submit(self.to_undo())
        behind = self.submit(a_job())
        wait_until(self.undos, "the first undo")
        job = self.job(job_id)
        self.assertEqual((job["state"], job["attempt"], job["error"]["code"]),
                         ("compensating", 1, "full"))
        queue = self.cell()["queue"]
        self.assertEqual((queue["running"], queue["compensating"]), (1, 0))
        for state, ids in (("compensating", [job_id]), ("running", [])):
            items = self.client.get("/v1/jobs", state=state).json["items"]
            self.assertEqual([item["id"] for item in items], ids, state)
        refused = self.client.post(f"/v1/jobs/{job_id}/cancel", {})
        self.assert_problem(refused, 409, "not-cancellable")
        self.assertIn("undo", refused.json["detail"])
        self.assert_problem(self.client.post(f"/v1/jobs/{job_id}/retry", {}), 409, "not-retryable")
        self.assertEqual(self.job(behind)["state"], "queued")  # The entity is held.
        gate.let_all()
        self.assertEqual(self.wait_for_end(job_id)["state"], "failed")
        self.assert_problem(self.client.post(f"/v1/jobs/{job_id}/retry", {}), 409, "not-retryable")
        self.assertEqual(self.wait_for_end(behind)["state"], "succeeded")

    def test_between_two_attempts_the_queue_counts_a_compensation(self):
        self.provider.always("/billing/undo", answer(503, headers=["Retry-After: 600"]))
        self.start(self.config(defaults={**FAST, "retry": {"max_attempts": 3,
                                                           "backoff_max_ms": 600_000}}))
        job_id = self.submit(self.to_undo())
        wait_until(self.undos, "the first attempt at an undo")
        wait_until(lambda: [self.cell()["queue"][state] for state in ("compensating", "running")] ==
                   [1, 0], "one compensation waits")
        self.assertEqual(self.job(job_id)["state"], "compensating")
        self.assert_problem(self.client.post(f"/v1/jobs/{job_id}/cancel", {}), 409,
                            "not-cancellable")

    def test_neither_expiry_nor_a_drain_ends_a_compensation(self):
        self.provider.always("/mail", hang())
        self.start(self.config())
        gate = self.provider.hold("/billing/undo")
        soon = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 5))
        job_id = self.submit(self.to_undo(expires_at=soon))
        wait_until(self.undos, "the first undo")
        self.assertEqual(self.client.post("/v1/admin/cells/*/*/drain", {}).status, 200)
        gate.let_all()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["error"]["code"]), ("failed", "expired"))
        self.assertEqual(self.states(job), ["undone", "undone", "undone"])

    def test_every_service_needs_an_undo(self):
        self.start(self.config(services={
            "plain": {"type": "http", "url": self.provider.url + "/plain"},
            "mapped": {"type": "http", "url": self.provider.url, "mapping": {
                "actions": {"create": {"method": "PUT", "path": "/z"},
                            "delete": {"method": "DELETE", "path": "/z"}},
                "undo": {"create": {"method": "DELETE", "path": "/z"}}}}}))
        refused = self.client.post("/v1/jobs", self.to_undo(services=["dns", "plain"]))
        self.assert_problem(refused, 422)
        self.assertEqual(refused.pointers, ["/services/1"])
        self.assertIn("plain", refused.json["errors"][0]["detail"])
        self.submit(self.to_undo(services=["dns", "plain"], on_failure="stop"))
        self.submit(self.to_undo(services=["mapped"], delay_ms=3_600_000))
        refused = self.client.post("/v1/jobs", self.to_undo(services=["mapped"], action="delete"))
        self.assertEqual(refused.pointers, ["/services/0"])
        refused = self.client.post("/v1/jobs", self.to_undo(on_failure="explode"))
        self.assertEqual(refused.pointers, ["/on_failure"])

    def test_a_reload_keeps_what_a_compensation_needs(self):
        config = self.config()
        self.start(config)
        gate = self.provider.hold("/billing/undo")
        job_id = self.submit(self.to_undo())
        wait_until(self.undos, "the first undo")
        for change in ({"dns": None}, {"dns": {"type": "http", "url": self.provider.url + "/dns"}}):
            services = {**config["services"], **change}
            self.daemon.write_config(
                {**config, "services": {name: each for name, each in services.items() if each}})
            refused = self.client.post("/v1/admin/reload", {})
            self.assert_problem(refused, 422)
            self.assertEqual(refused.pointers, ["/services/dns"], refused)
        services = {name: each for name, each in config["services"].items() if name != "mail"}
        self.daemon.write_config({**config, "services": services})
        self.assertEqual(self.client.post("/v1/admin/reload", {}).status, 200)  # No job needs it.
        gate.let_all()
        self.assertEqual(self.states(self.wait_for_end(job_id)), ["undone", "undone", "failed"])

    def test_a_reload_keeps_the_undo_of_each_action_that_a_job_needs(self):
        requests = {"create": {"method": "PUT", "path": "/z"},
                    "delete": {"method": "DELETE", "path": "/z"}}

        def config(*undone):
            undo = {action: {"method": "PUT", "path": "/undo"} for action in undone}
            return self.config(services={"mapped": {
                "type": "http", "url": self.provider.url,
                "mapping": {"actions": requests, "undo": undo}}})

        self.start(config("create", "delete"))
        self.submit(self.to_undo(services=["mapped"], delay_ms=3_600_000))
        self.daemon.write_config(config("delete"))
        refused = self.client.post("/v1/admin/reload", {})
        self.assertEqual((refused.status, refused.pointers), (422, ["/services/mapped"]), refused)
        self.daemon.write_config(config("create"))
        self.assertEqual(self.client.post("/v1/admin/reload", {}).status, 200)

    def test_a_start_without_the_undo_holds_the_job(self):
        config = self.config()
        self.start(config)
        self.provider.hold("/billing/undo")
        job_id = self.submit(self.to_undo())
        wait_until(self.undos, "the first undo")
        self.daemon.kill()
        self.provider.always("/billing/undo", succeed())
        bare = {"type": "http", "url": self.provider.url + "/dns"}
        self.restart({**config, "services": {**config["services"], "dns": bare}})
        wait_until(lambda: self.job(job_id)["steps"][1]["state"] == "undone", "one undo")
        stays(lambda: self.job(job_id)["state"] == "compensating", "the job waits for the undo")
        self.daemon.write_config(config)
        self.assertEqual(self.client.post("/v1/admin/reload", {}).status, 200)
        self.assertEqual(self.states(self.wait_for_end(job_id)), ["undone", "undone", "failed"])

    def test_workers_outside_undo(self):
        self.start(self.config(services={"vm": {"type": "pull", "undo": {}}}))
        job_id = self.submit(self.to_undo(services=["vm", "mail"]))

        def lease():
            ask = {"worker": "host-1", "wait_ms": 20000}
            return self.client.post("/v1/services/vm/leases", ask).json["leases"][0]
        first = lease()
        self.assertEqual((first["undo"], first["idempotency_key"]), (False, f"{job_id}.vm"))
        done = f"/v1/leases/{first['lease']}/complete"
        self.assertEqual(self.client.post(done, {"properties": {"ip": "192.0.2.1"}}).status, 200)
        second = lease()
        self.assertEqual((second["undo"], second["idempotency_key"], second["attempt"]),
                         (True, f"{job_id}.vm.undo", 1))
        self.assertEqual(second["job"]["state"], "compensating")
        self.assert_problem(self.client.post(done, {}), 409, "lease-lost")
        beat = self.client.post(f"/v1/leases/{second['lease']}/heartbeat", {"progress": 0.5})
        self.assertFalse(beat.json["cancel"])
        self.assertEqual(self.client.post(f"/v1/leases/{second['lease']}/complete", {}).status, 200)
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], self.states(job)), ("failed", ["undone", "failed"]))

    def test_commands_undo(self):
        log = self.directory + "/log"
        script = f"read -r doc; echo \"$0 $doc\" >> {log}; echo '{{}}'"
        services = {
            "same": {"type": "command", "argv": ["/bin/sh", "-c", script, "same"], "undo": {}},
            "own": {"type": "command", "argv": ["/bin/sh", "-c", script, "do"],
                    "undo": {"argv": ["/bin/sh", "-c", script, "undo"]}}}
        self.start(self.config(services=services))
        job = self.wait_for_end(self.submit(self.to_undo(services=["same", "own", "mail"])))
        self.assertEqual(self.states(job), ["undone", "undone", "failed"])
        with open(log, encoding="utf-8") as file:
            lines = [line.split(" ", 1) for line in file]
        self.assertEqual([name for name, _ in lines], ["same", "do", "undo", "same"])
        self.assertEqual(["undo" in json.loads(text) for _, text in lines],
                         [False, False, True, True])

    def test_a_cancelled_batch_leaves_its_compensations_alone(self):
        self.start(self.config())
        gate = self.provider.hold("/billing/undo")
        batch = self.client.post("/v1/batches", [self.to_undo()]).json["id"]
        wait_until(self.undos, "the first undo")
        self.assertEqual(self.client.post(f"/v1/batches/{batch}/cancel", {}).status, 202)
        job, = self.client.get("/v1/jobs", batch=batch).json["items"]
        stays(lambda: self.job(job["id"])["state"] == "compensating", "the job undoes its steps")
        gate.let_all()
        wait_until(lambda: self.client.get(f"/v1/batches/{batch}").json["finished_at"], "its end")
        job = self.job(job["id"])
        self.assertEqual((job["error"]["code"], self.states(job)),
                         ("full", ["undone", "undone", "failed"]))
        self.assertEqual(self.client.get(f"/v1/batches/{batch}").json["states"]["failed"], 1)


class Followers(EndToEnd):
    def config(self, setting):
        return a_config(self.provider, cells=[{"on_predecessor_failed": setting}])

    def line(self, gate):
        """A job that fails, and three behind it."""
        jobs = [self.submit(a_job()) for _ in range(4)]
        wait_until(self.provider.calls_of, "the first call")
        gate.let(1)
        return [self.wait_for_end(job) for job in jobs]

    def hold_first(self):
        gate = self.provider.hold("/dns", answer(422, {"code": "full", "message": "no room"}))
        return gate

    def test_by_default_the_jobs_behind_a_failed_one_go_on(self):
        self.start()
        gate = self.hold_first()
        gate.let_all()
        self.assertEqual([job["state"] for job in self.line(gate)], ["failed"] * 4)

    def test_the_jobs_behind_a_failed_one_are_cancelled_where_the_cell_says_so(self):
        self.start(self.config("cancel"))
        other = self.submit(a_job("other.com"))
        self.assertEqual(self.wait_for_end(other)["state"], "succeeded")
        scheduled = self.submit(a_job(delay_ms=3_600_000))
        self.provider.calls.clear()
        ended = self.line(self.hold_first())
        self.assertEqual([(job["state"], job["error"]["code"]) for job in ended],
                         [("failed", "full")] + [("cancelled", "predecessor_failed")] * 3)
        self.assertEqual([job["steps"][0]["state"] for job in ended], ["failed"] + ["skipped"] * 3)
        self.assertEqual(self.job(scheduled)["state"], "scheduled")
        self.provider.always("/dns", succeed())
        later = self.submit(a_job())
        self.assertEqual(self.wait_for_end(later)["state"], "succeeded")

    def test_a_killed_celld_goes_on_cancelling(self):
        self.start(self.config("cancel"))
        gate = self.hold_first()
        jobs = [self.submit(a_job()) for _ in range(300)]
        wait_until(self.provider.calls_of, "the first call")
        gate.let(1)
        self.wait_for_end(jobs[3])
        self.daemon.kill()
        self.restart()
        ended = [self.wait_for_end(job)["state"] for job in jobs]
        self.assertEqual(ended, ["failed"] + ["cancelled"] * 299)
        self.assertEqual(len(self.provider.calls_of()), 1)
