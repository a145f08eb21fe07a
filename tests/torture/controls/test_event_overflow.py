"""Changes arrive faster than celld can send them, until it drops some."""

import json
import unittest

from daemon import EndToEnd, a_job, wait_until
from stream import Stream

JOBS = 40


class EventOverflow(EndToEnd):
    variables = {"CELLD_FAULT": "slow_feed"}

    def stream(self, last_event_id=None):
        stream = Stream(self.daemon, "/v1/events", last_event_id)
        self.addCleanup(stream.close)
        return stream

    def test_when_changes_are_lost_every_stream_ends_and_resumes_with_a_gap(self):
        self.start(defaults={"pool": {"size": 16}})
        follower = self.stream()
        position = follower.position()
        # As a batch: single submissions may wait for the feed.
        lines = "\n".join(json.dumps(a_job(f"e-{number}")) for number in range(JOBS)).encode()
        batch = self.client.request("POST", "/v1/batches", lines,
                                    {"Content-Type": "application/x-ndjson"}).json["id"]
        wait_until(lambda: self.batch(batch)["finished_at"], "the batch ends")
        self.assertEqual(self.batch(batch)["states"]["succeeded"], JOBS, self.batch(batch))
        self.assertLess(len(follower.jobs()), 3 * JOBS, "the stream ends before the last change")
        back = wait_until(lambda: self.begins_with_gap(position), "a client that resumes gets a gap")
        self.assertEqual(len(self.client.get("/v1/jobs").json["items"]), JOBS, "and starts afresh")
        last = self.submit(a_job("last"))
        seen = []
        while (last, "succeeded") not in seen:
            seen += [(job["id"], job["state"]) for job in back.jobs(1)]

    def batch(self, batch_id):
        return self.client.get(f"/v1/batches/{batch_id}").json

    def begins_with_gap(self, position):
        stream = self.stream(position)
        return stream if stream.event()[0] == "gap" else None


if __name__ == "__main__":
    unittest.main()
