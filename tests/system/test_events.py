"""Event streams: a client that follows jobs receives every change, in order, and misses none."""

import contextlib
import hashlib
import json
import socket
import unittest

from daemon import DEADLINE_S, EndToEnd, a_config, a_job, stays, wait_until


class Stream:
    """A stream of server-sent events over a plain socket, parsed as the HTML standard defines."""

    def __init__(self, daemon, path, last_event_id=None, rcvbuf=None):
        self.socket = socket.socket()
        if rcvbuf:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.socket.settimeout(DEADLINE_S)
        self.socket.connect((daemon.host, daemon.port))
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"
        if last_event_id is not None:
            head += f"Last-Event-ID: {last_event_id}\r\n"
        self.socket.sendall((head + "\r\n").encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while (line := self.file.readline().strip()):
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        self.text = b""
        self.last_event_id = last_event_id

    def _line(self):
        """The next line of the stream; None at its end."""
        while b"\n" not in self.text:
            size = self.file.readline()
            if not size.strip():
                return None
            piece = self.file.read(int(size, 16) + 2)[:-2]
            if not piece:
                return None
            self.text += piece
        line, _, self.text = self.text.partition(b"\n")
        return line.decode()

    def event(self):
        """(event, data) of the next event; None at the end of the stream."""
        fields = {}
        while True:
            line = self._line()
            if line is None:
                return None
            if not line:
                self.last_event_id = fields.get("id", self.last_event_id)
                if "data" in fields:
                    return fields["event"], json.loads(fields["data"])
                fields = {}
            name, _, value = line.partition(":")
            if name:
                fields[name] = value.removeprefix(" ")

    def position(self):
        """The next `id` that comes without an event; comments are skipped."""
        while True:
            line = self._line()
            if line is None or line.startswith("event:"):
                raise AssertionError("an event or the end instead of a position")
            if line.startswith("id: "):
                self.last_event_id = line.removeprefix("id: ")
                return self.last_event_id

    def jobs(self, count=None):
        """The jobs of the next `count` events, or of all up to the end."""
        jobs = []
        while count is None or len(jobs) < count:
            event = self.event()
            if event is None:
                break
            assert event[0] == "job.state", event
            jobs.append(event[1])
        return jobs

    def close(self):
        self.file.close()
        self.socket.close()


class Events(EndToEnd):
    def stream(self, path, **options):
        stream = Stream(self.daemon, path, **options)
        self.addCleanup(stream.close)
        return stream

    def test_a_job_is_followed_from_its_current_state_to_its_end(self):
        self.start()
        self.provider.hold("/dns")
        job_id = self.submit(a_job(services=["dns", "billing"]))
        wait_until(self.provider.calls_of, "the provider is called")
        stream = self.stream(f"/v1/jobs/{job_id}/events")
        self.assertEqual(stream.status, 200)
        self.assertEqual(stream.headers["content-type"], "text/event-stream")
        self.assertEqual(stream.jobs(1)[0]["id"], job_id)
        self.provider.release_all()
        followed = stream.jobs()  # The stream ends with the job.
        self.assertEqual(followed[-1]["state"], "succeeded")
        self.assertEqual(followed[-1], self.job(job_id))
        self.assertTrue(all(job["id"] == job_id for job in followed))

    def test_the_end_of_a_job_is_sent_once(self):
        self.start()
        job_id = self.submit(a_job())
        self.wait_for_end(job_id)
        stream = self.stream(f"/v1/jobs/{job_id}/events")
        self.assertEqual([job["state"] for job in stream.jobs()], ["succeeded"])
        again = self.stream(f"/v1/jobs/{job_id}/events", last_event_id=stream.last_event_id)
        self.assertEqual(again.status, 204)  # So that an EventSource stops reconnecting.

    def test_a_stream_has_all_jobs_of_its_filter(self):
        self.start()
        everything = self.stream("/v1/events")
        acme = self.stream("/v1/events?customer=acme")
        mail = self.stream("/v1/events?product=mail&customer=bolt")
        first = self.submit(a_job())
        second = self.submit(a_job(customer="bolt", product="mail"))
        self.wait_for_end(first)
        self.wait_for_end(second)
        last = self.submit(a_job("last"))
        self.wait_for_end(last)

        def until_end_of(stream, job_id):
            seen = []
            while not seen or (seen[-1]["id"], seen[-1]["state"]) != (job_id, "succeeded"):
                seen += stream.jobs(1)
            return seen

        self.assertEqual({job["id"] for job in until_end_of(everything, last)},
                         {first, second, last})
        of_acme = until_end_of(acme, last)
        self.assertEqual({job["id"] for job in of_acme}, {first, last})
        self.assertEqual([job["state"] for job in of_acme if job["id"] == first],
                         ["queued", "running", "succeeded"])
        self.assertEqual({job["id"] for job in until_end_of(mail, second)}, {second})

    def assert_nothing_is_missed(self, path, left):
        """Changes between a disconnect and the reconnect of the same client arrive."""
        missed = self.submit(a_job("b", customer="bolt"))
        self.wait_for_end(missed)
        back = self.stream(path, last_event_id=left.last_event_id)
        self.assertEqual([(job["id"], job["state"]) for job in back.jobs(3)],
                         [(missed, state) for state in ("queued", "running", "succeeded")])

    def test_a_client_that_reconnects_gets_the_events_it_missed(self):
        self.start()
        stream = self.stream("/v1/events")
        self.wait_for_end(self.submit(a_job("a")))
        self.assertEqual([job["state"] for job in stream.jobs(3)],
                         ["queued", "running", "succeeded"])
        stream.close()
        self.assert_nothing_is_missed("/v1/events", stream)

    def test_a_client_that_had_no_event_yet_misses_none_either(self):
        self.start()
        quiet = self.stream("/v1/events?customer=bolt")
        wait_until(quiet.position, "the stream has sent its position")
        quiet.close()
        self.assert_nothing_is_missed("/v1/events?customer=bolt", quiet)

    def test_unrelated_changes_cause_no_gap_for_a_client_without_events(self):
        self.start()
        quiet = self.stream("/v1/events?customer=bolt")
        wait_until(quiet.position, "the stream has sent its position")
        first = quiet.last_event_id
        self.wait_for_end(self.submit(a_job("a")))
        wait_until(lambda: quiet.position() != first, "the position advances", 40)
        quiet.close()

    def test_many_clients_that_reconnect_at_once_each_get_all_they_missed(self):
        self.start()
        before = self.stream("/v1/events")
        wait_until(before.position, "the stream has sent its position")
        before.close()
        missed = [self.submit(a_job(str(i), parameters={"p": "x" * 60_000})) for i in range(30)]
        for job_id in missed:
            self.wait_for_end(job_id)
        back = [self.stream("/v1/events", last_event_id=before.last_event_id, rcvbuf=4096)
                for _ in range(8)]
        expected = sorted((job_id, state) for job_id in missed
                          for state in ("queued", "running", "succeeded"))
        for stream in back[:-1]:  # Meanwhile the streams after it are not read.
            self.assertEqual(sorted((job["id"], job["state"]) for job in stream.jobs(90)), expected)
        new = self.submit(a_job("new"))
        self.assertEqual({job["id"] for job in back[0].jobs(3)}, {new})
        self.assertEqual(self.daemon.stop(), 0)  # Also with a client that has read little.

    def test_a_change_of_tokens_ends_streams(self):
        digest = hashlib.sha256(b"a token").hexdigest()
        self.start()
        everything = self.stream("/v1/events")
        job = self.submit(a_job(delay_ms=60000))
        of_job = self.stream(f"/v1/jobs/{job}/events")
        self.assertEqual(self.client.request("POST", "/v1/admin/reload").status, 200)
        self.assertEqual(of_job.jobs(1)[0]["state"], "scheduled")
        self.daemon.write_config(a_config(self.provider, auth={"tokens": [
            {"name": "a", "sha256": digest, "scopes": ["read"]}]}))
        self.assertEqual(self.client.request("POST", "/v1/admin/reload").status, 200)
        self.assertEqual(of_job.jobs(), [])
        self.assertEqual([job["state"] for job in everything.jobs()], ["scheduled"])
        self.assertEqual(self.stream("/v1/events").status, 401)

    def test_a_client_that_was_away_too_long_gets_a_gap(self):
        self.start()
        stream = self.stream("/v1/events")
        self.wait_for_end(self.submit(a_job("a")))
        stream.jobs(3)
        self.daemon.stop()
        self.restart()
        for stale in (stream.last_event_id, "nonsense", "0000000000000-1"):
            back = self.stream("/v1/events", last_event_id=stale)
            self.assertEqual(back.event()[0], "gap")

    def test_requests_for_invalid_streams_are_refused(self):
        self.start()
        self.assert_problem(self.client.get("/v1/jobs/nothing/events"), 404, "not-found")
        self.assert_problem(self.client.get("/v1/events?customer=a/b&x=1"), 422, "invalid-request")
        job_id = self.submit(a_job(delay_ms=60000))
        self.assert_problem(self.client.get(f"/v1/jobs/{job_id}/events?limit=1"), 422)

    def test_only_the_slow_reader_loses_its_connection(self):
        self.start()
        slow = self.stream("/v1/events", rcvbuf=4096)
        quick = self.stream("/v1/events")
        filler = {"text": "x" * 40_000}
        for i in range(120):
            self.submit(a_job(f"e-{i}", parameters=filler))
            self.assertEqual([job["state"] for job in quick.jobs(3)],
                             ["queued", "running", "succeeded"])
        # Data in transit may still arrive, but the stream ends long before the last event.
        with contextlib.suppress(ConnectionError):
            self.assertLess(len(slow.jobs()), 360)

    def test_a_shutdown_ends_every_stream(self):
        self.start()
        job_id = self.submit(a_job(delay_ms=60000))
        streams = [self.stream("/v1/events"), self.stream(f"/v1/jobs/{job_id}/events")]
        streams[1].jobs(1)
        self.assertEqual(self.daemon.stop(), 0)
        for stream in streams:
            self.assertIsNone(stream.event())

    def test_hundreds_of_clients_follow_one_job(self):
        self.start()
        job_id = self.submit(a_job(delay_ms=60000))
        streams = [self.stream(f"/v1/jobs/{job_id}/events") for _ in range(300)]
        for stream in streams:
            self.assertEqual(stream.jobs(1)[0]["state"], "scheduled")
        stays(lambda: self.client.get("/livez").status == 200, "celld answers other clients")
        self.client.request("POST", f"/v1/jobs/{job_id}/cancel")
        for stream in streams:
            self.assertEqual([job["state"] for job in stream.jobs()], ["cancelled"])


if __name__ == "__main__":
    unittest.main()
