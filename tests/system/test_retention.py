"""Ended jobs are removed after retention_ms, with everything that belongs to them."""

import contextlib
import os
import sqlite3
import unittest

from daemon import EndToEnd, a_config, a_job, stays, wait_until
from provider import answer


class Retention(EndToEnd):
    def is_gone(self, job_id):
        return self.client.get(f"/v1/jobs/{job_id}").status == 404

    def rows(self, table):
        path = os.path.join(self.daemon.data, "celld.db")
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    def test_an_ended_job_is_removed_after_its_retention_with_its_key_and_labels(self):
        self.start(retention_ms=1000)
        key = {"Idempotency-Key": "k-1"}
        waiting = self.submit(a_job("waiting", delay_ms=3_600_000, labels={"a": "b"}))
        first = self.submit(a_job(labels={"a": "b"}), **key)
        self.wait_for_end(first)
        again = self.client.post("/v1/jobs", a_job(labels={"a": "b"}), **key)
        self.assertEqual((again.status, again.json["id"]), (200, first))
        wait_until(lambda: self.is_gone(first), "the job is removed")
        for order in ("cancel", "retry"):
            self.assert_problem(self.client.post(f"/v1/jobs/{first}/{order}", {}), 404)
        listed = self.client.get("/v1/jobs", **{"label.a": "b"}).json["items"]
        self.assertEqual([job["id"] for job in listed], [waiting])
        self.assertEqual([self.rows(table) for table in ("jobs", "job_labels", "idempotency_keys")],
                         [1, 1, 0])
        second = self.submit(a_job(labels={"other": "request"}), **key)
        self.assertNotEqual(second, first)
        self.assertEqual(self.job(waiting)["state"], "scheduled")

    def test_a_restart_removes_expired_jobs_but_not_retried_ones(self):
        self.start(retention_ms=60_000)
        self.provider.always("/dns", answer(400, b"no"))
        old = [self.submit(a_job(str(i))) for i in range(150)]
        retried = self.submit(a_job("retried"))
        for job_id in [*old, retried]:
            self.wait_for_end(job_id)
        gate = self.provider.hold("/dns")
        self.assertEqual(self.client.post(f"/v1/jobs/{retried}/retry", {}).status, 202)
        wait_until(self.provider.running, "the job runs again")
        self.daemon.kill()
        self.restart(a_config(self.provider, retention_ms=1000))
        wait_until(lambda: all(self.is_gone(job_id) for job_id in old), "all old jobs are removed")
        stays(lambda: not self.is_gone(retried), "the reopened job is kept")
        gate.let_all()
        self.assertEqual(self.wait_for_end(retried)["state"], "succeeded")


if __name__ == "__main__":
    unittest.main()
