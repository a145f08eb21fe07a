"""Tokens that are replaced while clients use them: followers resume, waiting requests, downloads."""

import hashlib
import http.client
import json
import sqlite3
import os
import threading
import time
import unittest

from daemon import DEADLINE_S, EndToEnd, a_config, a_job, stays, wait_until
from stream import Stream

SCOPES = ["submit", "read", "admin"]
ADMIN = "the-administrator"
ROTATIONS = 12
FOLLOWERS = 4
JOBS = 60


def a_token(name, customer=None):
    token = {"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), "scopes": SCOPES}
    return token | ({"customer": customer} if customer else {})


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class Follower(threading.Thread):
    """A client that always reconnects where it was, with the newest token."""

    def __init__(self, test, newest):
        super().__init__(daemon=True)
        self.test = test
        self.newest = newest
        self.seen = []      # (job, state)
        self.gaps = self.connections = 0
        self.token = None   # Of the open stream.
        self.stop = False
        self.start()

    def run(self):
        position = None
        while not self.stop:
            token = self.newest()
            stream = Stream(self.test.daemon, "/v1/events", position, token=token)
            self.connections += 1
            self.token = token if stream.status == 200 else None
            while stream.status == 200 and (event := stream.event()):
                self.gaps += event[0] != "job.state"
                self.seen.append((event[1]["id"], event[1]["state"]))
            self.token = None
            position = stream.last_event_id or position
            stream.close()


class Rotation(EndToEnd):
    def reload(self, *tokens, path="/v1/admin/reload"):
        """Replaces all tokens but the administrator's."""
        self.daemon.write_config(self.config(*tokens))
        answer = self.client.request("POST", path, headers=bearer(ADMIN))
        self.assertEqual(answer.status, 200, answer)

    def config(self, *tokens):
        return a_config(self.provider, auth={"tokens": [a_token(ADMIN), *map(a_token, tokens)]})

    def submit_as(self, token, job, **headers):
        return self.client.post("/v1/jobs", job, **bearer(token), **headers)

    def stream(self, path, token, **options):
        stream = Stream(self.daemon, path, token=token, **options)
        self.addCleanup(stream.close)
        return stream

    def test_followers_miss_nothing_while_tokens_rotate(self):
        """As operators rotate: the new token is added, clients change over, the old one goes."""
        tokens = [f"token-{number}" for number in range(ROTATIONS + 1)]
        newest = [tokens[0]]
        self.start(self.config(tokens[0]))
        followers = [Follower(self, lambda: newest[0]) for _ in range(FOLLOWERS)]
        wait_until(lambda: all(each.connections for each in followers), "all are connected")
        ids = []

        def keep_submitting():
            client = self.daemon.client()
            for number in range(JOBS):
                answer = client.post("/v1/jobs", a_job(f"e-{number}"), **bearer(ADMIN))
                ids.append(answer.json["id"])
                time.sleep(0.02)
            client.close()
        submitter = threading.Thread(target=keep_submitting)
        submitter.start()
        for old, new in zip(tokens, tokens[1:]):
            self.reload(old, new)
            newest[0] = new
            time.sleep(0.05)
            self.reload(new)
            wait_until(lambda new=new: all(each.token == new for each in followers),
                       "all follow with the new token")
        submitter.join()
        expected = {(job, state) for job in ids for state in ("queued", "running", "succeeded")}
        for each in followers:
            wait_until(lambda each=each: expected <= set(each.seen), "it has received every change")
            each.stop = True
        self.reload(tokens[-1], "another")  # Ends the streams.
        for each in followers:
            each.join(DEADLINE_S)
            self.assertEqual((each.gaps, len(each.seen)), (0, len(set(each.seen))))
            self.assertGreater(each.connections, ROTATIONS)

    def test_no_stream_outlives_its_token(self):
        """Neither one that follows, nor one that still receives what it has missed."""
        self.start(self.config("kept", "taken"))
        first = self.stream("/v1/events", "taken")
        position = first.position()
        text = {"text": "x" * 60_000}
        missed = [self.submit_as(ADMIN, a_job(f"m-{number}", parameters=text)).json["id"]
                  for number in range(30)]
        for job_id in missed:
            wait_until(lambda job_id=job_id: self.client.request(
                "GET", f"/v1/jobs/{job_id}", headers=bearer(ADMIN)).json["state"] == "succeeded",
                "the job ends")
        waits = self.submit_as(ADMIN, a_job("waits", delay_ms=3_600_000)).json["id"]
        streams = [first, self.stream("/v1/events", "taken", last_event_id=position, rcvbuf=4096),
                   self.stream(f"/v1/jobs/{waits}/events", "taken")]
        self.reload("kept")
        secret = self.submit_as(ADMIN, a_job("secret")).json["id"]
        for stream in streams:
            jobs = stream.jobs()  # Up to the end of the stream.
            self.assertNotIn(secret, [job["id"] for job in jobs])
        self.assertEqual(self.stream("/v1/events", "taken", last_event_id=position).status, 401)
        back = self.stream("/v1/events", "kept", last_event_id=position)
        self.assertEqual(len({job["id"] for job in back.jobs(3 * 30)}), 30)

    def test_a_waiting_request_gets_its_answer_although_its_token_is_gone(self):
        """Tokens take effect with the next request."""
        self.start(self.config("kept", "taken"))
        gate = self.provider.hold("/dns")
        answers = []

        def wait(number):
            client = self.daemon.client()
            answers.append(client.post("/v1/jobs", a_job(f"w-{number}"), Prefer="wait=60",
                                       **bearer("taken")))
            answers.append(client.request("GET", "/v1/jobs", headers=bearer("taken")))
            client.close()
        waiting = [threading.Thread(target=wait, args=(number,)) for number in range(4)]
        for thread in waiting:
            thread.start()
        wait_until(lambda: len(self.provider.running()) == 4, "all jobs run")
        self.reload("kept")
        stays(lambda: not answers, "the requests wait")
        gate.let_all()
        for thread in waiting:
            thread.join(DEADLINE_S)
        self.assertEqual(sorted(answer.status for answer in answers), [200] * 4 + [401] * 4)

    def test_no_job_goes_to_a_waiting_worker_whose_token_is_gone(self):
        config = self.config("kept")
        config["services"]["vm"] = {"type": "pull"}
        reduced = dict(config, auth={"tokens": list(config["auth"]["tokens"])})
        config["auth"]["tokens"].append(dict(a_token("taken"), scopes=["work"]))
        self.start(config)
        answers = []

        def lease():
            client = self.daemon.client()
            answers.append(client.post("/v1/services/vm/leases",
                                       {"worker": "w", "wait_ms": 60_000}, **bearer("taken")))
            client.close()
        waiting = threading.Thread(target=lease)
        waiting.start()
        requests = 'celld_lease_requests_waiting{service="vm"} 1'
        wait_until(lambda: requests in self.client.request(
            "GET", "/metrics", headers=bearer(ADMIN)).body.decode(), "the worker waits")
        self.daemon.write_config(reduced)
        answer = self.client.request("POST", "/v1/admin/reload", headers=bearer(ADMIN))
        self.assertEqual(answer.status, 200, answer)
        waiting.join(DEADLINE_S)
        self.assertEqual([(each.status, each.json) for each in answers], [(200, {"leases": []})])
        job = self.submit_as(ADMIN, a_job("late", services=["vm"])).json
        self.assertEqual(job["state"], "queued")

    def begin_batch(self, token):
        """A batch whose first line has been accepted, and whose body goes on."""
        connection = http.client.HTTPConnection(self.daemon.host, self.daemon.port,
                                                timeout=DEADLINE_S)
        self.addCleanup(connection.close)
        connection.putrequest("POST", "/v1/batches")
        for name, value in {"Content-Type": "application/x-ndjson",
                            "Transfer-Encoding": "chunked", **bearer(token)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        self.send_line(connection, f"first-{token}")
        wait_until(lambda: f"first-{token}" in self.entities(), "the line is accepted")
        return connection

    def send_line(self, connection, entity):
        line = json.dumps(a_job(entity, delay_ms=3_600_000)).encode() + b"\n"
        connection.send(b"%x\r\n%s\r\n" % (len(line), line))

    def entities(self):
        jobs = self.client.request("GET", "/v1/jobs?limit=100", headers=bearer(ADMIN)).json["items"]
        return [job["entity"]["id"] for job in jobs]

    def test_a_batch_that_is_being_read_ends_with_its_token(self):
        tokens = ("kept", "taken", "bound", "reduced")
        self.start(self.config(*tokens))
        batches = {token: self.begin_batch(token) for token in tokens}
        config = self.config("kept")
        config["auth"]["tokens"] += [a_token("bound", "another"),
                                     dict(a_token("reduced"), scopes=["read"])]
        self.daemon.write_config(config)
        answer = self.client.request("POST", "/v1/admin/reload", headers=bearer(ADMIN))
        self.assertEqual(answer.status, 200, answer)
        reports = {}
        for token, connection in batches.items():
            self.send_line(connection, f"second-{token}")
            connection.send(b"0\r\n\r\n")
            response = connection.getresponse()
            self.assertEqual(response.status, 202)
            reports[token] = json.loads(response.read())
        self.assertEqual(reports["kept"]["accepted"], 2)
        for token, status in {"taken": 401, "bound": 403, "reduced": 403}.items():
            report = reports[token]
            self.assertEqual((report["accepted"], report["stopped_at_line"]), (1, 2), token)
            self.assertEqual(report["errors"][-1]["status"], status, token)
        self.assertEqual([entity for entity in self.entities() if entity.startswith("second")],
                         ["second-kept"])

    def test_a_download_that_has_begun_is_completed_although_its_token_is_gone(self):
        self.start(self.config("kept", "taken"))
        for number in range(60):
            self.submit_as(ADMIN, a_job(f"later-{number}", delay_ms=3_600_000,
                                        parameters={"text": "x" * 100_000}))
        downloads = [self.begin_download(path) for path in ("/v1/admin/backup", "/v1/jobs?limit=60")]
        self.reload("kept")
        backup, page = [response.read() for response in downloads]
        self.assertEqual(page.count(b'"later-'), 60)
        path = os.path.join(self.directory, "backup.db")
        with open(path, "wb") as file:
            file.write(backup)
        database = sqlite3.connect(path)
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.assertEqual(database.execute("SELECT count(*) FROM jobs").fetchall(), [(60,)])
        database.close()

    def begin_download(self, path):
        """The response, of which the client has read only the head."""
        connection = http.client.HTTPConnection(self.daemon.host, self.daemon.port, timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", path, headers=bearer("taken"))
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        return response


if __name__ == "__main__":
    unittest.main()
