"""Requests about existing jobs: repeated submissions, cancellations and reopenings."""

import threading
import unittest

from daemon import ENDED, EndToEnd, a_job, stays, wait_until
from provider import answer, succeed


class Idempotency(EndToEnd):
    def post(self, job, key, **headers):
        return self.client.post("/v1/jobs", job, **{"Idempotency-Key": key}, **headers)

    def test_a_repeated_request_is_answered_with_the_same_job(self):
        self.start()
        first = self.post(a_job(), "k-1")
        self.assertEqual(first.status, 202, first)
        self.assertNotIn("idempotent-replayed", first.headers)
        self.wait_for_end(first.json["id"])
        again = self.post(a_job(), "k-1")
        self.assertEqual(again.status, 200, again)
        self.assertEqual(again.headers["idempotent-replayed"], "true")
        self.assertEqual(again.headers["location"], first.headers["location"])
        self.assertEqual((again.json["id"], again.json["state"]), (first.json["id"], "succeeded"))
        self.assertEqual(len(self.provider.calls_of()), 1)

    def test_a_key_survives_a_kill(self):
        self.start()
        first = self.post(a_job(), "k-1")
        self.daemon.kill()
        self.restart()
        self.assertEqual(self.post(a_job(), "k-1").json["id"], first.json["id"])

    def test_a_different_request_with_the_same_key_is_refused(self):
        self.start()
        self.post(a_job(), "k-1")
        for changed in (a_job(priority=6), a_job("other.example"), a_job(product="mail")):
            self.assert_problem(self.post(changed, "k-1"), 422, "idempotency-key-reused")
        self.assertEqual(self.post(a_job(customer="bolt"), "k-1").status, 202)

    def test_the_key_may_be_in_the_body(self):
        self.start()
        first = self.client.post("/v1/jobs", a_job(idempotency_key="k-1"))
        self.assertEqual(first.status, 202, first)
        self.assertEqual(self.post(a_job(), "k-1").json["id"], first.json["id"])
        both = self.post(a_job(idempotency_key="k-1"), "k-1")
        self.assertEqual((both.status, both.json["id"]), (200, first.json["id"]))
        differing = self.post(a_job(idempotency_key="k-1"), "k-2")
        self.assert_problem(differing, 422, "invalid-request")
        self.assertEqual(differing.pointers, ["/idempotency_key"])

    def test_an_invalid_key_is_reported(self):
        self.start()
        for wrong in ("", "a b", "ä", "a%41", "k" * 256, "a,b"):
            refused = self.post(a_job(), wrong.encode())
            self.assert_problem(refused, 422, "invalid-request")
            self.assertIn("Idempotency-Key", refused.json["errors"][0]["detail"])
        for wrong in ("", "a b", 7, None, "k" * 256):
            refused = self.client.post("/v1/jobs", a_job(idempotency_key=wrong))
            self.assert_problem(refused, 422, "invalid-request")
            self.assertEqual(refused.pointers, ["/idempotency_key"])

    def test_one_of_many_simultaneous_requests_creates_the_job(self):
        self.start()
        answers = []

        def post():
            client = self.daemon.client()
            answers.append(client.post("/v1/jobs", a_job(), **{"Idempotency-Key": "k-1"}))
            client.close()

        threads = [threading.Thread(target=post) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(each.status for each in answers), [200] * 19 + [202])
        self.assertEqual(len({each.json["id"] for each in answers}), 1)

    def test_the_key_is_looked_up_before_the_quota(self):
        self.start(cells=[{"queue": {"max_jobs": 1}}])
        self.provider.hold("/dns")
        first = self.post(a_job(), "k-1")
        self.assert_problem(self.post(a_job("b"), "k-2"), 429, "queue-full")
        self.assertEqual(self.post(a_job(), "k-1").json["id"], first.json["id"])
        self.assert_problem(self.post(a_job("c"), "k-1"), 422, "idempotency-key-reused")
        self.provider.release_all()
        self.wait_for_end(first.json["id"])
        self.assertEqual(self.post(a_job("b"), "k-2").status, 202)  # The refusal left no trace.

    def test_a_repeated_request_may_wait_for_the_end(self):
        self.start()
        self.provider.hold("/dns")
        first = self.post(a_job(), "k-1")
        answers = []
        client = self.daemon.client()
        thread = threading.Thread(target=lambda: answers.append(client.post(
            "/v1/jobs", a_job(), **{"Idempotency-Key": "k-1", "Prefer": "wait=30"})))
        thread.start()
        stays(lambda: not answers, "the client that waits is not answered")
        self.provider.release_all()
        thread.join()
        self.assertEqual((answers[0].status, answers[0].json["state"]), (200, "succeeded"))
        late = self.post(a_job(), "k-1", Prefer="wait=30")
        self.assertEqual((late.status, late.json["id"]), (200, first.json["id"]))
        client.close()


