"""Resizing pools, full queues, and the states of cells."""

import itertools
import unittest

from daemon import EndToEnd, a_config, a_job, stays, wait_until
from provider import slow

POOL = "/v1/admin/cells/*/*/pool"


def idle_pool(size):
    return {"target": size, "ready": size, "busy": 0, "retiring": 0, "borrowed": 0,
            "lent": 0}


class Pools(EndToEnd):
    def submit_many(self, count):
        return [self.submit(a_job(f"e{i}")) for i in range(count)]

    def resize(self, size, path=POOL):
        answer = self.client.put(path, {"size": size})
        self.assertEqual(answer.status, 202, answer)
        self.assertEqual(answer.json["pool"]["target"], size)
        self.assertEqual(answer.json["overrides"], {"pool.size": size})
        return answer.json

    def wait_for_running(self, count):
        wait_until(lambda: len(self.provider.running()) == count, f"{count} calls run")

    def test_a_growing_pool_starts_more_jobs_at_once(self):
        self.start(defaults={"pool": {"size": 2}})
        gate = self.provider.hold("/dns")
        ids = self.submit_many(12)
        self.wait_for_running(2)
        self.resize(7)
        self.wait_for_running(7)
        stays(lambda: len(self.provider.running()) == 7, "no more than seven run")
        gate.let_all()
        for job_id in ids:
            self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")

    def test_a_shrink_interrupts_nothing_and_starts_nothing_above_its_target(self):
        self.start(defaults={"pool": {"size": 8}})
        gate = self.provider.hold("/dns")
        ids = self.submit_many(20)
        self.wait_for_running(8)
        cell = self.resize(3)
        self.assertEqual(cell["pool"]["busy"] + cell["pool"]["retiring"], 8)
        self.assertEqual(self.cell()["queue"]["running"], 8)
        for running in range(7, 2, -1):
            gate.let(1)
            wait_until(lambda running=running: self.cell()["queue"]["running"] == running,
                       "one more has ended")
        stays(lambda: len(self.provider.calls_of()) == 8, "nothing starts while three run")
        pool = self.cell()["pool"]  # Any of the eight may retire.
        self.assertEqual((pool["target"], pool["busy"] + pool["retiring"]), (3, 3), pool)
        gate.let(1)
        wait_until(lambda: len(self.provider.calls_of()) == 9, "the next job starts")
        self.assertEqual(len(self.provider.running()), 3)
        gate.let_all()
        for job_id in ids:
            job = self.wait_for_end(job_id)
            self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1))
        self.assertEqual(len(self.provider.calls_of()), 20)

    def test_a_growth_counts_workers_that_are_still_retiring(self):
        self.start(defaults={"pool": {"size": 6}})
        gate = self.provider.hold("/dns")
        ids = self.submit_many(30)
        self.wait_for_running(6)
        self.resize(1)
        self.resize(7)
        self.wait_for_running(7)
        stays(lambda: len(self.provider.running()) == 7, "seven run, including the old ones")
        gate.let_all()
        for job_id in ids:
            self.wait_for_end(job_id)
        wait_until(lambda: self.cell()["pool"] == idle_pool(7), "seven workers are ready")

    def test_resizes_under_load_never_exceed_the_largest_size(self):
        self.start(defaults={"pool": {"size": 5}})
        self.provider.always("/dns", slow(0.02))
        ids = self.submit_many(400)
        for size in itertools.islice(itertools.cycle((1, 6, 3, 6, 2, 5)), 60):
            self.resize(size)
            seen = len(self.provider.calls_of())
            wait_until(lambda seen=seen: len(self.provider.calls_of()) > min(seen, 399),
                       "jobs continue to start")
        self.resize(6)
        for job_id in ids:
            job = self.wait_for_end(job_id)
            self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1), job)
        self.assertEqual(len(self.provider.calls_of()), 400)
        self.assertLessEqual(self.provider.peak(lambda call: "all")["all"], 6)

    def test_idle_workers_follow_a_resize(self):
        self.start()
        for size in (1, 1000, 1, 5000, 3):
            self.resize(size)
            wait_until(lambda size=size: self.cell()["pool"] == idle_pool(size),
                       f"{size} workers are ready")
        self.assertEqual(self.wait_for_end(self.submit(a_job()))["state"], "succeeded")

    def test_delete_removes_an_override(self):
        client = self.start()
        self.resize(9)
        gone = client.delete(POOL)
        self.assertIn(gone.status, (200, 202), gone)
        self.assertEqual((gone.json["pool"]["target"], gone.json["overrides"]), (4, {}))
        self.assertEqual(self.cell()["overrides"], {})
        self.assertEqual(self.cell()["quota"]["pool"], {"size": 4, "weight": 1})

    def test_an_override_survives_a_restart_and_a_crash(self):
        self.start()
        self.resize(9)
        self.assertEqual(self.daemon.stop(), 0)
        self.restart()
        cell = self.cell()
        self.assertEqual((cell["pool"]["target"], cell["overrides"]), (9, {"pool.size": 9}))
        self.resize(2)
        self.daemon.kill()
        self.restart()
        cell = self.cell()
        self.assertEqual((cell["pool"]["target"], cell["overrides"]), (2, {"pool.size": 2}))
        self.assertEqual(cell["quota"]["pool"], {"size": 4, "weight": 1})
        gate = self.provider.hold("/dns")
        self.submit_many(5)
        self.wait_for_running(2)
        stays(lambda: len(self.provider.running()) == 2, "two run")
        gate.let_all()
        self.client.delete(POOL)
        self.daemon.kill()
        self.restart()
        self.assertEqual(self.cell()["pool"]["target"], 4)

    def test_bad_sizes_are_refused(self):
        client = self.start()
        for body in ({"size": 0}, {"size": -1}, {"size": 100_001}, {"size": 2.5}, {"size": "3"},
                     {"size": None}, {"size": True}, {"size": 2**64 + 1}, {"size": []}):
            with self.subTest(body=body):
                refused = client.put(POOL, body)
                self.assert_problem(refused, 422)
                self.assertEqual(refused.pointers, ["/size"])
        self.assertEqual(client.put(POOL, {}).pointers, [""])
        self.assertEqual(client.put(POOL, {"size": 3, "x": 1}).pointers, ["/x"])
        self.assert_problem(client.put(POOL, [3]), 422)
        self.assert_problem(client.put(POOL, b""), 400)
        self.assert_problem(client.put(POOL + "?x=1", {"size": 3}), 422)
        self.assert_problem(client.put("/v1/admin/cells/no/cell/pool", {"size": 3}), 404)
        self.assert_problem(client.delete("/v1/admin/cells/no/cell/pool"), 404)
        self.assertEqual((self.cell()["pool"]["target"], self.cell()["overrides"]), (4, {}))

    def test_a_template_sets_the_initial_size_of_its_instances(self):
        self.start(a_config(self.provider, cells=[
            {"product": "mail", "per": ["customer"], "pool": {"size": 2}}, {}]))
        answer = self.client.put("/v1/admin/cells/*/mail/pool", {"size": 3})
        self.assertEqual(answer.status, 202, answer)
        gate = self.provider.hold("/dns")
        for i in range(6):
            self.submit(a_job(str(i), product="mail"))
        self.wait_for_running(3)
        self.assertEqual(self.cell("acme", "mail")["pool"]["target"], 3)
        self.resize(5, "/v1/admin/cells/acme/mail/pool")
        self.wait_for_running(5)
        gate.let_all()

    def test_an_override_keeps_an_instance_of_a_template_open(self):
        client = self.start(a_config(self.provider, cells=[
            {"product": "mail", "per": ["customer"], "pool": {"size": 2}}, {}]))
        gate = self.provider.hold("/dns")
        job_id = self.submit(a_job(product="mail"))
        self.resize(5, "/v1/admin/cells/acme/mail/pool")
        gate.let_all()
        self.wait_for_end(job_id)
        stays(lambda: client.get("/v1/cells/acme/mail").status == 200, "the cell is there")
        self.assertEqual(self.daemon.stop(), 0)
        client = self.restart()
        self.assertEqual(self.cell("acme", "mail")["pool"]["target"], 5)
        client.delete("/v1/admin/cells/acme/mail/pool")
        self.assertEqual(self.daemon.stop(), 0)
        client = self.restart()
        self.assert_problem(client.get("/v1/cells/acme/mail"), 404)


