"""Workers outside and senders of batches that misuse celld. Meanwhile a victim is served, and memory
stays bounded."""

import json
import re
import time
import unittest

import wire
from crowd import Crowd
from daemon import a_job, wait_until
from siege import Siege
from wire import JSON, request

LEASES = "/v1/services/vm/leases"
BATCHES_MAX = 32  # That celld reads at once.
TIMEOUT_MS = 1500


def ask(worker="gone", **order):
    return request("POST", LEASES, json.dumps({"worker": worker, **order}).encode(), JSON)


def pull_job(entity_id):
    return a_job(entity_id, services=["vm"], timeout_ms=TIMEOUT_MS)


def line(entity_id):
    return json.dumps(a_job(entity_id, services=["vm"])).encode() + b"\n"


def chunk(data):
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


BATCH_HEAD = request("POST", "/v1/batches", b"", "Content-Type: application/x-ndjson",
                     "Transfer-Encoding: chunked")


class PullSiege(Siege):
    def start_siege(self, config=None, **limits):
        services = {"demo": {"type": "simulated"}, "vm": {"type": "pull"}}
        defaults = {"pool": {"size": 200},
                    "retry": {"max_attempts": 3, "backoff_ms": 20, "backoff_max_ms": 100}}
        return super().start_siege({"services": services, "defaults": defaults, **(config or {})},
                                   **limits)

    def lease(self, **order):
        answer = self.client.post(LEASES, {"worker": "honest", **order})
        self.assertEqual(answer.status, 200, answer)
        return answer.json["leases"]

    def complete(self, leases):
        reports = [{"lease": lease["lease"], "outcome": "complete"} for lease in leases]
        answer = self.client.post("/v1/leases/report", reports)
        self.assertEqual({each["status"] for each in answer.json["results"]}, {200}, answer)

    def metric(self, name):
        text = self.client.get("/metrics").body.decode()
        return sum(float(value) for value in
                   re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE))


class Workers(PullSiege):
    growth_bytes_max = 24 << 20  # Each heartbeat makes a version of its job, and celld keeps what it
    # has freed in the last second.

    def test_workers_that_lease_and_never_report_cost_each_job_one_timeout(self):
        """They take all slots of the cell, half of them without reading the answer."""
        self.start_siege({"defaults": {"pool": {"size": 100},
                                       "retry": {"max_attempts": 3, "backoff_ms": 20}}})
        jobs = [self.submit(pull_job(f"e{i}")) for i in range(300)]
        with self.siege(), Crowd(self.daemon) as crowd:
            crowd.join(50).send(ask(max=1, wait_ms=60_000))
            crowd.receive(patience_s=1)
            crowd.reset()
            crowd.join(50).send(ask(max=1, wait_ms=60_000))
            crowd.reset()
            time.sleep(2 * TIMEOUT_MS / 1000)
        left = set(jobs)
        give_up_at = time.monotonic() + 30
        while left and time.monotonic() < give_up_at:
            leases = self.lease(max=100, wait_ms=1000)
            self.assertLessEqual({lease["attempt"] for lease in leases}, {1, 2})
            if leases:
                self.complete(leases)
            left -= {lease["job"]["id"] for lease in leases}
        self.assertEqual(left, set(), "jobs that no worker could lease again")
        self.assertEqual(self.metric("celld_leases_out"), 0)

    def test_dripped_heartbeats_are_cut_off_and_extend_nothing(self):
        self.start_siege(body_timeout_ms=1000)
        job = self.submit(pull_job("a"))
        lease, = self.lease()
        head = request("POST", f"/v1/leases/{lease['lease']}/heartbeat", b"", JSON,
                       "Content-Length: 4000")
        with self.siege(), Crowd(self.daemon) as crowd:
            crowd.join(500).send(head)
            crowd.drip(b" ", seconds=TIMEOUT_MS / 1000 + 0.5, interval_s=0.3)
            for outcome in crowd.receive():
                self.assert_refused(outcome, 408)
        again, = self.lease(wait_ms=5000)
        self.assertEqual((again["job"]["id"], again["attempt"]), (job, 2))
        self.complete([again])

    def test_floods_of_heartbeats_do_no_harm(self):
        """Each tells progress and a message. The job keeps at most a hundred messages."""
        self.start_siege()
        job = self.submit(a_job("a", services=["vm"]))
        lease, = self.lease()
        body = json.dumps({"progress": 0.5, "message": "x" * 1000}).encode()
        beat = request("POST", f"/v1/leases/{lease['lease']}/heartbeat", body, JSON)
        with self.siege(), Crowd(self.daemon) as crowd:
            crowd.join(20)
            for _ in self.waves():
                crowd.send(beat)
                time.sleep(0.01)
        self.complete([lease])
        self.assertLessEqual(len(self.job(job)["messages"]), 100)

    def test_a_million_leases_are_refused_and_a_thousand_are_bounded(self):
        self.start_siege()
        for most in (0, 1001, 1_000_000, 2**63):
            answer = self.client.post(LEASES, {"worker": "greedy", "max": most})
            self.assert_problem(answer, 422)
            self.assertEqual(answer.pointers, ["/max"])
        with self.siege(), Crowd(self.daemon) as crowd:
            for _ in range(5):
                crowd.join(1000).send(ask(worker="greedy", max=1000, wait_ms=60_000))
                time.sleep(0.3)
            crowd.reset()
            wait_until(lambda: self.metric("celld_lease_requests_waiting") == 0,
                       "requests without a client are forgotten")
        job = self.submit(pull_job("a"))
        wait_until(lambda: [lease["job"]["id"] for lease in self.lease()] == [job],
                   "a worker that has not gone gets the job")


