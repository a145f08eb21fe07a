"""What clients were told by celld, written down as it comes: one JSON object a line, in a file.

| note | members | |
|---|---|---|
| `began`, `struck`, `died` | `life`, `how` | a celld serves; it is about to be ended; it has ended |
| `submitting`, `accepted` | `key`, `job`; `key`, `id` | a job under an idempotency key, and its 202 or 200 |
| `asking`, `told` | `id`, `what` (`cancel`, `retry`), `status` | a command about a job, and its answer |
| `resizing`, `resized` | `cell`, `size` | |
| `saw` | `job` | the job, in any answer, that celld says is on disk |

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
