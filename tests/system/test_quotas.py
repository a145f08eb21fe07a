"""Quotas of cells and of customers, weights and priorities."""

import json
import time
import unittest

from daemon import EndToEnd, a_job, stays, wait_until
from provider import slow

NDJSON = {"Content-Type": "application/x-ndjson"}
QUOTA = "/v1/admin/cells/*/*/quota"


def of_customers(**quota):
    return {"customers": {"quota": quota}}


class Quotas(EndToEnd):
    def refused(self, job, quota, slug="quota-exceeded"):
        answer = self.client.post("/v1/jobs", job)
        self.assert_problem(answer, 429, slug)
        self.assertEqual(answer.json["quota"], quota)
        self.assertEqual(answer.json["cell"], {"customer": "*", "product": "*"})
        self.assertTrue(1 <= int(answer.headers["retry-after"]) <= 3600, answer)
        return answer.json

    def test_a_customer_at_its_jobs_leaves_the_places_of_others_free(self):
        self.start(cells=[{"queue": {"max_jobs": 5}, **of_customers(max_jobs=2)}])
        gate = self.provider.hold("/dns")
        for i in range(2):
            self.submit(a_job(f"e{i}"))
        problem = self.refused(a_job("e3"), "customer.max_jobs")
        self.assertEqual((problem["limit"], problem["depth"]), (2, 2))
        self.submit(a_job("e4", customer="bolt"))
        self.daemon.kill()
        self.restart()
        self.refused(a_job("e3"), "customer.max_jobs")
        gate.let_all()
        wait_until(lambda: self.cell()["queue"]["running"] == 0, "the jobs end")
        self.submit(a_job("e3"))

    def test_bytes_of_customers_and_of_the_cell_are_limited(self):
        self.start(cells=[{"queue": {"max_bytes": 200_000}, **of_customers(max_bytes=100_000)}])
        self.provider.hold("/dns")
        big = {"text": "x" * 60_000}
        self.submit(a_job("a", parameters=big))
        bytes_of_one = self.cell()["queue"]["bytes"]
        self.assertTrue(60_000 < bytes_of_one < 62_000, bytes_of_one)
        self.refused(a_job("b", parameters=big), "customer.max_bytes")
        for customer in ("bolt", "cork"):
            self.submit(a_job("a", customer=customer, parameters=big))
        self.refused(a_job("a", customer="dent", parameters=big), "queue.max_bytes", "queue-full")
        self.daemon.kill()
        self.restart()
        self.assertEqual(self.cell()["queue"]["bytes"], 3 * bytes_of_one)

    def test_the_holder_of_a_key_is_found_before_the_quota(self):
        self.start(cells=[of_customers(max_jobs=1, submissions_per_s=0.001)])
        self.provider.hold("/dns")
        job = a_job("a", idempotency_key="k")
        first = self.submit(job)
        again = self.client.post("/v1/jobs", job)
        self.assertEqual((again.status, again.json["id"]), (200, first), again)
        self.refused(a_job("b", idempotency_key="l"), "customer.submissions_per_s")

    def test_submissions_keep_to_their_rate_and_say_when_to_return(self):
        self.start(cells=[of_customers(submissions_per_s=0.5, submissions_burst=3)])
        for i in range(3):
            self.submit(a_job(f"e{i}"))
        began = time.monotonic()
        first = self.client.post("/v1/jobs", a_job("x"))
        second = self.client.post("/v1/jobs", a_job("y"))
        self.assertEqual((first.status, second.status), (429, 429))
        self.submit(a_job("z", customer="bolt"))
        for answer in (first, second):
            time.sleep(max(0, began + int(answer.headers["retry-after"]) - time.monotonic()))
            self.submit(a_job("x"))
        self.assert_in_time("the submissions", time.monotonic() - began, 8)

    def test_a_customer_at_max_running_does_not_hold_up_others(self):
        self.start(cells=[{"pool": {"size": 4}, **of_customers(max_running=1)}])
        gate = self.provider.hold("/dns")
        for i in range(20):
            self.submit(a_job(f"e{i}"))
        wait_until(lambda: len(self.provider.running()) == 1, "one of acme's runs")
        self.submit(a_job("b", customer="bolt"))
        wait_until(lambda: len(self.provider.running()) == 2, "bolt's runs")
        stays(lambda: len(self.provider.running()) == 2, "no more run")
        self.daemon.kill()
        self.restart()
        wait_until(lambda: len(self.provider.running()) == 2, "one of each runs again")
        stays(lambda: self.cell()["queue"]["running"] == 2, "no more run after a restart")
        self.client.put(QUOTA, of_customers(max_running=None))
        wait_until(lambda: self.cell()["queue"]["running"] == 4, "the limit was lifted")
        gate.let_all()
        wait_until(lambda: self.cell()["queue"]["queued"] == 0, "all run")

    def test_an_override_holds_at_once_survives_a_restart_and_is_removed(self):
        self.start(cells=[{"queue": {"max_jobs": 100}}])
        self.provider.hold("/dns")
        answer = self.client.put(QUOTA, {"queue": {"max_jobs": 1}, **of_customers(max_running=3)})
        self.assertEqual(answer.status, 202, answer)
        overrides = {"queue.max_jobs": 1, "customers.quota.max_running": 3}
        self.assertEqual(answer.json["overrides"], overrides)
        self.assertEqual(answer.json["queue"]["max_jobs"], 1)
        self.assertEqual(answer.json["quota"]["queue"]["max_jobs"], 100)
        self.submit(a_job("a"))
        self.refused(a_job("b"), "queue.max_jobs", "queue-full")
        self.daemon.kill()
        self.restart()
        self.assertEqual(self.cell()["overrides"], overrides)
        self.refused(a_job("b"), "queue.max_jobs", "queue-full")
        self.assertEqual(self.client.request("DELETE", QUOTA).json["overrides"], {})
        self.submit(a_job("b"))

    def test_a_wrong_quota_is_refused_with_all_its_faults(self):
        self.start()
        answer = self.client.put(QUOTA, {"queue": {"max_jobs": None, "size": 1},
                                         "customers": {"quota": {"max_running": 0}, "weights": {}}})
        self.assert_problem(answer, 422, "invalid-request")
        self.assertEqual({each["pointer"] for each in answer.json["errors"]},
                         {"/queue/max_jobs", "/queue/size", "/customers/quota/max_running",
                          "/customers/weights"})
        self.assert_problem(self.client.put(QUOTA, {}), 422, "invalid-request")

    def test_a_rate_slows_a_batch_down(self):
        self.start(cells=[of_customers(submissions_per_s=50, submissions_burst=10)])
        body = "".join(json.dumps(a_job(f"e{i}")) + "\n" for i in range(110)).encode()
        began = time.monotonic()
        answer = self.client.request("POST", "/v1/batches", body, NDJSON)
        took = time.monotonic() - began
        self.assertEqual((answer.status, answer.json["accepted"], answer.json["stopped_at_line"]),
                         (202, 110, None), answer)
        self.assertGreater(took, 1.5)
        self.assert_in_time("the batch", took, 8)

    def test_a_customers_limit_of_jobs_ends_a_batch(self):
        self.start(cells=[of_customers(max_jobs=7)])
        self.provider.hold("/dns")
        body = "".join(json.dumps(a_job(f"e{i}")) + "\n" for i in range(20)).encode()
        answer = self.client.request("POST", "/v1/batches", body, NDJSON)
        self.assertEqual((answer.status, answer.json["accepted"], answer.json["stopped_at_line"]),
                         (202, 7, 8), answer)
        self.assertEqual(answer.json["errors"][-1]["status"], 429)

    def test_a_batch_names_each_line_that_was_refused_before_an_accepted_one(self):
        """There is such a line as soon as one commit has lines of both kinds."""
        self.start(cells=[of_customers(max_jobs=7)])
        self.provider.hold("/dns")
        self.assertTrue(any(self.refused_lines(batch) for batch in range(20)))

    def refused_lines(self, batch):
        """The lines that a batch names as refused; half of its lines are for one new customer."""
        jobs = [a_job(f"e{line}", customer=f"c{batch}-{line * (line % 2)}")
                for line in range(1, 501)]
        body = "".join(json.dumps(job) + "\n" for job in jobs).encode()
        report = self.client.request("POST", "/v1/batches", body, NDJSON).json
        refused = report.get("refused_lines", [])
        self.assertEqual(report["rejected"], len(refused), report)
        jobs = self.client.get("/v1/jobs", batch=report["id"], limit=1000).json["items"]
        self.assertEqual({job["entity"]["id"] for job in jobs},
                         {f"e{line}" for line in range(1, report["stopped_at_line"])
                          if line not in refused})
        return refused


