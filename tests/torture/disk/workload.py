"""A load that makes celld use its disk in every way: submit, run, fail, cancel, reopen and remove
jobs; resize pools; pause cells; reload; back up. It writes enough that the write-ahead log restarts
more than once.
"""

import random
import threading
import time

from shimmed import BROKEN, ENDED, a_config, a_job, add_key

CLIENTS = 4
RECENT_MAX = 200
RESIZED = (("acme", "*"), ("evil", "dns"), ("*", "*"))


class Workload:
    """Puts load on a daemon for a given time and collects unexpected answers."""

    def __init__(self, daemon, seed):
        self.daemon = daemon
        self.seed = seed
        self.ends = threading.Event()
        self.recent = []  # Job ids.
        self.accepted = 0
        self.unexpected = []

    def run(self, seconds):
        threads = [threading.Thread(target=self.guarded, args=(work, number))
                   for number, work in enumerate([self.submit] * CLIENTS + [self.look_after,
                                                                            self.administer])]
        for thread in threads:
            thread.start()
        try:
            time.sleep(seconds)
        finally:
            self.ends.set()
            for thread in threads:
                thread.join()

    def guarded(self, work, number):
        client = self.daemon.quick_client()
        try:
            work(client, random.Random(self.seed * 100 + number))
        except BROKEN as error:
            self.unexpected.append(repr(error))
        finally:
            client.close()

    def expect(self, answer, *statuses):
        if answer[0] not in statuses:
            self.unexpected.append(answer)
        return answer[0] == statuses[0]

    def submit(self, client, chance):
        while not self.ends.is_set():
            job = a_job(chance)
            if chance.random() < 0.3:
                add_key(job, f"k{chance.getrandbits(60)}")
            answer = client.request("POST", "/v1/jobs", job)
            if self.expect(answer, 202, 429):
                self.accepted += 1
                self.recent.append(answer[1]["id"])
                del self.recent[:-RECENT_MAX]

    def look_after(self, client, chance):
        while not self.ends.wait(0.002):
            if not self.recent:
                continue
            path = f"/v1/jobs/{chance.choice(self.recent)}"
            status, job = client.request("GET", path)
            self.expect((status, job), 200, 404)
            if status != 200:
                continue
            if job["state"] in ENDED:
                if job["state"] != "succeeded":
                    time.sleep(0.002)  # Two ends differ in their milliseconds.
                    self.expect(client.request("POST", path + "/retry"), 202, 404, 409)
            elif chance.random() < 0.5:
                self.expect(client.request("POST", path + "/cancel"), 200, 404, 409)

    def administer(self, client, chance):
        while not self.ends.wait(0.01):
            cell = "/v1/admin/cells/{}/{}".format(*chance.choice(RESIZED))
            what = chance.random()
            if what < 0.8:
                size = {"size": chance.randint(1, 20)}
                self.expect(client.request("PUT", cell + "/pool", size), 202)
            elif what < 0.9:
                self.expect(client.request("POST", cell + "/pause"), 200, 202)
                time.sleep(0.05)
                self.expect(client.request("POST", cell + "/resume"), 200, 202)
            elif what < 0.98:
                self.daemon.write_config(a_config(retention_ms=chance.choice((1000, 1200))))
                self.expect(client.request("POST", "/v1/admin/reload"), 200)
            elif what < 0.99:
                self.expect(client.request("GET", "/v1/admin/backup"), 200)
