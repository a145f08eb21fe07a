"""Workers outside the daemon, which lease the jobs of a service of the type `pull`."""

import socket
import threading
import unittest

from daemon import EndToEnd, a_config, a_job, stays, wait_until

SERVICES = {"vm": {"type": "pull"}, "demo": {"type": "simulated"}}
LEASES = "/v1/services/vm/leases"


def a_pull_job(entity_id, **changes):
    return a_job(entity_id, **{"services": ["vm"], **changes})


class Workers(EndToEnd):
    def start(self, config=None, **changes):
        super().start(config, **{"services": SERVICES, **changes})

    def lease(self, worker="host-1", client=None, **order):
        answer = (client or self.client).post(LEASES, {"worker": worker, **order})
        self.assertEqual(answer.status, 200, answer)
        return answer.json["leases"]

    def act(self, lease, action, body=None):
        return self.client.post(f"/v1/leases/{lease['lease']}/{action}", body or {})

    def complete(self, lease, **result):
        answer = self.act(lease, "complete", result)
        self.assertEqual(answer.status, 200, answer)

    def in_background(self, **order):
        """Leases on a connection of its own. Returns the list that gets the leases, and the
        thread."""
        got = []

        def ask():
            client = self.daemon.client()
            got.append(self.lease(client=client, **order))
            client.close()
        thread = threading.Thread(target=ask)
        thread.start()
        self.addCleanup(thread.join)
        return got, thread

    def test_a_worker_leases_a_job_and_completes_it(self):
        self.start()
        job = self.submit(a_pull_job("a", parameters={"size": 1.50}))
        self.assertEqual(self.job(job)["state"], "queued")
        lease, = self.lease()
        self.assertEqual((lease["job"]["id"], lease["attempt"], lease["undo"]), (job, 1, False))
        self.assertEqual(lease["idempotency_key"], f"{job}.vm")
        self.assertEqual(lease["job"]["parameters"], {"size": 1.50})
        held = self.act(lease, "heartbeat", {"progress": 0.4, "message": "cloning"})
        self.assertEqual((held.status, held.json["cancel"]), (200, False))
        wait_until(lambda: self.job(job)["steps"][0]["progress"] == 0.4, "the progress shows")
        self.complete(lease, properties={"ip": "10.0.0.1"}, messages=[{"text": "made"}])
        ended = self.job(job)
        self.assertEqual((ended["state"], ended["properties"]), ("succeeded", {"ip": "10.0.0.1"}))
        self.assertEqual([(each["service"], each["text"]) for each in ended["messages"]],
                         [("vm", "cloning"), ("vm", "made")])
        self.complete(lease)  # The same call again.
        twice = [{"lease": lease["lease"], "outcome": "complete"}] * 2
        self.assertEqual([each["status"] for each in
                          self.client.post("/v1/leases/report", twice).json["results"]], [200, 200])
        self.assert_problem(self.act(lease, "fail", {"code": "x"}), 409, "lease-lost")

    def test_a_waiting_worker_is_woken_by_a_job(self):
        self.start()
        got, thread = self.in_background(wait_ms=60_000)
        stays(lambda: not got, "nothing is leased before there is a job")
        job = self.submit(a_pull_job("a"))
        thread.join()
        self.assertEqual([lease["job"]["id"] for lease in got[0]], [job])

    def wait_for_waiting(self, count):
        gauge = f'\ncelld_lease_requests_waiting{{service="vm"}} {count}\n'.encode()
        wait_until(lambda: gauge in self.client.get("/metrics").body, f"{count} workers wait")

    def test_a_worker_that_has_gone_gets_no_lease(self):
        self.start()
        jobs = []
        for reset in (False, True):  # A worker that was killed, and a machine that was restarted.
            gone = self.daemon.client()
            gone.connection.connect()
            gone.connection.request("POST", LEASES, '{"worker": "gone", "wait_ms": 60000}',
                                    {"Content-Type": "application/json"})
            self.wait_for_waiting(1)
            if reset:
                gone.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                                b"\1\0\0\0\0\0\0\0")
            gone.connection.sock.close()
            self.wait_for_waiting(0)
            jobs.append(self.submit(a_pull_job(f"e{reset}")))
            lease, = self.lease("host-1", wait_ms=10_000)
            self.assertEqual((lease["job"]["id"], lease["attempt"]), (jobs[-1], 1))

    def test_a_lease_survives_a_stop_a_kill_and_a_restart(self):
        self.start(defaults={"timeout_ms": 60_000})
        jobs = [self.submit(a_pull_job(entity)) for entity in "ab"]
        leases = self.lease("host-1", max=2)
        self.assertEqual([lease["job"]["id"] for lease in leases], jobs)
        self.daemon.kill()
        self.restart()
        again = self.client.get("/v1/leases", worker="host-1").json["items"]
        self.assertEqual([each["lease"] for each in again], [each["lease"] for each in leases])
        self.assertEqual(self.client.get("/v1/leases", worker="host-2").json["items"], [])
        self.complete(again[0])
        self.assertEqual(self.daemon.stop(), 0)
        self.restart()
        self.complete(leases[0])  # The same call again, after a restart.
        self.complete(leases[1])
        for job in jobs:
            self.assertEqual((self.job(job)["state"], self.job(job)["attempt"]), ("succeeded", 1))

    def test_a_stop_answers_waiting_workers_and_waits_for_no_lease(self):
        self.start(shutdown_grace_ms=60_000)
        self.submit(a_pull_job("a"))
        self.lease()
        got, thread = self.in_background(wait_ms=60_000)
        self.wait_for_waiting(1)
        self.assertEqual(self.daemon.stop(), 0)
        thread.join()
        self.assertEqual(got, [[]])

    def test_the_pool_bounds_the_leases(self):
        self.start(defaults={"pool": {"size": 3}})
        for number in range(6):
            self.submit(a_pull_job(f"e{number}"))
        leases = self.lease(max=10)
        self.assertEqual(len(leases), 3)
        pool = self.cell()["pool"]
        self.assertEqual((pool["target"], pool["busy"], pool["ready"]), (3, 3, 0))
        self.client.put("/v1/admin/cells/*/*/pool", {"size": 1})
        for lease in leases[:2]:
            self.complete(lease)
            self.assertEqual(self.lease(), [])
        got, thread = self.in_background(wait_ms=60_000)
        self.client.put("/v1/admin/cells/*/*/pool", {"size": 2})
        thread.join()
        self.assertEqual(len(got[0]), 1)

    def test_a_worker_that_stalls_costs_its_job_one_timeout(self):
        self.start(defaults={"timeout_ms": 2000, "retry": {"backoff_ms": 1}})
        job = self.submit(a_pull_job("a"))
        stalled, = self.lease("stalled")
        lease, = self.lease("host-1", wait_ms=20_000)
        self.assertEqual((lease["job"]["id"], lease["attempt"]), (job, 2))
        self.assert_problem(self.act(stalled, "complete"), 409, "lease-lost")
        self.assert_problem(self.act(stalled, "heartbeat"), 409, "lease-lost")
        self.complete(lease)
        self.assertEqual(self.job(job)["state"], "succeeded")

    def test_a_worker_learns_of_a_cancellation(self):
        self.start()
        job = self.submit(a_pull_job("a"))
        lease, = self.lease()
        self.assertEqual(self.client.post(f"/v1/jobs/{job}/cancel", {}).status, 200)
        self.assertTrue(self.act(lease, "heartbeat").json["cancel"])
        self.assertEqual(self.act(lease, "fail", {"code": "gave_up"}).status, 200)
        self.assertEqual(self.job(job)["state"], "cancelled")

    def test_jobs_that_no_worker_leases_hold_up_no_other(self):
        self.start(defaults={"pool": {"size": 1}})
        for number in range(3000):
            self.submit(a_pull_job(f"e{number}"))
        job = self.submit(a_job("inside", services=["demo"]))
        self.assertEqual(self.wait_for_end(job)["state"], "succeeded")

    def test_many_reports_are_answered_one_by_one(self):
        self.start(defaults={"pool": {"size": 100}})
        for number in range(100):
            self.submit(a_pull_job(f"e{number}"))
        leases = self.lease(max=100)
        self.assertEqual(len(leases), 100)
        reports = [{"lease": each["lease"], "outcome": "complete"} for each in leases[:99]]
        reports.append({"lease": leases[99]["lease"], "outcome": "fail", "code": "no",
                        "retryable": False})
        reports.append({"lease": "guessed", "outcome": "complete"})
        results = self.client.post("/v1/leases/report", reports).json["results"]
        self.assertEqual([each["status"] for each in results], [200] * 100 + [409])
        ended = self.client.get("/v1/jobs", limit=100).json["items"]
        self.assertEqual(sorted(job["state"] for job in ended), ["failed"] + ["succeeded"] * 99)

    def test_a_report_that_is_repeated_at_once_is_accepted_twice(self):
        self.start(defaults={"pool": {"size": 20}})
        for number in range(20):
            self.submit(a_pull_job(f"e{number}"))
        reports = [{"lease": each["lease"], "outcome": "complete"}
                   for each in self.lease(max=20) for _ in range(3)]
        results = self.client.post("/v1/leases/report", reports).json["results"]
        self.assertEqual([each["status"] for each in results], [200] * 60)

    def test_a_reload_turns_a_service_into_a_pulled_one_and_back(self):
        self.start()
        job = self.submit(a_job("a", services=["vm"]))
        self.daemon.write_config(a_config(self.provider, services={
            "vm": {"type": "simulated"}, "demo": {"type": "simulated"}}))
        self.assertEqual(self.client.post("/v1/admin/reload", {}).status, 200)
        self.assertEqual(self.wait_for_end(job)["state"], "succeeded")
        self.daemon.write_config(a_config(self.provider, services=SERVICES))
        self.assertEqual(self.client.post("/v1/admin/reload", {}).status, 200)
        again = self.submit(a_job("b", services=["vm"]))
        self.assertEqual([lease["job"]["id"] for lease in self.lease()], [again])


if __name__ == "__main__":
    unittest.main()