class Shares(EndToEnd):
    def first_calls(self, count):
        """The customers of the first calls, of a cell that was paused while its jobs came."""
        self.client.request("POST", "/v1/admin/cells/*/*/resume")
        wait_until(lambda: len(self.provider.calls_of()) >= count, f"{count} were called")
        return [call.body["customer"] for call in self.provider.calls_of()[:count]]

    def submit_paused(self, jobs):
        self.provider.always("/dns", slow(0.02))
        self.client.request("POST", "/v1/admin/cells/*/*/pause")
        for job in jobs:
            self.submit(job)

    def test_customers_share_a_cell_by_their_weights(self):
        self.start(cells=[{"pool": {"size": 1}, "customers": {"weights": {"gold": 3, "*": 1}}}])
        self.submit_paused([a_job(f"e{i}", customer=customer)
                            for i in range(40) for customer in ("acme", "gold")])
        calls = self.first_calls(40)
        self.assertTrue(25 <= calls.count("gold") <= 35, calls)

    def test_a_priority_may_count_as_age(self):
        self.start(cells=[{"pool": {"size": 1}, "priority_step_ms": 60_000}])
        self.submit_paused([a_job("first", priority=1), a_job("second", priority=2),
                            a_job("third", priority=1)])
        self.client.request("POST", "/v1/admin/cells/*/*/resume")
        wait_until(lambda: len(self.provider.calls_of()) == 3, "all were called")
        self.assertEqual([call.body["entity"]["id"] for call in self.provider.calls_of()],
                         ["second", "first", "third"])


if __name__ == "__main__":
    unittest.main()
