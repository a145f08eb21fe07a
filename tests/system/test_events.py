"""Event streams: a client that follows jobs receives every change, in order, and misses none. The
test with a celld that drops changes is tests/torture/controls/test_event_overflow.py."""

import contextlib
import hashlib
import unittest

from daemon import EndToEnd, a_config, a_job, stays, wait_until
from stream import Stream


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
        """Changes between a disconnect and the reconnect of the same client arrive, as far as its
        filter lets them."""
        if "customer=bolt" in path:
            self.wait_for_end(self.submit(a_job("a")))
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

    def test_a_quiet_stream_gets_comments_and_no_gap_from_unrelated_changes(self):
        self.start()
        scheduled = self.submit(a_job("scheduled", delay_ms=3_600_000))
        of_job = self.stream(f"/v1/jobs/{scheduled}/events")
        self.assertEqual(of_job.jobs(1)[0]["state"], "scheduled")
        quiet = self.stream("/v1/events?customer=bolt")
        wait_until(quiet.position, "the stream has sent its position")
        first = quiet.last_event_id
        self.wait_for_end(self.submit(a_job("a")))
        wait_until(lambda: quiet.position() != first, "the position advances", 40)
        self.assertEqual(of_job.line(), ":")
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
        blank = self.stream("/v1/events", last_event_id="")  # As on a first connection.
        self.submit(a_job("b"))
        self.assertEqual(blank.event()[0], "job.state")
        for stale in (stream.last_event_id, "nonsense", "0000000000000-1"):
            back = self.stream("/v1/events", last_event_id=stale)
            self.assertEqual(back.event()[0], "gap")

    def submit_large(self, count):
        """Makes more than 100 kB of changes for each job."""
        jobs = [self.submit(a_job(f"large-{number}", parameters={"p": "x" * 60_000}))
                for number in range(count)]
        for job_id in jobs:
            self.wait_for_end(job_id)
        return jobs

    def test_changes_that_are_no_longer_kept_are_a_gap_after_which_a_client_starts_afresh(self):
        """celld keeps 8 MiB of changes."""
        self.start()
        stream = self.stream("/v1/events")
        position = stream.position()
        stream.close()
        jobs = self.submit_large(60)
        back = self.stream("/v1/events", last_event_id=position)
        self.assertEqual(back.event()[0], "gap")
        back.close()
        listed = self.client.get("/v1/jobs", limit=100).json["items"]
        self.assertEqual({job["id"] for job in listed}, set(jobs))
        self.assert_nothing_is_missed("/v1/events", back)

    def test_a_client_that_takes_what_it_missed_too_slowly_gets_a_gap(self):
        self.start(limits={"write_timeout_ms": 600_000})
        stream = self.stream("/v1/events")
        position = stream.position()
        stream.close()
        self.submit_large(30)
        slow = self.stream("/v1/events", last_event_id=position, rcvbuf=4096)
        self.submit_large(60)
        seen = []
        while not seen or seen[-1] != "gap":
            seen.append(slow.event()[0])
        self.assertLess(len(seen), 3 * 30)
        last = self.submit(a_job("last"))
        self.assertEqual({job["id"] for job in slow.jobs(3)}, {last})

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