class FullQueues(EndToEnd):
    def test_a_full_queue_answers_429_with_its_limit_and_a_retry_after(self):
        client = self.start(cells=[{"customer": "acme", "queue": {"max_jobs": 5},
                                    "pool": {"size": 1}}, {}])
        gate = self.provider.hold("/dns")
        self.submit(a_job("later", delay_ms=3600000))
        ids = [self.submit(a_job(str(i))) for i in range(4)]
        refused = client.post("/v1/jobs", a_job("one more"))
        self.assert_problem(refused, 429, "queue-full")
        self.assertTrue(1 <= int(refused.headers["retry-after"]) <= 3600, refused)
        self.assertEqual(refused.json["cell"], {"customer": "acme", "product": "*"})
        self.assertEqual((refused.json["limit"], refused.json["depth"]), (5, 5))
        self.assertEqual(client.post("/v1/jobs", a_job(customer="bolt")).status, 202,
                         "another cell is not affected")
        gate.let_all()
        for job_id in ids:
            self.wait_for_end(job_id)
        self.wait_for_end(self.submit(a_job("one more")))

    def test_the_limit_of_a_queue_holds_after_a_crash(self):
        self.start(defaults={"queue": {"max_jobs": 3}, "pool": {"size": 1}})
        self.provider.hold("/dns")
        for i in range(3):
            self.submit(a_job(str(i)))
        self.daemon.kill()
        client = self.restart()
        refused = client.post("/v1/jobs", a_job("one more"))
        self.assert_problem(refused, 429, "queue-full")
        self.assertEqual((refused.json["limit"], refused.json["depth"]), (3, 3))