class Cancelling(EndToEnd):
    def cancel(self, job_id, body=None):
        return self.client.request("POST", f"/v1/jobs/{job_id}/cancel", body)

    def test_a_waiting_job_is_cancelled_at_once(self):
        self.start(defaults={"pool": {"size": 1}, "timeout_ms": 20000})
        self.provider.hold("/dns")
        running = self.submit(a_job("a"))
        queued = self.submit(a_job("b", services=["dns", "billing"]))
        scheduled = self.submit(a_job("c", delay_ms=60000))
        for job_id in (queued, scheduled):
            cancelled = self.cancel(job_id)
            self.assertEqual(cancelled.status, 200, cancelled)
            job = cancelled.json
            self.assertEqual((job["state"], job["cancel_requested"]), ("cancelled", True))
            self.assertEqual(job["error"], {"code": "cancelled", "message": "the job was cancelled",
                                            "service": None})
            self.assertEqual({step["state"] for step in job["steps"]}, {"skipped"})
            self.assertIsNotNone(job["finished_at"])
            self.assertEqual(job["messages"], [])
            self.assertEqual(self.job(job_id), job)
        self.provider.release_all()
        self.assertEqual(self.wait_for_end(running)["state"], "succeeded")
        self.assertEqual(len(self.provider.calls_of()), 1)

    def test_a_running_job_is_aborted(self):
        self.start()
        self.provider.hold("/dns")
        job_id = self.submit(a_job(services=["dns", "billing"]))
        wait_until(self.provider.calls_of, "the provider is called")
        answered = self.cancel(job_id)
        self.assertEqual((answered.status, answered.json["cancel_requested"]), (200, True))
        self.assertIn(answered.json["state"], ("running", "cancelled"))
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["error"]["code"]), ("cancelled", "cancelled"))
        self.assertEqual([step["state"] for step in job["steps"]], ["failed", "skipped"])
        [call] = self.provider.calls_of()
        wait_until(lambda: call.aborted, "the call is aborted")
        self.assertEqual(self.cell()["queue"]["running"], 0)

    def test_a_cancelled_job_that_is_retrying_makes_no_further_attempt(self):
        self.start(defaults={"retry": {"max_attempts": 5, "backoff_ms": 60000,
                                       "backoff_max_ms": 60000}})
        self.provider.always("/dns", answer(500))
        job_id = self.submit(a_job())
        self.wait_for_state(job_id, "retrying")
        job = self.cancel(job_id).json
        self.assertEqual((job["state"], job["steps"][0]["state"]), ("cancelled", "failed"))

    def test_an_ended_job_is_not_cancelled(self):
        self.start()
        job_id = self.submit(a_job())
        self.wait_for_end(job_id)
        self.assert_problem(self.cancel(job_id), 409, "not-cancellable")
        self.assertIn("succeeded", self.cancel(job_id).json["detail"])
        self.assertEqual(self.job(job_id)["state"], "succeeded")

    def test_only_existing_jobs_can_be_cancelled(self):
        self.start()
        job_id = self.submit(a_job(delay_ms=60000))
        other = job_id[:-1] + ("1" if job_id[-1] == "0" else "0")
        for unknown in (job_id[:-1], other, "x", "%41x"):
            self.assert_problem(self.cancel(unknown), 404, "not-found")
        self.assert_problem(self.cancel(job_id, {"force": True}), 422, "invalid-request")
        self.assert_problem(self.client.request("GET", f"/v1/jobs/{job_id}/cancel"), 405)
        self.assertEqual(self.cancel(job_id, {}).status, 200)

    def test_an_entity_line_continues_when_its_head_is_cancelled(self):
        self.start()
        self.provider.hold("/dns")
        first = self.submit(a_job())
        second = self.submit(a_job())
        wait_until(self.provider.calls_of, "the provider is called")
        self.cancel(first)
        self.wait_for_end(first)
        self.provider.release_all()
        self.assertEqual(self.wait_for_end(second)["state"], "succeeded")

    def test_a_cancellation_racing_with_the_end_has_one_outcome(self):
        self.start()
        ids = [self.submit(a_job(f"e-{i}")) for i in range(100)]
        answers = [(job_id, self.cancel(job_id)) for job_id in ids]
        for job_id, answered in answers:
            job = self.wait_for_end(job_id)
            self.assertIn(answered.status, (200, 409), answered)
            self.assertEqual(job["state"] == "cancelled", answered.status == 200, job)


