"""The requests to a celld on a failing disk, and the old data directory that it may start with."""

import os
import time

from shimmed import BROKEN, ENDED, Daemon, a_config, add_key

# A checkpoint runs at 600 pages. A frame of the log is a page and 24 bytes.
PREPARED_LOG_BYTES = 555 * (4096 + 24)
EXIT_DEADLINE_S = 30.0
RETENTION_MS = 86_400_000


def prepare(directory):
    """Returns the data directory of a killed celld, whose write-ahead log is nearly full, and the
    ids of its jobs."""
    os.mkdir(directory)
    daemon = Daemon(a_config(RETENTION_MS), directory)
    daemon.start()
    client = daemon.client()
    jobs = []
    for number in range(40):
        answer = client.post("/v1/jobs", a_small_job(f"old-{number}", "quick"))
        assert answer.status == 202, answer
        jobs.append(answer.json["id"])
    size = 0
    log = os.path.join(daemon.data, "celld.db-wal")
    give_up_at = time.monotonic() + EXIT_DEADLINE_S
    while os.path.getsize(log) < PREPARED_LOG_BYTES:
        assert time.monotonic() < give_up_at, "the log does not grow: does a checkpoint run earlier?"
        size = size % 20 + 1
        assert client.put("/v1/admin/cells/acme/*/pool", {"size": size}).status == 202
    client.close()
    daemon.kill()
    return daemon.data, jobs


def a_small_job(entity, service, **changes):
    return {"customer": "acme", "product": "dns", "action": "create",
            "entity": {"type": "zone", "id": entity}, "services": [service], **changes}


class Script:
    """Sends requests to one celld, one after the other, and collects answers that celld should
    never give. The shim logs the successful answers."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.client = daemon.quick_client(timeout_s=EXIT_DEADLINE_S)
        self.jobs = []
        self.retried = set()  # By requests to reopen that were not answered.
        self.unexpected = []
        self.refused = 0

    def ask(self, method, path, body=None, statuses=(200, 202)):
        """Returns the JSON document of the answer, or None without a successful answer."""
        try:
            status, document = self.client.request(method, path, body)
        except BROKEN:
            self.refused += 1
            return None
        if status in statuses:
            return document
        if status == 503:
            self.refused += 1
        else:
            self.unexpected.append((method, path, status, document))
        return None

    def submit(self, entity, service, **changes):
        submission = a_small_job(entity, service, **changes)
        add_key(submission, f"key-{entity}")
        job = self.ask("POST", "/v1/jobs", submission)
        if job is not None:
            self.jobs.append(job["id"])
        return job and f"/v1/jobs/{job['id']}"

    def run(self):
        for number in range(6):
            self.submit(f"e{number}", "quick", parameters={"text": "x" * 2000})
        self.submit("later", "quick", delay_ms=20)
        failing = self.submit("failing", "flaky", retry={"max_attempts": 1})
        waiting = self.submit("waiting", "quick", delay_ms=60_000)
        if waiting and self.ask("POST", waiting + "/cancel"):
            self.retry(waiting)
        self.ask("PUT", "/v1/admin/cells/acme/*/pool", {"size": 3})
        self.ask("POST", "/v1/admin/cells/acme/*/pause")
        self.ask("POST", "/v1/admin/cells/acme/*/resume")
        self.ask("POST", "/v1/admin/reload")
        self.ask("GET", "/v1/admin/backup", statuses=(200, 503))
        self.submit("last", "slow")
        self.wait_for_ends(failing)
        self.client.close()

    def wait_for_ends(self, failing):
        give_up_at = time.monotonic() + EXIT_DEADLINE_S
        for job in self.jobs:
            while self.daemon.running() and time.monotonic() < give_up_at:
                seen = self.ask("GET", f"/v1/jobs/{job}")
                if seen is not None and seen["state"] in ENDED:
                    break
                time.sleep(0.002)
        if failing:
            self.retry(failing)

    def retry(self, path):
        time.sleep(0.002)  # Two ends differ in their milliseconds.
        if self.ask("POST", path + "/retry", statuses=(202, 409)) is None:
            self.retried.add(path.rpartition("/")[2])