class CellStates(EndToEnd):
    def change(self, verb, cell="*/*"):
        return self.client.request("POST", f"/v1/admin/cells/{cell}/{verb}")

    def test_a_paused_cell_accepts_jobs_and_starts_none_even_after_a_restart(self):
        self.start()
        paused = self.change("pause")
        self.assertEqual((paused.status, paused.json["state"]), (200, "paused"), paused)
        job_id = self.submit(a_job())
        stays(lambda: self.job(job_id)["state"] == "queued", "the job is queued")
        self.daemon.kill()
        self.restart()
        self.assertEqual(self.cell()["state"], "paused")
        stays(lambda: self.job(job_id)["state"] == "queued", "the job is queued")
        self.assertEqual(self.provider.calls_of(), [])
        self.assertEqual(self.change("resume").json["state"], "active")
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")

    def test_a_draining_cell_refuses_new_jobs_and_finishes_its_own(self):
        self.start(cells=[{"customer": "acme"}, {}])
        self.provider.hold("/dns")
        job_id = self.submit(a_job())
        drained = self.change("drain", "acme/*")
        self.assertEqual((drained.status, drained.json["state"]), (200, "draining"), drained)
        refused = self.client.post("/v1/jobs", a_job("b"))
        self.assert_problem(refused, 503, "cell-draining")
        self.assertIn("retry-after", refused.headers)
        self.submit(a_job(customer="bolt"))
        self.provider.release_all()
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")
        self.change("resume", "acme/*")
        self.submit(a_job("b"))

    def test_templates_have_no_state(self):
        self.start(cells=[{"product": "dns", "per": ["customer"]}])
        self.assert_problem(self.change("pause", "*/dns"), 409, "is-template")
        self.assert_problem(self.change("pause", "unknown/dns"), 404, "not-found")
        self.assert_problem(self.client.request("POST", "/v1/admin/cells/*/dns/pause",
                                                {"for": 1}), 422, "invalid-request")
        self.submit(a_job(delay_ms=60000))
        self.assertEqual(self.change("pause", "acme/dns").json["state"], "paused")

if __name__ == "__main__":
    unittest.main()