class Retrying(EndToEnd):
    def retry(self, job_id):
        return self.client.request("POST", f"/v1/jobs/{job_id}/retry")

    def failed_job(self):
        self.provider.always("/billing", answer(422))
        job_id = self.submit(a_job(services=["dns", "billing"]))
        self.assertEqual(self.wait_for_end(job_id)["state"], "failed")
        return job_id

    def test_a_failed_job_resumes_at_its_first_unfinished_service(self):
        self.start()
        job_id = self.failed_job()
        self.provider.always("/billing", succeed())
        answered = self.retry(job_id)
        self.assertEqual(answered.status, 202, answered)
        self.assertEqual(answered.headers["location"], f"/v1/jobs/{job_id}")
        self.assertEqual((answered.json["state"], answered.json["error"]), ("queued", None))
        self.assertEqual(answered.json["attempt"], 0)
        job = self.wait_for_end(job_id)
        self.assertEqual((job["state"], job["attempt"]), ("succeeded", 1))
        self.assertEqual(len(self.provider.calls_of("/dns")), 1)
        self.assertEqual(len({call.key for call in self.provider.calls_of("/billing")}), 1)

    def test_only_failed_and_cancelled_jobs_are_retried(self):
        self.start()
        done = self.submit(a_job("a"))
        waiting = self.submit(a_job("b", delay_ms=60000))
        self.wait_for_end(done)
        for job_id in (done, waiting):
            self.assert_problem(self.retry(job_id), 409, "not-retryable")
        self.client.request("POST", f"/v1/jobs/{waiting}/cancel")
        self.assertEqual(self.retry(waiting).status, 202)
        self.assertEqual(self.wait_for_end(waiting)["state"], "succeeded")
        self.assert_problem(self.retry("nothing"), 404, "not-found")

    def test_a_retry_survives_a_kill(self):
        self.start()
        job_id = self.failed_job()
        self.provider.always("/billing", succeed())
        self.provider.hold("/billing")
        self.assertEqual(self.retry(job_id).status, 202)
        self.daemon.kill()
        self.provider.release_all()
        self.restart()
        self.assertEqual(self.wait_for_end(job_id)["state"], "succeeded")

    def test_one_of_many_simultaneous_retries_is_accepted(self):
        self.start()
        job_id = self.failed_job()
        self.provider.hold("/billing")
        statuses = []

        def retry():
            client = self.daemon.client()
            statuses.append(client.request("POST", f"/v1/jobs/{job_id}/retry").status)
            client.close()

        threads = [threading.Thread(target=retry) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(statuses), [202] + [409] * 9)

    def test_a_full_cell_refuses_a_retry(self):
        self.start(cells=[{"queue": {"max_jobs": 1}}])
        job_id = self.failed_job()
        self.provider.hold("/dns")
        self.submit(a_job("b"))
        self.assert_problem(self.retry(job_id), 429, "queue-full")
        self.assertIn(self.job(job_id)["state"], ENDED)


if __name__ == "__main__":
    unittest.main()
