"""The newsletter of docs/newsletter.md: no kill loses a letter or sends one twice."""

import json
import os
import signal
import subprocess
import unittest

from cellctl import CellctlTest, binary
from daemon import DEADLINE_S, wait_until

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "config",
                        "examples")
RECIPIENTS = 200


class Newsletter(CellctlTest):
    def setUp(self):
        super().setUp()
        for name in ("letters", "drafts"):
            os.makedirs(self.path(name))
        with open(os.path.join(EXAMPLES, "newsletter.json"), encoding="utf-8") as file:
            self.start({**json.load(file), "listen": {"host": "127.0.0.1", "port": 0}})

    def path(self, name):
        return os.path.join(self.directory, "outbox", name)

    def letters(self):
        return sorted(os.listdir(self.path("letters")))

    def log(self):
        with open(self.path("log"), encoding="utf-8") as file:
            return [line.split() for line in file]

    def feed(self, recipients):
        done = subprocess.run(["sh", os.path.join(EXAMPLES, "newsletter", "feed"),
                               str(recipients), "2026-11"], capture_output=True, check=True,
                              env=self.environment(CELLCTL=binary()), timeout=DEADLINE_S)
        return self.client.get("/v1/batches/" + done.stdout.decode().strip()).json

    def worker(self, name):
        send = os.path.realpath(os.path.join(EXAMPLES, "newsletter", "send"))
        process = subprocess.Popen(
            [binary(), "worker", "--service", "send", "--name", name, "--concurrency", "4",
             "--quiet", "--exec", f"sh {send} outbox"],
            env=self.environment(), cwd=self.directory, stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)

        def end():
            process.kill()
            process.wait(DEADLINE_S)
        self.addCleanup(end)
        return process

    def test_three_workers_of_which_one_is_killed_send_one_letter_to_each_reader(self):
        batch = self.feed(RECIPIENTS)
        self.assertEqual(batch["total"], RECIPIENTS)
        workers = [self.worker(f"sender-{number}") for number in range(3)]
        for _ in range(5):
            sent = len(self.letters())
            wait_until(lambda sent=sent: len(self.letters()) > min(sent + 5, RECIPIENTS - 1),
                       "letters are sent")
            workers[0].kill()
            workers[0].wait(DEADLINE_S)
            workers[0] = self.worker("sender-0")
        wait_until(lambda: self.client.get("/v1/batches/" + batch["id"]).json["finished_at"],
                   "all have been sent")
        states = self.client.get("/v1/batches/" + batch["id"]).json["states"]
        self.assertEqual(states["succeeded"], RECIPIENTS, states)
        self.assertEqual(len(self.letters()), RECIPIENTS)
        new = [key for kind, key, _ in self.log() if kind == "new"]
        self.assertEqual(len(set(new)), len(new), "no letter is new twice")
        with open(self.path("letters/" + self.letters()[0]), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"^To: (reader\d+)@example.org\n"
                                          r"Subject: News for Reader \d+\n\nDear Reader \d+, ")
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
            self.assertEqual(worker.wait(DEADLINE_S), 0)

    def test_feeding_an_issue_again_submits_nothing_twice(self):
        first = self.feed(5)
        self.assertEqual((first["total"], self.feed(5)["total"]), (5, 0))
        self.assertEqual(len(self.client.get("/v1/jobs").json["items"]), 5)

    def test_a_letter_that_is_sent_again_is_recognized_by_its_key(self):
        document = json.dumps({"parameters": {"address": "a@example.org", "name": "A"},
                               "properties": {"body": "Dear A", "subject": "News"}})
        for expected in ("new", "repeated"):
            done = subprocess.run(["sh", os.path.join(EXAMPLES, "newsletter", "send"), "outbox"],
                                  input=document.encode(), capture_output=True, check=True,
                                  cwd=self.directory, timeout=DEADLINE_S,
                                  env={**os.environ, "CELLD_IDEMPOTENCY_KEY": "j.send",
                                       "CELLD_WORKER": "w"})
            self.assertEqual(done.stdout, b"")
            self.assertEqual(self.log()[-1], [expected, "j.send", "w"])
        self.assertEqual(self.letters(), ["j.send"])
        self.assertEqual(os.listdir(self.path("drafts")), [])


if __name__ == "__main__":
    unittest.main()