class Batches(PullSiege):
    growth_bytes_max = 48 << 20  # Each batch may hold one line of a MiB.

    def join(self, crowd, count):
        """Batches that are open, each with one line."""
        for _ in range(count):
            member = Crowd(self.daemon).join(1)
            member.send(BATCH_HEAD + chunk(line(f"e{len(crowd.members)}")))
            crowd.members += member.members

    def open_batches(self):
        return self.client.get("/v1/batches", limit=1000).json["items"]

    def total(self):
        return sum(batch["total"] for batch in self.open_batches())

    def test_thirty_two_batches_that_pause_make_room_one_by_one(self):
        """The batch that began last has paused for the longest time."""
        self.start_siege()
        with self.siege(), Crowd(self.daemon) as crowd:
            self.join(crowd, BATCHES_MAX)
            wait_until(lambda: self.total() == BATCHES_MAX, "each batch has its line")
            for number, member in enumerate(crowd.members[:-1]):
                member.send(chunk(line(f"f{number}")))
            wait_until(lambda: self.total() == 2 * BATCHES_MAX - 1, "all others have one more")
            body = line("late")
            late = request("POST", "/v1/batches", body, "Content-Type: application/x-ndjson")
            refused = wire.talk(self.daemon, late, until=bool)
            self.assertEqual(refused.statuses, [503])
            wire.check_problem(refused.answers[0])
            wait_until(lambda: wire.talk(self.daemon, late, until=bool).statuses == [202],
                       "a batch that pauses makes room")
            crowd.send(b"0\r\n\r\n")
            reports = [self.report(outcome) for outcome in crowd.receive(patience_s=2)]
        self.assertEqual([(report["accepted"], report["stopped_at_line"]) for report in reports],
                         (BATCHES_MAX - 1) * [(2, None)] + [(1, 2)])
        self.assertEqual(reports[-1]["errors"][-1]["type"], "/problems/request-timeout")
        self.assertEqual(len(self.open_batches()), BATCHES_MAX + 1)

    def report(self, outcome):
        self.assertEqual(outcome.statuses, [202], outcome)
        return outcome.answers[0].json

    def test_lines_without_an_end_are_not_kept(self):
        """Each of 32 batches sends a line that never ends."""
        self.start_siege()
        with self.siege(), Crowd(self.daemon) as crowd:
            crowd.join(BATCHES_MAX).send(BATCH_HEAD)
            piece = chunk(b" " * 0x8000 + b"x")
            for _ in self.waves(1.5):
                crowd.send(piece)
                time.sleep(0.005)
            crowd.reset()
        wait_until(lambda: all(batch["finished_at"] for batch in self.open_batches()),
                   "batches without a client are closed")
        self.assertEqual({batch["total"] for batch in self.open_batches()}, {0})


if __name__ == "__main__":
    unittest.main()
