"""What clients were told by celld, written down as it comes: one JSON object a line, in a file.

- `began` (life), `struck`, `died` (life, how): a celld starts; it is ended by us; it has ended.
- `submitting` (key, job), `accepted` (key, id): a job under an idempotency key; its 202 or 200.
- `asking`, `told` (id, what, status): a cancel or retry of a job; its answer.
- `resizing`, `resized` (cell, size): a new size for a pool; its 202.
- `saw` (job): the job, in any answer or event, so that celld has it on disk.

Each has `at`, of CLOCK_MONOTONIC. What has no answer is what a crash has left open.
"""

import json
import time

from ledger import Ledger


class Journal:
    """Writes each note, and keeps a ledger of them."""

    def __init__(self, path):
        self.ledger = Ledger()
        self.file = open(path, "a", encoding="utf-8")

    def note(self, note, **members):
        entry = {"note": note, "at": time.monotonic(), **members}
        if self.ledger.enter(entry):
            self.file.write(json.dumps(entry) + "\n")
            self.file.flush()

    def close(self):
        self.file.close()


def read(path):
    """The ledger of a journal that was written earlier."""
    ledger = Ledger()
    with open(path, encoding="utf-8") as file:
        for line in file:
            ledger.enter(json.loads(line))
    return ledger
